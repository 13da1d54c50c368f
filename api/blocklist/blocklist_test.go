package blocklist

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"shunt/engine"
)

func openList(t *testing.T, lines string, log io.Writer) *File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "list")
	check(t, os.WriteFile(path, []byte(lines), 0o600))
	f, err := Open(path, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write writes text to f's file and makes f check it.
func (f *File) write(t *testing.T, text string) {
	t.Helper()
	check(t, os.WriteFile(f.path, []byte(text), 0o600))
	f.look()
}

func (f *File) blocks(host string) bool { return f.List.Blocks([]byte("http://" + host + "/")) }

func TestTheBlockListIsReadAgainWhenItsFileChanges(t *testing.T) {
	f := openList(t, "evil.example\n", io.Discard)
	if !f.blocks("evil.example") || f.blocks("other.example") {
		t.Fatal("the first list is not in force")
	}
	f.write(t, "evil.example\nother.example\n")
	if !f.blocks("evil.example") || !f.blocks("other.example") {
		t.Error("a line that was added is not in force")
	}
	before, err := os.Stat(f.path)
	check(t, err)
	check(t, os.WriteFile(f.path, []byte("evil.example\nothur.example\n"), 0o600))
	check(t, os.Chtimes(f.path, time.Time{}, before.ModTime())) // as if written in the same tick of the clock
	f.look()
	if f.blocks("other.example") || !f.blocks("othur.example") {
		t.Error("a change that shows only in the content is not in force")
	}
	check(t, os.WriteFile(f.path+"2", []byte("third.example\n"), 0o600))
	check(t, os.Rename(f.path+"2", f.path))
	if f.look(); f.blocks("evil.example") || !f.blocks("third.example") {
		t.Error("a file that was moved over the list is not in force")
	}
}

func TestMetricsSayHowTheBlockListIs(t *testing.T) {
	f := openList(t, "evil.example\n", io.Discard)
	first := f.Figures()
	if first.Entries != 1 || first.Failing || time.Since(first.LoadedAt) > time.Hour || first.Took <= 0 {
		t.Errorf("at first: got %+v", first)
	}
	text, err := os.ReadFile(f.path)
	check(t, err)
	check(t, os.Remove(f.path))
	f.look()
	if got := f.Figures(); !got.Failing || got.Entries != 1 || got.LoadedAt != first.LoadedAt {
		t.Errorf("without its file: got %+v", got)
	}
	f.write(t, string(text))
	if got := f.Figures(); got != first {
		t.Errorf("with the same text again: got %+v, want %+v", got, first)
	}
	check(t, os.Remove(f.path))
	f.look()
	f.write(t, "evil.example\nother.example\n")
	if got := f.Figures(); got.Failing || got.Entries != 2 || !got.LoadedAt.After(first.LoadedAt) {
		t.Errorf("with another: got %+v", got)
	}
}

func TestAnUnchangedBlockListIsNotReadAgain(t *testing.T) {
	f := openList(t, "evil.example\n", io.Discard)
	old := time.Now().Add(-time.Hour)
	check(t, os.Chtimes(f.path, old, old))
	f.look()
	readAt := f.readAt
	f.look()
	if f.readAt != readAt {
		t.Error("it was read again")
	}
}

func TestAnUnreadableBlockListLeavesTheLastInForce(t *testing.T) {
	log := new(strings.Builder)
	f := openList(t, "evil.example\n", log)
	for what, spoil := range map[string]func() error{
		"it is gone":     func() error { return nil },
		"it is a folder": func() error { return os.Mkdir(f.path, 0o700) },
		"it is a pipe":   func() error { return syscall.Mkfifo(f.path, 0o600) },
		"it is too long": func() error {
			return os.WriteFile(f.path, []byte(strings.Repeat("a\n", engine.MaxBlocked+1)), 0o600)
		},
	} {
		check(t, os.RemoveAll(f.path))
		check(t, spoil())
		before := strings.Count(log.String(), "the last one stays")
		f.look()
		f.look()
		if !f.blocks("evil.example") {
			t.Errorf("%s: the list is not in force any more", what)
		}
		if n := strings.Count(log.String(), "the last one stays") - before; n != 1 {
			t.Errorf("%s: said %d times, want once", what, n)
		}
		check(t, os.RemoveAll(f.path))
		f.write(t, "evil.example\n")
		if f.failing {
			t.Errorf("%s: the file is good again, and not read", what)
		}
	}
}

func TestAMissingBlockListAtStartIsAnError(t *testing.T) {
	if _, err := Open(filepath.Join(t.TempDir(), "none"), slog.New(slog.DiscardHandler)); err == nil {
		t.Error("got no error")
	}
	if _, err := Open(t.TempDir(), slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a folder: got no error")
	}
}

// An empty file blocks nothing. Somebody may want that, or a script that makes the list has failed, so it
// is taken, and a warning says so.
func TestABlockListThatIsEmptiedIsAWarning(t *testing.T) {
	log := new(strings.Builder)
	f := openList(t, "evil.example\nother.example\n", log)
	f.write(t, "")
	if f.blocks("evil.example") || strings.Count(log.String(), "level=WARN") != 1 || !strings.Contains(log.String(), "entries_before=2") {
		t.Errorf("got\n%s", log)
	}
	f.write(t, "evil.example\n")
	f.write(t, "other.example\n")
	if f.blocks("evil.example") || strings.Count(log.String(), "level=WARN") != 1 {
		t.Errorf("got\n%s", log)
	}
}

func TestAMalformedLineIsNamedOnce(t *testing.T) {
	log := new(strings.Builder)
	f := openList(t, "evil.example\nnot a host\n", log)
	f.write(t, "evil.example\nnot a host\nother.example\n")
	if n := strings.Count(log.String(), "line=2"); n != 1 {
		t.Errorf("got %d log lines about line 2, want 1:\n%s", n, log)
	}
	f.write(t, "evil.example\nnot a host either\n")
	if n := strings.Count(log.String(), "line=2"); n != 2 {
		t.Errorf("another bad line: got %d log lines about line 2, want 2:\n%s", n, log)
	}
	f.write(t, strings.Repeat("bad line\n", 1000))
	if n := strings.Count(log.String(), "is skipped"); n > 2+maxLineWarnings || !strings.Contains(log.String(), "lines=980") {
		t.Errorf("1,000 bad lines: got %d log lines:\n%.2000s", n, log)
	}
}

// The file is taken up by commit, not before: whatever else is reloaded may be wrong.
func TestABlockListIsPreparedBeforeItIsInForce(t *testing.T) {
	f := openList(t, "evil.example\n", io.Discard)
	if s := f.Figures(); s.Entries != 1 || s.LoadedAt.IsZero() || s.Failing {
		t.Errorf("got %+v at first", s)
	}
	check(t, os.WriteFile(f.path, []byte("evil.example\nother.example\n"), 0o600))
	commit, err := f.Prepare()
	check(t, err)
	if f.blocks("other.example") {
		t.Error("it is in force before commit")
	}
	if commit(); !f.blocks("other.example") || f.Figures().Entries != 2 {
		t.Error("it is not in force after commit")
	}
	check(t, os.Remove(f.path))
	if _, err := f.Prepare(); err == nil || !f.blocks("other.example") {
		t.Errorf("without a file: got %v", err)
	}
	if f.look(); !f.Figures().Failing || f.Figures().Entries != 2 {
		t.Errorf("got %+v without a file", f.Figures())
	}
	check(t, os.Mkdir(f.path, 0o700))
	if _, err := f.Prepare(); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a folder: got %v", err)
	}
}
