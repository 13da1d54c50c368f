package storage

import (
	"bytes"
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine"
	"shunt/storage/row"
	"shunt/storage/row/rowtest"
)

// TestALoadReadsTablesUntilABatchHasSuchRows opens a store again, whose rows are in tables then, and writes
// rows of links, of tallies and others.
func TestALoadReadsTablesUntilABatchHasSuchRows(t *testing.T) {
	mem := vfs.NewMem()
	s := openMem(t, mem)
	stop := start(t, s)
	apply(t, s, creation(link("first", 1, 1)))
	stop()
	closeStore(t, s)
	s = openMem(t, mem)
	defer closeStore(t, s)
	has := func(since *atomic.Bool) bool {
		tables := s.tablesWithout(since)
		if err := closeTables(tables); err != nil {
			t.Error(err)
		}
		return tables != nil
	}
	since := &s.writer.since
	if _, err := s.AllocateIDs(10); err != nil {
		t.Fatal(err)
	}
	if !has(&since.links) || !has(&since.tallies) {
		t.Error("tables are not read after a batch of other rows")
	}
	b := s.db.NewBatch()
	merge(b, row.AppendLinkLifeKey(nil, 1), rowOf(rowtest.Hit(1)))
	if err := s.sync(b, "test"); err != nil {
		t.Fatal(err)
	}
	if !has(&since.links) || has(&since.tallies) {
		t.Error("after a batch with a tally, tables must be read for links only")
	}
	stop = start(t, s)
	defer stop()
	apply(t, s, creation(link("second", 2, 1)))
	if has(&since.links) {
		t.Error("tables are read for links although one is in no table yet")
	}
	if got := loadedCodes(t, s); !slices.Equal(got, []string{"first", "second"}) {
		t.Errorf("got the links %v", got)
	}
}

// TestABatchIsNotedByAllTablesThatItDeletesRowsOf: a deletion by range may pass the ends of a table.
func TestABatchIsNotedByAllTablesThatItDeletesRowsOf(t *testing.T) {
	s := openTemp(t)
	var since rowsSince
	b := s.db.NewBatch()
	if err := b.DeleteRange([]byte{row.TableHot - 1}, []byte{row.TableHot + 1}, nil); err != nil {
		t.Fatal(err)
	}
	if err := since.note(b); err != nil || !since.links.Load() {
		t.Errorf("got links %v and the error %v", since.links.Load(), err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}

func loadedCodes(t *testing.T, s *Store) (codes []string) {
	t.Helper()
	var mu sync.Mutex
	err := s.LoadLinks(context.Background(), engine.EachLink(func(h engine.HotView) error {
		mu.Lock()
		defer mu.Unlock()
		codes = append(codes, string(h.Code))
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(codes)
	return codes
}

// A damaged table ends a load with an error, and the log tells the operator what to do, as with any reader of it.
func TestDamageThatALoadMeetsIsLogged(t *testing.T) {
	mem := manyBlocks(t)
	path := damageLargestTable(t, mem, "/data/store/"+dbName)
	var log bytes.Buffer
	s := open(t, "/data/store", Options{FS: mem, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	defer closeStore(t, s)
	tables := s.tablesWithout(new(atomic.Bool))
	if err := closeTables(tables); tables == nil || err != nil {
		t.Fatalf("the tables cannot be read directly: %v", err)
	}
	err := s.LoadLinks(t.Context(), func([]engine.HotView) error { return nil })
	if !pebble.IsCorruptionError(err) {
		t.Errorf("got %v, want an error about damage", err)
	}
	if !strings.Contains(log.String(), "restore a backup") || !strings.Contains(log.String(), filepath.Base(path)) {
		t.Errorf("the log does not say what to do about %s: %s", path, log.String())
	}
}
