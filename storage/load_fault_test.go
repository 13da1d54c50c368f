package storage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"shunt/storage/direct"
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

// TestAScanThatCannotReadABlockFails fails each read of a scan of links, by Pebble's iterators and of tables
// themselves. No link may be missing without an error, and a range whose first block cannot be read must
// not count as empty.
func TestAScanThatCannotReadABlockFails(t *testing.T) {
	mem := manyBlocks(t)
	fives := row.Range{Lower: row.AppendHotKey(nil, "code5"), Upper: row.AppendHotKey(nil, "code6")} // not in the first block of the table, which an opening reads
	for _, byTables := range []bool{false, true} {
		failures := 0
		for k := int64(1); ; k++ {
			loaded, failed, err := scanWithBadRead(t, mem, fives, byTables, k)
			switch {
			case err != nil && !errors.Is(err, syscall.EIO):
				t.Errorf("by tables %v, read %d: %v", byTables, k, err)
			case err == nil && loaded != 11:
				t.Errorf("by tables %v, read %d fails: %d of 11 links are read, and no error", byTables, k, loaded)
			case err != nil:
				failures++
			}
			if !failed {
				break
			}
		}
		if failures == 0 {
			t.Errorf("by tables %v: no read of a scan failed", byTables)
		}
	}
}

// manyBlocks returns the files of a closed store with a table of 200 links in many blocks.
func manyBlocks(t *testing.T) vfs.FS {
	t.Helper()
	mem := vfs.NewMem()
	s := openMem(t, mem)
	stop := start(t, s)
	for i := range 200 {
		rec := link(fmt.Sprintf("code%d", i), uint64(i+1), 1)
		for n := range uint64(100) {
			rec.Hot.Target += fmt.Sprintf("%x", rowtest.Visitor(uint64(i)<<32|n))
		}
		apply(t, s, creation(rec))
	}
	stop()
	closeStore(t, s)
	closeStore(t, openMem(t, mem)) // writes the log into a table
	return mem
}

// scanWithBadRead scans keys of a store whose k-th read after its opening fails. failed reports whether there
// were as many reads.
func scanWithBadRead(t *testing.T, fs vfs.FS, keys row.Range, byTables bool, k int64) (loaded int64, failed bool, err error) {
	t.Helper()
	bad := new(badRead)
	s := openMem(t, errorfs.Wrap(fs, errorfs.InjectorFunc(bad.before)))
	defer closeStore(t, s)
	var tables *direct.Tables
	if byTables {
		if tables = s.tablesWithout(new(atomic.Bool)); tables == nil {
			t.Fatal("the tables cannot be read directly")
		}
	}
	bad.left.Store(k)
	var rows atomic.Int64
	err = scan(context.Background(), rowSource{s.db, tables}, []row.Range{keys}, new(scanned), eachRow(func(_, _ []byte) error {
		rows.Add(1)
		return nil
	}))
	return rows.Load(), bad.left.Load() <= 0, errors.Join(err, closeTables(tables))
}

func TestALoadRefusesHitsUnderAKeyOfWrongLength(t *testing.T) {
	s := openTemp(t)
	b := s.db.NewBatch()
	merge(b, append(row.AppendLinkLifeKey(nil, 1), 0), rowOf(rowtest.Hit(1)))
	if err := s.sync(b, "test"); err != nil {
		t.Fatal(err)
	}
	if err := loadHits(s, func(id, hits uint64) { t.Errorf("got %d hits of link %d", hits, id) }); !errors.Is(err, ErrCorrupt) {
		t.Errorf("got %v, want ErrCorrupt", err)
	}
}
