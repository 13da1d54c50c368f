package storage

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"shunt/engine/expect"
	"shunt/storage/disk"
	"shunt/storage/kv"
	"shunt/storage/row"
	"shunt/storage/row/rowtest"
)

// writes returns the sequence of writes that a store claims to contain.
func writes(t *testing.T, s *Store) row.Sequence {
	t.Helper()
	q, err := kv.ReadSequence(s.db)
	expect.OK(t, err)
	return q
}

func TestEveryWriteIsNumberedInTheOrderOfTheLog(t *testing.T) {
	mem := vfs.NewMem()
	s := openMem(t, mem)
	stop := start(t, s)
	before := writes(t, s)
	var writers sync.WaitGroup
	for i := range uint64(8) {
		writers.Go(func() {
			apply(t, s, rowtest.Creation(rowtest.Link(strings.Repeat("c", int(i+1)), i+1, 1)))
			expect.NoError(t, expect.Err(s.AllocateIDs(1)))
			expect.NoError(t, writeAccounts(s.Accounts(), [][2][]byte{{{byte(i)}, nil}}, nil))
		})
	}
	for i := range uint64(8) {
		f := rowtest.NewFlush()
		f.Add(1, 1, 1, rowtest.Hit(i))
		flush(t, s, i+1, f)
	}
	writers.Wait()
	stop()
	after := writes(t, s)
	expect.That(t, after.Count == after.Last && after.Last >= before.Last+8+8+8+1, "got %+v after %+v", after, before)
	closeStore(t, s)
	s = openMem(t, mem)
	expect.Equal(t, writes(t, s), after, "opened again")
	closeStore(t, s)
}

// TestCommitWaitIsTheTimeWithoutAnAnswer has a commit under way on a disk that does not answer, and
// counts several.
func TestCommitWaitIsTheTimeWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &held{FS: vfs.NewMem()}
		s := openMem(t, errorfs.Wrap(disk.FS, errorfs.InjectorFunc(disk.before)))
		want := func(seconds float64) {
			t.Helper()
			synctest.Wait()
			expect.Equal(t, s.Metrics().CommitWait.Seconds(), seconds, "commits wait for s")
		}
		letGo := make(chan struct{})
		disk.until.Store(&letGo)
		want(0)
		done := make(chan error, 1)
		go func() {
			_, err := s.AllocateIDs(1)
			done <- err
		}()
		synctest.Wait()
		time.Sleep(7 * time.Second)
		want(7)
		disk.until.Store(nil)
		close(letGo)
		expect.NoError(t, <-done)
		want(0)
		closeStore(t, s)
	})
}

// setSequence makes the database in dir claim to contain q.
func setSequence(t *testing.T, dir string, q row.Sequence) {
	t.Helper()
	db, err := pebble.Open(filepath.Join(dir, disk.DBName), pebbleOptions(vfs.Default, &Options{Logger: quiet}, nil, false))
	expect.OK(t, err)
	expect.OK(t, db.Set(row.MetaKey(row.MetaSequence), row.AppendSequence(nil, q), pebble.Sync))
	expect.OK(t, db.Close())
}

func TestLostWritesAreRefusedUnlessTheLossIsAccepted(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(row.Sequence) row.Sequence{
		"the last one":  func(q row.Sequence) row.Sequence { return row.Sequence{Count: q.Count - 1, Last: q.Last - 1} },
		"one before":    func(q row.Sequence) row.Sequence { return row.Sequence{Count: q.Count - 1, Last: q.Last} },
		"the last five": func(q row.Sequence) row.Sequence { return row.Sequence{Count: q.Count - 5, Last: q.Last - 5} },
		"all":           func(row.Sequence) row.Sequence { return row.Sequence{} },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "store")
			s := open(t, dir, Options{})
			for range 8 {
				_, err := s.AllocateIDs(1)
				expect.OK(t, err)
			}
			had := writes(t, s)
			closeStore(t, s)
			setSequence(t, dir, lose(had))
			wantUntouched(t, dir, false, kv.ErrLostWrites)
			wantUntouched(t, dir, true, kv.ErrLostWrites)

			bound := uint64(9) // of eight ids
			s, err := Open(dir, Options{AcceptLoss: true, Logger: quiet})
			expect.OK(t, err)
			q := writes(t, s)
			expect.That(t, q.Count == q.Last && q.Last > had.Last, "got %+v, and there were %+v", q, had)
			id, err := s.AllocateIDs(1)
			expect.That(t, err == nil && id >= bound+idsALostWrite, "got id %d, %v: a lost write may have allocated it", id, err)
			closeStore(t, s)
			closeStore(t, open(t, dir, Options{})) // from now on it is whole
		})
	}
}

