package storage

import (
	"context"
	"errors"
	"fmt"
	"shunt/storage/row"
	"shunt/storage/row/rowtest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// badRead fails one read of a table after it is armed.
type badRead struct{ left atomic.Int64 }

func (b *badRead) before(op errorfs.Op) error {
	if op.Kind == errorfs.OpFileReadAt && strings.HasSuffix(op.Path, ".sst") && b.left.Add(-1) == 0 {
		return syscall.EIO
	}
	return nil
}

// TestAScanThatCannotReadABlockFails fails each read of a scan of links. No link may be missing
// without an error, and a range whose first block cannot be read must not count as empty.
func TestAScanThatCannotReadABlockFails(t *testing.T) {
	const links = 200
	mem := vfs.NewMem()
	s := openMem(t, mem)
	stop := start(t, s)
	for i := range links {
		rec := link(fmt.Sprintf("code%d", i), uint64(i+1), 1)
		for n := range uint64(100) { // so that there are many blocks
			rec.Hot.Target += fmt.Sprintf("%x", rowtest.Visitor(uint64(i)<<32|n))
		}
		apply(t, s, creation(rec))
	}
	stop()
	closeStore(t, s)
	closeStore(t, openMem(t, mem))                                                                   // writes the log into a table
	fives := row.Range{Lower: row.AppendHotKey(nil, "code5"), Upper: row.AppendHotKey(nil, "code6")} // not in the first block of the table, which an opening reads
	failures := 0
	for k := int64(1); ; k++ {
		bad := new(badRead)
		s := openMem(t, errorfs.Wrap(mem, errorfs.InjectorFunc(bad.before)))
		bad.left.Store(k)
		var loaded atomic.Int64
		err := scan(context.Background(), s.db, []row.Range{fives}, new(scanned), eachRow(func(_, _ []byte) error {
			loaded.Add(1)
			return nil
		}))
		failed := bad.left.Load() <= 0
		closeStore(t, s)
		switch {
		case err != nil && !errors.Is(err, syscall.EIO):
			t.Errorf("read %d: %v", k, err)
		case err == nil && loaded.Load() != 11:
			t.Errorf("read %d fails: %d of 11 links are read, and no error", k, loaded.Load())
		case err != nil:
			failures++
		}
		if !failed {
			break
		}
	}
	if failures == 0 {
		t.Error("no read of a scan failed")
	}
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
