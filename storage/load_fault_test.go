package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage/disk"
	"shunt/storage/kv"
	"shunt/storage/row"
	"shunt/storage/row/rowtest"
)

// badRead fails one read of a table after it is armed.
type badRead struct{ left atomic.Int64 }

func (b *badRead) before(op errorfs.Op) error {
	if op.Kind == errorfs.OpFileReadAt && strings.HasSuffix(op.Path, ".sst") && b.left.Add(-1) == 0 {
		return syscall.EIO
	}
	return nil
}

// TestAScanThatCannotReadABlockFails fails each read of a scan of links. No link may be missing without
// an error, and a range whose first block cannot be read must not count as empty.
func TestAScanThatCannotReadABlockFails(t *testing.T) {
	mem := manyBlocks(t)
	fives := row.Range{Lower: row.AppendHotKey(nil, keyOf("code5")), Upper: row.AppendHotKey(nil, keyOf("code6"))} // not in the first block of the table, which an opening reads
	failures := 0
	for k := int64(1); ; k++ {
		loaded, failed, err := scanWithBadRead(t, mem, fives, k)
		switch {
		case err != nil && !errors.Is(err, syscall.EIO):
			t.Errorf("read %d: %v", k, err)
		case err == nil && loaded != 11:
			t.Errorf("read %d fails: %d of 11 links are read, and no error", k, loaded)
		case err != nil:
			failures++
		}
		if !failed {
			break
		}
	}
	expect.That(t, failures != 0, "no read of a scan failed")
}

// manyBlocks returns the files of a closed store with a table of 200 links in many blocks.
func manyBlocks(t *testing.T) vfs.FS {
	t.Helper()
	mem := vfs.NewMem()
	s := openMem(t, mem)
	stop := start(t, s)
	for i := range 200 {
		rec := rowtest.Link(fmt.Sprintf("code%d", i), uint64(i+1), 1)
		for n := range uint64(100) {
			rec.Hot.Target += fmt.Sprintf("%x", rowtest.Visitor(uint64(i)<<32|n))
		}
		apply(t, s, rowtest.Creation(rec))
	}
	stop()
	closeStore(t, s)
	closeStore(t, openMem(t, mem)) // writes the log into a table
	return mem
}

// scanWithBadRead scans keys of a store whose k-th read after its opening fails. failed reports whether there
// were as many reads.
func scanWithBadRead(t *testing.T, fs vfs.FS, keys row.Range, k int64) (loaded int64, failed bool, err error) {
	t.Helper()
	bad := new(badRead)
	s := openMem(t, errorfs.Wrap(fs, errorfs.InjectorFunc(bad.before)))
	defer closeStore(t, s)
	bad.left.Store(k)
	var rows atomic.Int64
	err = kv.Scan(context.Background(), s.db, []row.Range{keys}, new(kv.Scanned), kv.EachRow(func(_, _ []byte) error {
		rows.Add(1)
		return nil
	}))
	return rows.Load(), bad.left.Load() <= 0, err
}

func TestALoadRefusesHitsUnderAKeyOfWrongLength(t *testing.T) {
	s := openTemp(t)
	b := s.db.NewBatch()
	kv.Merge(b, append(row.AppendLinkLifeKey(nil, 1), 0), rowOf(rowtest.Hit(1)))
	expect.OK(t, s.writer.Sync(b, "test"))
	expect.Error(t, loadHits(s, func(id, hits uint64) { t.Errorf("got %d hits of link %d", hits, id) }), ErrCorrupt)
}

// A damaged table ends a load with an error, and the log tells the operator what to do, as with any reader of it.
func TestDamageThatALoadMeetsIsLogged(t *testing.T) {
	mem := manyBlocks(t)
	path := damageLargestTable(t, mem, "/data/store/"+disk.DBName)
	var log bytes.Buffer
	s := open(t, "/data/store", Options{FS: mem, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	defer closeStore(t, s)
	err := s.LoadLinks(t.Context(), func([]engine.HotView) error { return nil })
	expect.That(t, pebble.IsCorruptionError(err), "got %v, want an error about damage", err)
	expect.That(t, strings.Contains(log.String(), "restore a backup") && strings.Contains(log.String(), filepath.Base(path)),
		"the log does not say what to do about %s: %s", path, log.String())
}
