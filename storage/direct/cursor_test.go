package direct

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"
)

// TestACursorReadsWhatPebbleReads changes keys at random, with flushes, compactions and snapshots in
// between, and compares ranges with those of Pebble's own iterator.
func TestACursorReadsWhatPebbleReads(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := newHistory(rt)
		defer h.close()
		rt.Repeat(map[string]func(*rapid.T){
			"set":      func(rt *rapid.T) { h.must(h.db.Set(h.key(rt), h.value(), nil)) },
			"merge":    func(rt *rapid.T) { h.must(h.db.Merge(h.key(rt), h.value(), nil)) },
			"delete":   func(rt *rapid.T) { h.must(h.db.Delete(h.key(rt), nil)) },
			"flush":    func(*rapid.T) { h.must(h.db.Flush()) },
			"compact":  func(*rapid.T) { h.must(h.db.Compact(context.Background(), []byte("a"), []byte("z"), false)) },
			"snapshot": func(*rapid.T) { h.snapshots = append(h.snapshots, h.db.NewSnapshot()) },
			"scan":     h.scan,
		})
	})
}

// history is a database in memory and the snapshots that keep old values in it.
type history struct {
	t         *rapid.T
	db        *pebble.DB
	fs        vfs.FS
	written   int
	snapshots []*pebble.Snapshot
}

func newHistory(t *rapid.T) *history {
	h := &history{t: t, fs: vfs.NewMem()}
	o := &pebble.Options{FS: h.fs, FormatMajorVersion: pebble.FormatTableFormatV6, Logger: silent{}}
	for i := range o.Levels {
		o.Levels[i].BlockSize = 64 // many blocks
	}
	for i := range o.TargetFileSizes {
		o.TargetFileSizes[i] = 256 // and tables
	}
	var err error
	h.db, err = pebble.Open("db", o)
	h.must(err)
	return h
}

func (h *history) close() {
	for _, s := range h.snapshots {
		h.must(s.Close())
	}
	h.must(h.db.Close())
}

func (h *history) must(err error) {
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *history) key(t *rapid.T) []byte {
	return fmt.Appendf(nil, "k%02d", rapid.IntRange(0, 30).Draw(t, "key"))
}

// value returns another value each time.
func (h *history) value() []byte {
	h.written++
	return fmt.Appendf(nil, "<%d>", h.written)
}

func (h *history) scan(t *rapid.T) {
	h.must(h.db.Flush())
	tables, err := Open(h.db, h.fs, "db", pebble.DefaultMerger)
	h.must(err)
	c := tables.NewCursor()
	for range 3 { // with the buffers of the one before
		lower, upper := h.key(t), append(h.key(t), '!')
		h.must(tables.Check(lower, upper))
		got, want := h.directRows(c, lower, upper), h.pebbleRows(lower, upper)
		if !maps.Equal(got, want) {
			t.Fatalf("from %s to %s: got %v, want %v", lower, upper, got, want)
		}
	}
	h.must(c.Close())
	h.must(tables.Close())
}

// directRows puts operands of a merge together as Pebble's default merger does, and checks the order of keys.
func (h *history) directRows(c *Cursor, lower, upper []byte) map[string]string {
	rows, last := make(map[string]string), ""
	h.must(c.Scan(lower, upper, func(key, value []byte) error {
		if string(key) < last {
			return fmt.Errorf("%s comes after %s", key, last)
		}
		last = string(key)
		rows[last] = string(value) + rows[last]
		return nil
	}))
	return rows
}

func (h *history) pebbleRows(lower, upper []byte) map[string]string {
	rows := make(map[string]string)
	it, err := h.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	h.must(err)
	for valid := it.First(); valid; valid = it.Next() {
		rows[string(it.Key())] = string(it.Value())
	}
	h.must(it.Close())
	return rows
}

type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}
func (silent) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...))
}

