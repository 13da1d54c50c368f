package backups

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"shunt/engine/expect"
)

var (
	one = [16]byte{1}
	day = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
)

func openSeries(t *testing.T, dir string) *Series {
	t.Helper()
	s, err := Open(dir, one)
	expect.OK(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// plant makes a folder that looks like a backup.
func plant(t *testing.T, dir, format string) {
	t.Helper()
	expect.OK(t, os.MkdirAll(filepath.Join(dir, "db"), 0o700))
	if format != "" {
		expect.OK(t, os.WriteFile(filepath.Join(dir, "format"), []byte(format), 0o600))
	}
}

const wholeFormat = "shunt backup, version 3\n"

func names(t *testing.T, dir string) (found []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	expect.OK(t, err)
	for _, e := range entries {
		found = append(found, e.Name())
	}
	return found
}

func TestASeriesKeepsTheNewestAndRemovesNothingElse(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	s := openSeries(t, dir)
	last := ""
	for i := range 4 {
		part, err := s.Begin(day.Add(time.Duration(i) * 24 * time.Hour))
		expect.OK(t, err)
		plant(t, part, wholeFormat)
		if last, err = s.End(part); err != nil {
			t.Fatal(err)
		}
	}
	others := map[string]string{ // by name: its format
		"shunt-20200101T000000Z":       "shunt data, version 3\n", // a store
		"shunt-20200102T000000Z":       "",                        // somebody's folder
		"shunt-20200103T000000Z.bak":   wholeFormat,
		"monday":                       wholeFormat,
		"shunt-99999999T000000Z":       wholeFormat,
		"shunt-20200104T000000Z-again": wholeFormat,
	}
	for name, format := range others {
		plant(t, filepath.Join(dir, name), format)
	}
	expect.OK(t, os.Symlink(filepath.Join(dir, "monday"), filepath.Join(dir, "shunt-20190101T000000Z")))
	removed, err := s.Prune(t.Context(), 2, last)
	want := []string{filepath.Join(dir, "shunt-20260304T050607Z"), filepath.Join(dir, "shunt-20260305T050607Z")}
	expect.That(t, err == nil && slices.Equal(removed, want), "got %q, %v, want %q", removed, err, want)
	left := names(t, dir)
	if len(left) != 2+len(others)+2 { // the link and the mark
		t.Errorf("got %q", left)
	}
	part, err := s.Begin(day.Add(-time.Hour)) // the clock went back
	expect.OK(t, err)
	plant(t, part, wholeFormat)
	if last, err = s.End(part); err != nil {
		t.Fatal(err)
	}
	removed, err = s.Prune(t.Context(), 2, last)
	if want := filepath.Join(dir, "shunt-20260306T050607Z"); err != nil || len(removed) != 1 || removed[0] != want {
		t.Errorf("after the clock went back: got %q, %v, want %s", removed, err, want)
	}
	removed, err = s.Prune(t.Context(), 0, last)
	expect.That(t, err == nil && len(removed) == 0, "keeping all: got %q, %v", removed, err)
}

func TestAnUnfinishedBackupIsRemovedAndNeverCounted(t *testing.T) {
	dir := t.TempDir()
	s := openSeries(t, dir)
	part, err := s.Begin(day)
	expect.OK(t, err)
	plant(t, part, wholeFormat)
	whole, err := s.Whole()
	expect.That(t, err == nil && len(whole) == 0, "got %q, %v", whole, err)
	again, err := s.Begin(day)
	if err != nil || again != part || slices.Contains(names(t, dir), filepath.Base(part)) {
		t.Errorf("got %s, %v, beside %q", again, err, names(t, dir))
	}
	plant(t, again, wholeFormat)
	expect.OK(t, expect.Err(s.End(again)))
	next, err := s.Begin(day)
	expect.That(t, err == nil && filepath.Base(next) == "shunt-20260304T050608Z.part", "in the same second: got %s, %v", next, err)
}

func TestASeriesIsForOneStoreAndOneBackupAtATime(t *testing.T) {
	dir := t.TempDir()
	s := openSeries(t, dir)
	expect.Error(t, expect.Err(Open(dir, one)), ErrBusy, "while one is made")
	expect.OK(t, s.Close())
	expect.Error(t, expect.Err(Open(dir, [16]byte{2})), ErrOtherStore, "another store")
	for _, torn := range []string{"", "shunt backups of st"} { // by a crash
		expect.OK(t, os.WriteFile(filepath.Join(dir, MarkName), []byte(torn), 0o600))
		expect.OK(t, openSeries(t, dir).Close())
	}
	expect.Error(t, expect.Err(Open(dir, [16]byte{2})), ErrOtherStore, "another store, after a crash")
}
