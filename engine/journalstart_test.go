package engine_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"shunt/engine"
	"shunt/engine/expect"
)

func TestHitsOutliveAnotherNumberAndSizeOfRings(t *testing.T) {
	l := newLife(t, 9)
	want := uint64(0)
	for _, o := range []engine.Options{
		{Rings: 4, RingRecords: 512}, {Rings: 1, RingRecords: 4096}, {Rings: 8, RingRecords: 256}, {Rings: 2, RingRecords: 1024}, {Rings: 2, RingRecords: 256},
	} {
		l.open(o)
		for i := range 9 {
			l.hit(i, 20, 7)
		}
		want += 20
		l.crash()
	}
	l.open(engine.Options{})
	for i := range 9 {
		expect.Equal(t, l.durable(i), want, "link%d hits", i)
	}
	l.wantLog(0)
	l.close()
}

// TestALostJournalFileIsReportedOnce spoils one of two files, in an epoch with committed records
// and in one without, and leaves the hits of the other file.
func TestALostJournalFileIsReportedOnce(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"missing":         os.Remove,
		"truncated":       func(path string) error { return os.Truncate(path, 4096) },
		"garbage":         func(path string) error { return os.WriteFile(path, make([]byte, 12288), 0o600) },
		"a folder":        func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
		"a dangling link": func(path string) error { return errors.Join(os.Remove(path), os.Symlink("nowhere", path)) },
	} {
		for _, flushed := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				l := newLife(t, 8)
				l.open(engine.Options{})
				if flushed {
					l.hit(0, 1, 1)
					expect.OK(t, l.flush())
				}
				for i := range 8 {
					l.hit(i, 1, 1)
				}
				l.crash()
				path := l.ringPath(1)
				expect.OK(t, spoil(path))
				l.log.take()
				l.open(engine.Options{})
				l.wantLog(1, "cannot be replayed whole", path, "at most one flush interval's", "flush_interval=1h")
				if m := l.Metrics(); m.JournalMissing != 1 || m.JournalReplayed == 0 || m.JournalReplayed == 8 {
					t.Errorf("%d files missing, %d records replayed", m.JournalMissing, m.JournalReplayed)
				}
				l.hit(0, 1, 1)
				l.close()
			})
		}
	}
}

// TestAnEpochThatWasOnlyBegunStartsCleanly has starts fail after their commit, with none or some of
// the files made.
func TestAnEpochThatWasOnlyBegunStartsCleanly(t *testing.T) {
	for fine := range 9 {
		l := newLife(t, 1)
		l.open(engine.Options{})
		l.hit(0, 3, 1)
		l.crash()
		left := fine
		engine.BreakWrites(t, func(write func() error) error {
			if left == 0 {
				panic("crash") // leaves the files as they are
			}
			left--
			return write()
		})
		crashed := func() (crashed bool) {
			defer func() { crashed = recover() != nil }()
			l.open(engine.Options{})
			l.crash()
			return false
		}()
		if want := fine < 5; crashed != want { // a header and the slots of each ring, and the dictionary
			t.Fatalf("with %d writes: crashed is %v", fine, crashed)
		}
		engine.EndProcess()
		engine.BreakWrites(t, func(write func() error) error { return write() })
		l.log.take()
		l.open(engine.Options{})
		l.wantLog(0)
		got := l.durable(0)
		expect.That(t, got == 3 && l.Metrics().JournalMissing == 0, "with %d writes: %d hits, %d files missing", fine, got, l.Metrics().JournalMissing)
		l.close()
		files := journalFiles(t, l.dir)
		expect.Equal(t, len(files), 3, "with %d writes, these files are left: %q", fine, files)
	}
}

func journalFiles(t *testing.T, dir string) (names []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	expect.OK(t, err)
	return names
}

func TestTooLittleJournalSpaceIsReportedAndLeavesNoFiles(t *testing.T) {
	for fine := range 5 {
		l := newLife(t, 1)
		l.open(engine.Options{})
		l.hit(0, 3, 1)
		l.crash()
		left := fine
		engine.BreakWrites(t, func(write func() error) error {
			if left == 0 {
				return &os.PathError{Op: "write", Path: "ring", Err: syscall.ENOSPC}
			}
			left--
			return write()
		})
		err := l.tryOpen(engine.Options{})
		expect.That(t, errors.Is(err, syscall.ENOSPC) && said(err, "--journal-dir", l.dir, "needs 3 MiB"), "with %d writes: %v", fine, err)
		files := journalFiles(t, l.dir)
		expect.Equal(t, len(files), 0, "with %d writes, these files are left: %q", fine, files)
		engine.BreakWrites(t, func(write func() error) error { return write() })
		l.open(engine.Options{})
		l.wantLog(0)
		expect.Equal(t, l.durable(0), 3, "with %d writes: hits", fine)
		l.close()
	}
}

