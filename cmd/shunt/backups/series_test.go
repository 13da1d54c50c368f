package backups

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

var (
	one = [16]byte{1}
	day = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
)

func openSeries(t *testing.T, dir string) *Series {
	t.Helper()
	s, err := Open(dir, one)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// plant makes a folder that looks like a backup.
func plant(t *testing.T, dir, format string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "db"), 0o700); err != nil {
		t.Fatal(err)
	}
	if format != "" {
		if err := os.WriteFile(filepath.Join(dir, "format"), []byte(format), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

const wholeFormat = "shunt backup, version 3\n"

func names(t *testing.T, dir string) (found []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
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
		if err != nil {
			t.Fatal(err)
		}
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
	if err := os.Symlink(filepath.Join(dir, "monday"), filepath.Join(dir, "shunt-20190101T000000Z")); err != nil {
		t.Fatal(err)
	}
	removed, err := s.Prune(t.Context(), 2, last)
	if want := []string{filepath.Join(dir, "shunt-20260304T050607Z"), filepath.Join(dir, "shunt-20260305T050607Z")}; err != nil || !slices.Equal(removed, want) {
		t.Errorf("got %q, %v, want %q", removed, err, want)
	}
	left := names(t, dir)
	if len(left) != 2+len(others)+2 { // the link and the mark
		t.Errorf("got %q", left)
	}
	part, err := s.Begin(day.Add(-time.Hour)) // the clock went back
	if err != nil {
		t.Fatal(err)
	}
	plant(t, part, wholeFormat)
	if last, err = s.End(part); err != nil {
		t.Fatal(err)
	}
	removed, err = s.Prune(t.Context(), 2, last)
	if want := filepath.Join(dir, "shunt-20260306T050607Z"); err != nil || len(removed) != 1 || removed[0] != want {
		t.Errorf("after the clock went back: got %q, %v, want %s", removed, err, want)
	}
	if removed, err := s.Prune(t.Context(), 0, last); err != nil || len(removed) > 0 {
		t.Errorf("keeping all: got %q, %v", removed, err)
	}
}

func TestAnUnfinishedBackupIsRemovedAndNeverCounted(t *testing.T) {
	dir := t.TempDir()
	s := openSeries(t, dir)
	part, err := s.Begin(day)
	if err != nil {
		t.Fatal(err)
	}
	plant(t, part, wholeFormat)
	if whole, err := s.Whole(); err != nil || len(whole) > 0 {
		t.Errorf("got %q, %v", whole, err)
	}
	again, err := s.Begin(day)
	if err != nil || again != part || slices.Contains(names(t, dir), filepath.Base(part)) {
		t.Errorf("got %s, %v, beside %q", again, err, names(t, dir))
	}
	plant(t, again, wholeFormat)
	if _, err := s.End(again); err != nil {
		t.Fatal(err)
	}
	if next, err := s.Begin(day); err != nil || filepath.Base(next) != "shunt-20260304T050608Z.part" {
		t.Errorf("in the same second: got %s, %v", next, err)
	}
}

func TestASeriesIsForOneStoreAndOneBackupAtATime(t *testing.T) {
	dir := t.TempDir()
	s := openSeries(t, dir)
	if _, err := Open(dir, one); !errors.Is(err, ErrBusy) {
		t.Errorf("while one is made: got %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, [16]byte{2}); !errors.Is(err, ErrOtherStore) {
		t.Errorf("another store: got %v", err)
	}
	for _, torn := range []string{"", "shunt backups of st"} { // by a crash
		if err := os.WriteFile(filepath.Join(dir, MarkName), []byte(torn), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := openSeries(t, dir).Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Open(dir, [16]byte{2}); !errors.Is(err, ErrOtherStore) {
		t.Errorf("another store, after a crash: got %v", err)
	}
}