// filled returns a database with rows "a0" to "a999" in a table.
func filled(t *testing.T) (*pebble.DB, vfs.FS) {
	t.Helper()
	fs := vfs.NewMem()
	db, err := pebble.Open("db", &pebble.Options{FS: fs, FormatMajorVersion: pebble.FormatTableFormatV6, Logger: silent{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	overwrite(t, db, "old")
	return db, fs
}

func overwrite(t *testing.T, db *pebble.DB, value string) {
	t.Helper()
	for i := range 1000 {
		if err := db.Set(fmt.Appendf(nil, "a%d", i), []byte(value), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(db.Flush(), db.Compact(context.Background(), []byte("a"), []byte("b"), false)); err != nil {
		t.Fatal(err)
	}
}

func TestTablesAreReadThatTheDatabaseHasReplacedMeanwhile(t *testing.T) {
	db, fs := filled(t)
	tables, err := Open(db, fs, "db", pebble.DefaultMerger)
	if err != nil {
		t.Fatal(err)
	}
	overwrite(t, db, "new")
	if db.Metrics().Table.ZombieCount == 0 {
		t.Error("the database keeps none of the replaced files")
	}
	c, rows := tables.NewCursor(), 0
	err = c.Scan([]byte("a"), []byte("b"), func(key, value []byte) error {
		if rows++; string(value) != "old" {
			return fmt.Errorf("%s is %s", key, value)
		}
		return nil
	})
	if err = errors.Join(err, c.Close(), tables.Close()); err != nil || rows != 1000 {
		t.Errorf("got %d rows of 1000 and the error %v", rows, err)
	}
}

func TestARangeThatHasRowsDeletedByRangeIsRefused(t *testing.T) {
	db, fs := filled(t)
	if err := errors.Join(db.DeleteRange([]byte("a3"), []byte("a4"), nil), db.Flush()); err != nil {
		t.Fatal(err)
	}
	tables, err := Open(db, fs, "db", pebble.DefaultMerger)
	if err != nil {
		t.Fatal(err)
	}
	if err := tables.Check([]byte("a39"), []byte("a5")); !errors.Is(err, ErrUnusable) {
		t.Errorf("got %v, want ErrUnusable", err)
	}
	if err := tables.Check([]byte("a4"), []byte("a5")); err != nil {
		t.Errorf("beside it: got %v", err)
	}
	if err := tables.Close(); err != nil {
		t.Error(err)
	}
}

func TestAScanStopsAtTheFirstErrorAndTheCursorCanBeUsedAgain(t *testing.T) {
	db, fs := filled(t)
	tables, err := Open(db, fs, "db", pebble.DefaultMerger)
	if err != nil {
		t.Fatal(err)
	}
	c, stop := tables.NewCursor(), errors.New("stop")
	if err := c.Scan([]byte("a"), []byte("b"), func([]byte, []byte) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got %v, want the error of the callback", err)
	}
	var keys []string
	err = c.Scan([]byte("a10"), []byte("a103"), func(key, _ []byte) error {
		keys = append(keys, string(key))
		return nil
	})
	if want := []string{"a10", "a100", "a101", "a102"}; err != nil || !slices.Equal(keys, want) {
		t.Errorf("got %v and %v, want %v", keys, err, want)
	}
	if err := errors.Join(c.Close(), tables.Close()); err != nil {
		t.Error(err)
	}
}

// However many tables a scan meets, few are open at once: those with the same keys, and some that were read.
func TestAScanHasFewTablesOpen(t *testing.T) {
	const tables = 100
	fs := vfs.NewMem()
	db, err := pebble.Open("db", &pebble.Options{FS: fs, Logger: silent{}, DisableAutomaticCompactions: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for i := range tables {
		for j := range 3 {
			if err := db.Set(fmt.Appendf(nil, "a%02d%d", i, j), []byte("v"), nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	all, err := Open(db, fs, "db", pebble.DefaultMerger)
	if err != nil {
		t.Fatal(err)
	}
	if len(all.tables) != tables {
		t.Fatalf("there are %d tables, want %d", len(all.tables), tables)
	}
	c, rows, most := all.NewCursor(), 0, 0
	err = c.Scan([]byte("a"), []byte("b"), func(_, _ []byte) error {
		rows, most = rows+1, max(most, len(c.readers))
		return nil
	})
	if err = errors.Join(err, c.Close(), all.Close()); err != nil || rows != 3*tables || most > maxOpen+1 {
		t.Errorf("%d rows of %d, %d tables open at once, want at most %d; error %v", rows, 3*tables, most, maxOpen+1, err)
	}
}
