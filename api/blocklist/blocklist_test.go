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
	"shunt/engine/expect"
)

func openList(t *testing.T, lines string, log io.Writer) *File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "list")
	expect.OK(t, os.WriteFile(path, []byte(lines), 0o600))
	f, err := Open(path, slog.New(slog.NewTextHandler(log, nil)))
	expect.OK(t, err)
	return f
}

// write writes text to f's file and makes f check it.
func (f *File) write(t *testing.T, text string) {
	t.Helper()
	expect.OK(t, os.WriteFile(f.path, []byte(text), 0o600))
	f.look()
}

func (f *File) blocks(host string) bool { return f.List.Blocks([]byte("http://" + host + "/")) }

func TestTheBlockListIsReadAgainWhenItsFileChanges(t *testing.T) {
	f := openList(t, "evil.example\n", io.Discard)
	expect.MustThat(t, f.blocks("evil.example") && !f.blocks("other.example"), "the first list is not in force")
	f.write(t, "evil.example\nother.example\n")
	expect.That(t, f.blocks("evil.example") && f.blocks("other.example"), "a line that was added is not in force")
	before, err := os.Stat(f.path)
	expect.OK(t, err)
	expect.OK(t, os.WriteFile(f.path, []byte("evil.example\nothur.example\n"), 0o600))
	expect.OK(t, os.Chtimes(f.path, time.Time{}, before.ModTime())) // as if written in the same tick of the clock
	f.look()
	expect.That(t, !f.blocks("other.example") && f.blocks("othur.example"), "a change that shows only in the content is not in force")
	expect.OK(t, os.WriteFile(f.path+"2", []byte("third.example\n"), 0o600))
	expect.OK(t, os.Rename(f.path+"2", f.path))
	if f.look(); f.blocks("evil.example") || !f.blocks("third.example") {
		t.Error("a file that was moved over the list is not in force")
	}
}

func TestMetricsSayHowTheBlockListIs(t *testing.T) {
	f := openList(t, "evil.example\n", io.Discard)
	first := f.Figures()
	expect.That(t, first.Entries == 1 && !first.Failing && time.Since(first.LoadedAt) <= time.Hour && first.Took > 0, "at first: got %+v", first)
	text, err := os.ReadFile(f.path)
	expect.OK(t, err)
	expect.OK(t, os.Remove(f.path))
	f.look()
	got := f.Figures()
	expect.That(t, got.Failing && got.Entries == 1 && got.LoadedAt == first.LoadedAt, "without its file: got %+v", got)
	f.write(t, string(text))
	expect.Equal(t, f.Figures(), first, "with the same text again")
	expect.OK(t, os.Remove(f.path))
	f.look()
	f.write(t, "evil.example\nother.example\n")
	got = f.Figures()
	expect.That(t, !got.Failing && got.Entries == 2 && got.LoadedAt.After(first.LoadedAt), "with another: got %+v", got)
}

func TestAnUnchangedBlockListIsNotReadAgain(t *testing.T) {
	f := openList(t, "evil.example\n", io.Discard)
	old := time.Now().Add(-time.Hour)
	expect.OK(t, os.Chtimes(f.path, old, old))
	f.look()
	readAt := f.readAt
	f.look()
	expect.Equal(t, f.readAt, readAt, "it was read again")
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
		expect.OK(t, os.RemoveAll(f.path))
		expect.OK(t, spoil())
		before := strings.Count(log.String(), "the last one stays")
		f.look()
		f.look()
		expect.That(t, f.blocks("evil.example"), "%s: the list is not in force any more", what)
		expect.Equal(t, strings.Count(log.String(), "the last one stays")-before, 1, "%s: said times", what)
		expect.OK(t, os.RemoveAll(f.path))
		f.write(t, "evil.example\n")
		expect.That(t, !f.failing, "%s: the file is good again, and not read", what)
	}
}

func TestAMissingBlockListAtStartIsAnError(t *testing.T) {
	expect.That(t, expect.Err(Open(filepath.Join(t.TempDir(), "none"), slog.New(slog.DiscardHandler))) != nil, "got no error")
	expect.That(t, expect.Err(Open(t.TempDir(), slog.New(slog.DiscardHandler))) != nil, "a folder: got no error")
}

// An empty file blocks nothing. Somebody may want that, or a script that makes the list has failed, so it
// is taken, and a warning says so.
func TestABlockListThatIsEmptiedIsAWarning(t *testing.T) {
	log := new(strings.Builder)
	f := openList(t, "evil.example\nother.example\n", log)
	f.write(t, "")
	expect.That(t, !f.blocks("evil.example") && strings.Count(log.String(), "level=WARN") == 1 && strings.Contains(log.String(), "entries_before=2"),
		"got\n%s", log)
	f.write(t, "evil.example\n")
	f.write(t, "other.example\n")
	expect.That(t, !f.blocks("evil.example") && strings.Count(log.String(), "level=WARN") == 1, "got\n%s", log)
}

func TestAMalformedLineIsNamedOnce(t *testing.T) {
	log := new(strings.Builder)
	f := openList(t, "evil.example\nnot a host\n", log)
	f.write(t, "evil.example\nnot a host\nother.example\n")
	expect.Equal(t, strings.Count(log.String(), "line=2"), 1, "log lines about line 2:\n%s", log)
	f.write(t, "evil.example\nnot a host either\n")
	expect.Equal(t, strings.Count(log.String(), "line=2"), 2, "another bad line log lines about line 2:\n%s", log)
	f.write(t, strings.Repeat("bad line\n", 1000))
	n := strings.Count(log.String(), "is skipped")
	expect.That(t, n <= 2+maxLineWarnings && strings.Contains(log.String(), "lines=980"), "1,000 bad lines: got %d log lines:\n%.2000s", n, log)
}

// The file is taken up by commit, not before: whatever else is reloaded may be wrong.
func TestABlockListIsPreparedBeforeItIsInForce(t *testing.T) {
	f := openList(t, "evil.example\n", io.Discard)
	s := f.Figures()
	expect.That(t, s.Entries == 1 && !s.LoadedAt.IsZero() && !s.Failing, "got %+v at first", s)
	expect.OK(t, os.WriteFile(f.path, []byte("evil.example\nother.example\n"), 0o600))
	commit, err := f.Prepare()
	expect.OK(t, err)
	expect.That(t, !f.blocks("other.example"), "it is in force before commit")
	if commit(); !f.blocks("other.example") || f.Figures().Entries != 2 {
		t.Error("it is not in force after commit")
	}
	expect.OK(t, os.Remove(f.path))
	_, err = f.Prepare()
	expect.That(t, err != nil && f.blocks("other.example"), "without a file: got %v", err)
	if f.look(); !f.Figures().Failing || f.Figures().Entries != 2 {
		t.Errorf("got %+v without a file", f.Figures())
	}
	expect.OK(t, os.Mkdir(f.path, 0o700))
	_, err = f.Prepare()
	expect.That(t, err != nil && strings.Contains(err.Error(), "not a regular file"), "a folder: got %v", err)
}
