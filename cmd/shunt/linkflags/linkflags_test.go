package linkflags

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"shunt/api/ops"
	"shunt/engine/expect"
)

// A field that can be set and has no flag fails this test: it becomes a row of Fields.
func TestEveryFieldThatCanBeSetHasAFlag(t *testing.T) {
	var got, want []string
	for _, f := range Fields {
		name, _, _ := strings.Cut(f.Name, ".")
		got = append(got, name)
	}
	for _, f := range ops.Fields() {
		if f.Settable && f.Name != "owner" { // of edit alone: it takes an e-mail address, too
			want = append(want, f.Name)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	got = slices.Compact(got)
	expect.Slices(t, got, want, "flags set")
}

func TestAPasswordIsTheFirstLineOfAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	for text, want := range map[string]any{"open sesame\r\nmore": "open sesame", " p ": " p ", "": nil, "\nx": nil} {
		expect.OK(t, os.WriteFile(file, []byte(text), 0o600))
		given := map[string]any{}
		fs := pflag.NewFlagSet("add", pflag.ContinueOnError)
		Add(fs, given, true)
		err := fs.Parse([]string{"--password-file", file})
		expect.That(t, (err != nil) == (want == nil) && (want == nil || given["password"] == want), "%q: got %q, %v", text, given["password"], err)
	}
	given := map[string]any{}
	fs := pflag.NewFlagSet("edit", pflag.ContinueOnError)
	Add(fs, given, false)
	expect.OK(t, fs.Parse([]string{"--password-file", ""}))
	_, sent := given["password"]
	expect.That(t, sent && given["password"] == nil, "none: got %v", given)
}
