package engine_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"shunt/engine"
	"shunt/engine/expect"
)

// TestARunningServersJournalIsNeitherReplayedNorRemoved opens engines as on a copy of the data
// folder: on the positions of a running engine, and on earlier ones.
func TestARunningServersJournalIsNeitherReplayedNorRemoved(t *testing.T) {
	l := newLife(t, 1)
	before, err := l.gate.Positions()
	expect.OK(t, err)
	l.open(engine.Options{})
	running, files := l.Engine, journalFiles(t, l.dir)
	l.hit(0, 3, 1)
	err = l.tryOpen(engine.Options{})
	expect.That(t, said(err, l.dir, "running server", "--journal-dir"), "on the same positions: %v", err)
	expect.NoError(t, l.replayJournal(l.dir))
	l.wantLog(1, "also another server's", l.dir)
	expect.OK(t, l.gate.Flush(engine.FlushBatch{Positions: before}))
	l.open(engine.Options{})
	l.close()
	l.log.take() // it is random which of the two has the later epoch; the next one is the latest
	l.open(engine.Options{})
	l.wantLog(1, "another server", "--journal-dir", l.dir)
	for _, path := range files {
		expect.That(t, slices.Contains(journalFiles(t, l.dir), path), "%s was removed", path)
	}
	expect.Equal(t, l.durable(0), 0, "hits of the running server were replayed")
	l.close()
	expect.OK(t, running.Abandon())
	l.open(engine.Options{}) // the server has ended, and its files are of an old epoch
	l.wantLog(0)
	left := journalFiles(t, l.dir)
	expect.Equal(t, len(left), len(files), "these files are left: %q", left)
	l.close()
}

// replayJournal replays the journal in dir for an engine that will have another journal.
func (l *life) replayJournal(dir string) error {
	l.t.Helper()
	return engine.ReplayJournal(l.gate, engine.Options{JournalDir: dir, Logger: slog.New(slog.NewTextHandler(&l.log, nil))})
}

func (l *life) epoch() uint64 {
	l.t.Helper()
	p, err := l.gate.Positions()
	expect.OK(l.t, err)
	return p.Epoch
}

func TestAMovedJournalIsReplayedAndRemovedWithoutNewFiles(t *testing.T) {
	l := newLife(t, 1)
	l.open(engine.Options{})
	l.hit(0, 3, 1)
	l.crash()
	engine.BreakWrites(t, func(func() error) error {
		t.Error("a file was made")
		return os.ErrInvalid
	})
	for range 2 {
		expect.OK(t, l.replayJournal(l.dir))
	}
	engine.BreakWrites(t, func(write func() error) error { return write() })
	left := journalFiles(t, l.dir)
	expect.Equal(t, len(left), 0, "these files are left: %q", left)
	l.open(engine.Options{JournalDir: t.TempDir()})
	l.wantLog(0)
	expect.Equal(t, l.durable(0), 3, "hits were replayed")
	l.close()
}

func TestAJournalMovesOutOfAReadOnlyFolder(t *testing.T) {
	l := newLife(t, 1)
	l.open(engine.Options{})
	l.hit(0, 3, 1)
	l.crash()
	engine.Immutable(t, l.dir)
	l.log.take()
	expect.OK(t, l.replayJournal(l.dir))
	l.wantLog(1, "old journal files could not be removed", l.dir)
	l.open(engine.Options{JournalDir: t.TempDir()})
	l.wantLog(0)
	expect.Equal(t, l.durable(0), 3, "hits were replayed")
	l.close()
}

func TestALostOldJournalIsReportedOnceAndTheMoveSucceeds(t *testing.T) {
	for name, spoil := range map[string]func(dir string) error{
		"gone":       os.RemoveAll,
		"a file":     func(dir string) error { return os.WriteFile(dir, nil, 0o600) },
		"a loop":     func(dir string) error { return os.Symlink(dir, dir) },
		"in no path": func(dir string) error { return os.WriteFile(filepath.Dir(dir), nil, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLife(t, 1)
			l.dir = filepath.Join(l.dir, "below")
			l.open(engine.Options{})
			l.hit(0, 1, 1)
			expect.OK(t, l.flush())
			l.crash()
			for _, dir := range []string{l.dir, map[string]string{"in no path": filepath.Dir(l.dir)}[name]} {
				expect.OK(t, os.RemoveAll(dir))
			}
			expect.OK(t, spoil(l.dir))
			expect.OK(t, l.replayJournal(l.dir))
			l.wantLog(1, "cannot be replayed whole", "files=2", l.dir)
			begun := l.epoch()
			if err := l.replayJournal(l.dir); err != nil || l.epoch() != begun {
				t.Errorf("again: %v, epoch %d after %d", err, l.epoch(), begun)
			}
			l.open(engine.Options{JournalDir: t.TempDir()})
			l.wantLog(0)
			l.close()
		})
	}
}
