package linkflags

import (
	"slices"
	"strings"
	"testing"

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
