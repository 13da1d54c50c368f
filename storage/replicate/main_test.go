package replicate

import (
	"context"
	"log/slog"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage"
	"shunt/storage/audit"
	"shunt/storage/kv"
	"shunt/storage/links"
	"shunt/storage/row"
	"shunt/storage/row/rowtest"
	"shunt/storage/storetest"
	"shunt/storage/tables"
)

// Store is a store with what it has of its cluster.
type Store struct {
	*storage.Store
	*Rows
}

// PulledNext returns the position of the next record of another node's outbox.
func (s *Store) PulledNext(outbox [16]byte) (uint64, error) {
	through, _, err := s.PulledThrough(outbox)
	return through + 1, err
}

// Names of the store that these tests use.
type (
	Options        = storage.Options
	CheckOptions   = storage.CheckOptions
	Inspection     = storage.Inspection
	RestoreOptions = storage.RestoreOptions
)

// Inspect inspects a store that may be of a cluster.
func Inspect(dir string, o Options) (*Inspection, error) {
	o.Replicate = New
	return storage.Inspect(dir, o)
}

// Open opens a store that may be of a cluster.
func Open(dir string, o Options) (*Store, error) {
	o.Replicate = New
	s, err := storage.Open(dir, o)
	if err != nil {
		return nil, err
	}
	return &Store{s, Of(s)}, nil
}

const storeDir, otherDir = "/data/store", "/other/store"

// Restore restores a store that may be of a cluster.
func Restore(ctx context.Context, from, dir string, o RestoreOptions) (storage.RestoreResult, error) {
	o.Replicate = New
	return storage.Restore(ctx, from, dir, o)
}

// What the tests of package storage do with a store, too.
var (
	closeStore, start, apply, flush, tell   = storetest.Close, storetest.Start, storetest.Apply, storetest.Flush, storetest.Tell
	readLife, wantTally, hitsOf, rowOf      = storetest.ReadLife, storetest.WantTally, storetest.HitsOf, storetest.RowOf
	rollUpAll, number, keyOf                = storetest.RollUpAll, storetest.Number, rowtest.Key
	cloneStore, loseAll, loseNothing, quiet = storetest.CloneStore, storetest.LoseAll, storetest.LoseNothing, slog.New(slog.DiscardHandler)
)

// rows returns the rows of a table, or of a part of it, as strings.
func rows(t testing.TB, s *Store, prefix ...byte) map[string]string {
	return storetest.Rows(t, s.db, prefix...)
}

// allRows returns every row of a store or backup except the journal's positions.
func allRows(t testing.TB, v *Inspection) map[string]string {
	t.Helper()
	found := storetest.Rows(t, v.Reader())
	delete(found, string(row.MetaKey(row.MetaPositions)))
	return found
}

func closeInspection(t testing.TB, v *Inspection) {
	t.Helper()
	expect.Error(t, v.Close(), nil, "closing the inspection")
}

func delRow(key []byte) func(*pebble.Batch) { return func(b *pebble.Batch) { kv.Remove(b, key) } }

func inspect(t testing.TB, dir string, fs vfs.FS) *Inspection {
	t.Helper()
	v, err := Inspect(dir, Options{Logger: quiet, FS: fs})
	expect.OK(t, err)
	return v
}

// newBatch returns a batch of mutations that nobody has made.
func newBatch(b *pebble.Batch) *links.Batch { return links.NewBatch(b, audit.Entries{}) }

// open opens a store for a test, which closes it.
func open(t testing.TB, dir string, o Options) *Store {
	t.Helper()
	o.Create = true
	if o.Logger == nil {
		o.Logger = quiet
	}
	s, err := Open(dir, o)
	expect.OK(t, err)
	return s
}

// openMem opens the store of a file system in memory.
func openMem(t testing.TB, mem vfs.FS) *Store { return open(t, "/data/store", Options{FS: mem}) }

// plant writes rows that a store would not write.
func plant(t testing.TB, fs vfs.FS, write func(*pebble.Batch)) {
	t.Helper()
	s := openMem(t, fs)
	defer closeStore(t, s)
	b := s.db.NewBatch()
	write(b)
	expect.OK(t, s.db.Apply(b, pebble.Sync))
}

func put(key, value string) [2][]byte { return [2][]byte{[]byte(key), []byte(value)} }

func putRow(key, value []byte) func(*pebble.Batch) {
	return func(b *pebble.Batch) { kv.Set(b, key, value) }
}

func scanAccounts(t *testing.T, table *tables.Table, prefix string) (found []string) {
	t.Helper()
	err := table.Scan([]byte(prefix), func(key, value []byte) (bool, error) {
		found = append(found, string(key)+"="+string(value))
		return true, nil
	})
	expect.OK(t, err)
	return found
}

// upTo returns limits that roll up the hours before openHour and delete nothing.
func upTo(openHour uint32) engine.RollUpLimits { return engine.RollUpLimits{OpenHour: openHour} }

func wantNoFaults(t *testing.T, v *Inspection) {
	t.Helper()
	defer closeInspection(t, v)
	faults := new(engine.Faults)
	_, err := v.Check(t.Context(), CheckOptions{Faults: faults})
	expect.OK(t, err)
	if first, total := faults.Found(); total > 0 {
		t.Errorf("got %d faults:\n%s", total, tell(first))
	}
}

// writeAccounts writes rows of accounts and waits for the result.
func writeAccounts(table *tables.Table, sets [][2][]byte, deletes [][]byte) error {
	done := make(chan error, 1)
	table.Write(sets, deletes, nil, func(err error) { done <- err })
	return <-done
}