func said(err error, parts ...string) bool {
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			return false
		}
	}
	return true
}

func TestAFileSystemWithoutMmapIsReportedAndReplayed(t *testing.T) {
	l := newLife(t, 1)
	l.open(engine.Options{})
	l.hit(0, 3, 1)
	l.crash()
	engine.BreakMapping(t, func(f *os.File, _ int) ([]byte, error) { return nil, engine.NoMapping(f, syscall.ENODEV) })
	err := l.tryOpen(engine.Options{})
	expect.That(t, errors.Is(err, syscall.ENODEV) && said(err, "--journal-dir", "mmap", l.dir), "%v", err)
	expect.Equal(t, l.durable(0), 3, "hits were replayed")
	files := journalFiles(t, l.dir)
	expect.Equal(t, len(files), 0, "these files are left: %q", files)
}

func TestAReadOnlyJournalFolderIsReported(t *testing.T) {
	l := newLife(t, 1)
	file := filepath.Join(t.TempDir(), "file")
	expect.OK(t, os.WriteFile(file, nil, 0o600))
	for _, dir := range []string{file, filepath.Join(file, "below")} {
		err := l.tryOpen(engine.Options{JournalDir: dir})
		expect.That(t, said(err, "--journal-dir", dir), "%s: %v", dir, err)
	}
	l.open(engine.Options{})
	l.hit(0, 3, 1)
	l.crash()
	engine.Immutable(t, l.dir)
	l.log.take()
	err := l.tryOpen(engine.Options{})
	expect.That(t, said(err, "--journal-dir", l.dir), "%v", err)
	l.wantLog(1, "old journal files could not be removed", l.dir)
	expect.Equal(t, l.durable(0), 3, "hits were replayed")
}

// TestAReplayLargerThanMemoryCommitsInParts replays into an engine that may gather only two links
// at a time, and crashes after each part.
func TestAReplayLargerThanMemoryCommitsInParts(t *testing.T) {
	l := newLife(t, 20)
	l.open(engine.Options{})
	for i := range 60 {
		l.hit(i%20, 1, 5)
	}
	l.crash()
	small := engine.Options{PendingEntries: 4}
	boom := errors.New("boom")
	for starts := 1; ; starts++ {
		l.gate.failAfter.Store(2) // two parts are committed
		l.gate.failFlush.Store(&boom)
		err := l.tryOpen(small)
		if err == nil {
			expect.That(t, starts >= 3, "it took only %d starts", starts)
			break
		}
		expect.MustThat(t, errors.Is(err, boom) && starts <= 100, "%v", err)
	}
	l.gate.failFlush.Store(nil)
	for i := range 20 {
		expect.Equal(t, l.durable(i), 3, "link%d hits", i)
	}
	l.close()
}

// TestTwoHistoriesOfAStoreShareNoEpoch starts the same state of a store twice, as a copy of it
// would.
func TestTwoHistoriesOfAStoreShareNoEpoch(t *testing.T) {
	l := newLife(t, 1)
	seen := make(map[string]bool)
	for range 3 {
		before, err := l.gate.Positions()
		expect.OK(t, err)
		for range 2 {
			l.open(engine.Options{JournalDir: t.TempDir()})
			after, err := l.gate.Positions()
			expect.That(t, err == nil && after.Epoch > before.Epoch && !seen[l.ringPath(0)], "epoch %d comes after %d (%v)", after.Epoch, before.Epoch, err)
			seen[l.ringPath(0)] = true
			l.close()
			if err := l.gate.Flush(engine.FlushBatch{Positions: before}); err != nil { // as a backup has it
				t.Fatal(err)
			}
		}
		l.open(engine.Options{JournalDir: t.TempDir()})
		l.close()
	}
}

// TestAMissingJournalIsReported loses all rings before any record of their epoch was committed: the
// dictionary, which is made last, shows that they existed. Then it loses the folder, as a tmpfs is
// lost when the machine restarts: the committed positions show it.
func TestAMissingJournalIsReported(t *testing.T) {
	l := newLife(t, 1)
	l.open(engine.Options{})
	l.hit(0, 3, 1)
	l.crash()
	expect.OK(t, errors.Join(os.Remove(l.ringPath(0)), os.Remove(l.ringPath(1))))
	l.open(engine.Options{})
	l.wantLog(1, "cannot be replayed whole", "files=2")
	l.hit(0, 1, 1)
	expect.OK(t, l.flush())
	l.crash()
	expect.OK(t, os.RemoveAll(l.dir))
	l.open(engine.Options{})
	l.wantLog(1, "cannot be replayed whole", "files=2")
	l.close()
}
