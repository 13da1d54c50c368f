package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"shunt/engine/expect"
)

// pebbleInsides matches the internals that Pebble puts into its errors.
var pebbleInsides = regexp.MustCompile(`pebble|detail carrier|stack trace|table 0x|goroutine`)

func TestADamagedFileIsReportedInPlainWords(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	createStore(t, dir)
	for _, code := range []string{"a", "b"} { // only a store that was opened again has its first rows in a file
		shunt(t, "", nil, "add", "https://example.org", "--alias", code, "--data", dir)
	}
	tables, err := filepath.Glob(filepath.Join(dir, "db", "*.sst"))
	expect.MustThat(t, err == nil && len(tables) != 0, "there are no table files: %v", err)
	for _, table := range tables {
		bytes, err := os.ReadFile(table)
		expect.OK(t, err)
		bytes[len(bytes)/10] ^= 0x40
		expect.OK(t, os.WriteFile(table, bytes, 0o600))
	}
	address := []string{"--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"}
	for _, args := range [][]string{{"check"}, {"check", "--json"}, {"ls"}, append([]string{"serve"}, address...)} {
		r := shunt(t, "", nil, append(args, "--data", dir)...)
		expect.That(t, r.code == exitFailed && strings.Contains(r.stdout+r.stderr, ".sst is damaged") && strings.Contains(r.stderr, "restore "),
			"%q: got %+v, want the damage and what to do", args, r)
		expect.Equal(t, pebbleInsides.FindString(r.stdout+r.stderr), "", "%q is an internal detail:\n%s%s", args, r.stdout, r.stderr)
	}
}