func TestADamagedOrMissingAckedFileIsLoggedAndReplaced(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"missing":   os.Remove,
		"truncated": func(path string) error { return os.Truncate(path, 7) },
		"empty":     func(path string) error { return os.Truncate(path, 0) },
		"flipped": func(path string) error {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			b[0] ^= 0x80
			return os.WriteFile(path, b, 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "store")
			closeStore(t, open(t, dir, Options{}))
			path := filepath.Join(dir, disk.AckedName)
			expect.OK(t, damage(path))
			var log strings.Builder
			s, err := Open(dir, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			expect.OK(t, err)
			want := writes(t, s).Last
			closeStore(t, s)
			expect.Contains(t, log.String(), "it is not known which writes were acknowledged")
			f := &disk.Folder{FS: vfs.Default, Dir: dir}
			got, known, err := f.ReadAcked(s.identity.StoreID)
			expect.That(t, got == want && known && err == nil, "afterwards: got %d, %v, %v, want %d", got, known, err, want)
			if _, known, _ := f.ReadAcked([16]byte{1}); known {
				t.Error("the file was accepted for another store")
			}
		})
	}
}

// TestAnOlderCopyOfTheDatabaseIsRefused puts back an earlier copy of the database, as a restored
// disk does, or a file system that lost synced data.
func TestAnOlderCopyOfTheDatabaseIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	closeStore(t, open(t, dir, Options{}))
	earlier := filepath.Join(t.TempDir(), "db")
	expect.OK(t, os.CopyFS(earlier, os.DirFS(filepath.Join(dir, disk.DBName))))
	s := open(t, dir, Options{})
	stop := start(t, s)
	apply(t, s, rowtest.Creation(rowtest.Link("acknowledged", 1, 1)))
	stop()
	closeStore(t, s)
	expect.OK(t, os.RemoveAll(filepath.Join(dir, disk.DBName)))
	expect.OK(t, os.CopyFS(filepath.Join(dir, disk.DBName), os.DirFS(earlier)))
	wantUntouched(t, dir, false, kv.ErrLostWrites)
}

// TestAFlippedBitInLogOrManifestLosesNothingSilently flips bits, some of which leave Pebble with a
// database that opens and lacks acknowledged writes.
func TestAFlippedBitInLogOrManifestLosesNothingSilently(t *testing.T) {
	const links = 20
	mem := vfs.NewCrashableMem()
	s := openMem(t, mem)
	stop := start(t, s)
	for i := range uint64(links) {
		apply(t, s, rowtest.Creation(rowtest.Link("c"+strings.Repeat("x", int(i)), i+1, 1)))
	}
	killed := mem.CrashClone(loseNothing()) // with its log, as after a kill
	stop()
	closeStore(t, s)

	names, err := killed.List("/data/store/" + disk.DBName)
	expect.OK(t, err)
	flips, bySequence := 0, 0
	for _, name := range names {
		if !strings.HasSuffix(name, ".log") && !strings.HasPrefix(name, "MANIFEST") {
			continue
		}
		size := len(content(t, killed, name))
		for at := 0; at < size; at += max(1, size/100) {
			flips++
			damaged := killed.CrashClone(loseNothing())
			flip(t, damaged, name, at)
			s, err := Open("/data/store", Options{FS: damaged, Logger: quiet})
			if err != nil {
				bySequence += btoi(errors.Is(err, kv.ErrLostWrites))
				continue
			}
			for i := range links {
				expect.NoError(t, expect.Err(s.ReadRecord(keyOf("c"+strings.Repeat("x", i)))), "%s, byte %d of %d: link %d", name, at, size, i)
			}
			closeStore(t, s)
		}
	}
	t.Logf("of %d flips the sequence of writes alone has told of %d", flips, bySequence)
	expect.That(t, bySequence != 0, "Pebble itself has noticed everything: is the sequence needed?")
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// content returns the bytes of a file of the database, without zeros at its end.
func content(t *testing.T, fs vfs.FS, name string) string {
	t.Helper()
	f, err := fs.Open("/data/store/" + disk.DBName + "/" + name)
	expect.OK(t, err)
	defer f.Close()
	b, err := io.ReadAll(f)
	expect.OK(t, err)
	return strings.TrimRight(string(b), "\x00")
}

func flip(t *testing.T, fs vfs.FS, name string, at int) {
	t.Helper()
	flipped := content(t, fs, name)[at] ^ 1<<(at%8)
	f, err := fs.OpenReadWrite("/data/store/"+disk.DBName+"/"+name, vfs.WriteCategoryUnspecified)
	expect.OK(t, err)
	defer f.Close()
	_, err = f.WriteAt([]byte{flipped}, int64(at))
	expect.OK(t, err)
}
