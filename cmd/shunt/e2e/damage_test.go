package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
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
	if err != nil || len(tables) == 0 {
		t.Fatalf("there are no table files: %v", err)
	}
	for _, table := range tables {
		bytes, err := os.ReadFile(table)
		must(t, err)
		bytes[len(bytes)/10] ^= 0x40
		must(t, os.WriteFile(table, bytes, 0o600))
	}
	address := []string{"--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"}
	for _, args := range [][]string{{"check"}, {"check", "--json"}, {"ls"}, append([]string{"serve"}, address...)} {
		r := shunt(t, "", nil, append(args, "--data", dir)...)
		if r.code != exitFailed || !strings.Contains(r.stdout+r.stderr, ".sst is damaged") || !strings.Contains(r.stderr, "restore ") {
			t.Errorf("%q: got %+v, want the damage and what to do", args, r)
		}
		if found := pebbleInsides.FindString(r.stdout + r.stderr); found != "" {
			t.Errorf("%q: %q is an internal detail:\n%s%s", args, found, r.stdout, r.stderr)
		}
	}
}
