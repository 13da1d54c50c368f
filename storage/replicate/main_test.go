package replicate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine"
	"shunt/storage"
	"shunt/storage/accounts"
	"shunt/storage/audit"
	"shunt/storage/kv"
	"shunt/storage/links"
	"shunt/storage/row"
	"shunt/storage/row/rowtest"
)

// Store is a store with what it has of its cluster.
type Store struct {
	*storage.Store
	*Rows
}

// Names of the store that these tests use.
type (
	Options        = storage.Options
	CheckOptions   = storage.CheckOptions
	Inspection     = storage.Inspection
	RestoreOptions = storage.RestoreOptions
)

var ErrCorrupt = row.ErrCorrupt

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

// The helpers of the tests of package storage.

// allRows returns every row of a store or backup except the journal's positions.
func allRows(t testing.TB, v *Inspection) map[string]string {
	t.Helper()
	it, err := v.Reader().NewIter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	found := map[string]string{}
	for valid := it.First(); valid; valid = it.Next() {
		found[string(it.Key())] = string(it.Value())
	}
	delete(found, string(row.MetaKey(row.MetaPositions)))
	return found
}

// apply commits a mutation and waits for it.
func apply(t testing.TB, s *Store, m engine.Mutation) {
	t.Helper()
	if err := tryApply(s, m); err != nil {
		t.Fatalf("Apply(%q): %v", m.Hot.Code, err)
	}
}

// cloneStore returns a copy of a file system in memory.
func cloneStore(t testing.TB, mem *vfs.MemFS) *vfs.MemFS {
	t.Helper()
	to := vfs.NewMem()
	if _, err := vfs.Clone(mem, to, "/data/store", "/data/store"); err != nil {
		t.Fatal(err)
	}
	return to
}

func closeInspection(t testing.TB, v *Inspection) {
	t.Helper()
	if err := v.Close(); err != nil {
		t.Errorf("closing the inspection: %v", err)
	}
}

func closeStore(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
}

// cpuSeconds returns the CPU time that this process has used.
func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

func delRow(key []byte) func(*pebble.Batch) { return func(b *pebble.Batch) { kv.Remove(b, key) } }

// deletedAt returns the deletion of a link in an hour.
func deletedAt(r engine.Record, hour int64) engine.Mutation {
	m := rowtest.Deletion(r)
	m.Hot.DeletedAtMs = hour*msPerHour + 5
	return m
}

func flush(t testing.TB, s *Store, seq uint64, f *rowtest.Flush) {
	t.Helper()
	if err := s.Flush(f.Batch(engine.Positions{Epoch: 1, FlushSeq: seq, Rings: []uint64{seq}})); err != nil {
		t.Fatalf("Flush: %v", err)
	}
}

// hitsOf returns the sums of the hits that LoadHits yields.
func hitsOf(t testing.TB, s *Store) map[uint64]uint64 {
	t.Helper()
	type pair struct{ id, hits uint64 }
	pairs := make(chan pair, 1024)
	summed := make(chan map[uint64]uint64)
	go func() {
		sums := map[uint64]uint64{}
		for p := range pairs {
			sums[p.id] += p.hits
		}
		summed <- sums
	}()
	err := loadHits(s, func(id, hits uint64) { pairs <- pair{id, hits} })
	close(pairs)
	sums := <-summed
	if err != nil {
		t.Fatalf("LoadHits: %v", err)
	}
	return sums
}

func inspect(t testing.TB, dir string, fs vfs.FS) *Inspection {
	t.Helper()
	v, err := Inspect(dir, Options{Logger: quiet, FS: fs})
	if err != nil {
		t.Fatalf("Inspect: %v", err)
	}
	return v
}

// loseAll loses everything that was not synced. loseNothing loses nothing, like a kill. loseSome
// loses each block and each name with a probability of one half, even where a file system would
// preserve their order.
func loseAll() vfs.CrashCloneCfg { return vfs.CrashCloneCfg{} }

func loseNothing() vfs.CrashCloneCfg {
	return vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(0, 0))}
}

const msPerHour = 3600 * 1000

// newBatch returns a batch of mutations that nobody has made.
func newBatch(b *pebble.Batch) *links.Batch { return links.NewBatch(b, audit.Entries{}) }

func newBenchFlush(rows int) *benchFlush {
	f := &benchFlush{ids: make([]uint64, rows), rng: rand.New(rand.NewPCG(1, 2))}
	f.tally = engine.Tally{Hits: 1, Visitors: engine.ExactSketch(f.hash[:])}
	return f
}

// number returns a number from the environment, or otherwise if it is not set.
func number(t testing.TB, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// open opens a store for a test, which closes it.
func open(t testing.TB, dir string, o Options) *Store {
	t.Helper()
	o.Create = true
	if o.Logger == nil {
		o.Logger = quiet
	}
	s, err := Open(dir, o)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return s
}

// openMem opens the store of a file system in memory.
func openMem(t testing.TB, mem vfs.FS) *Store { return open(t, "/data/store", Options{FS: mem}) }

// openTemp opens a new store in a folder of its own, running, until the test ends.
func openTemp(t testing.TB) *Store {
	s := open(t, filepath.Join(t.TempDir(), "store"), Options{})
	stop := start(t, s)
	t.Cleanup(func() {
		stop()
		closeStore(t, s)
	})
	return s
}

// plant writes rows that a store would not write.
func plant(t testing.TB, fs vfs.FS, write func(*pebble.Batch)) {
	t.Helper()
	s := openMem(t, fs)
	defer closeStore(t, s)
	b := s.db.NewBatch()
	write(b)
	if err := s.db.Apply(b, pebble.Sync); err != nil {
		t.Fatal(err)
	}
}

func purgeOf(d engine.Deletion, freesCode bool) engine.Mutation {
	return engine.Mutation{Purge: &engine.Purge{Deletion: d, FreesCode: freesCode}}
}

func put(key, value string) [2][]byte { return [2][]byte{[]byte(key), []byte(value)} }

func putRow(key, value []byte) func(*pebble.Batch) {
	return func(b *pebble.Batch) { kv.Set(b, key, value) }
}

var quiet = slog.New(slog.DiscardHandler)

// readLife reads a link's tally in a view of its own, and the view's flush number.
func readLife(t testing.TB, s *Store, id uint64) (engine.Tally, uint64, error) {
	t.Helper()
	v := openView(t, s)
	defer closeView(t, v)
	tally, err := v.ReadLife(id, row.AllParts)
	return tally, v.FlushSeq(), err
}

// requestKey returns the key of request i of a sender.
func requestKey(sender byte, i int) engine.RequestKey {
	return engine.RequestKey{Sender: [32]byte{sender}, Key: [32]byte{byte(i >> 8), byte(i)}}
}

// rollUpAll rolls up to the limits l and calls after, if it is not nil, after each chunk. It
// returns the number of chunks.
func rollUpAll(t testing.TB, s *Store, l engine.RollUpLimits, after func()) (chunks int) {
	t.Helper()
	for more := true; more; chunks++ {
		var err error
		if more, err = s.RollUp(l); err != nil {
			t.Fatalf("RollUp(%+v): %v", l, err)
		}
		if after != nil {
			after()
		}
	}
	return chunks - 1
}

// rowOf returns the tally row of a model.
func rowOf(m *rowtest.Model) []byte { return row.AppendTally(nil, m.Tally()) }

// rows returns the rows of a table, or of a part of it, as strings.
func rows(t testing.TB, s *Store, prefix ...byte) map[string]string {
	t.Helper()
	keys := row.PrefixRange(prefix)
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: keys.Lower, UpperBound: keys.Upper})
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	found := map[string]string{}
	for valid := it.First(); valid; valid = it.Next() {
		found[string(it.Key())] = string(it.Value())
	}
	if err := it.Error(); err != nil {
		t.Fatal(err)
	}
	return found
}

func scanAccounts(t *testing.T, table *accounts.Table, prefix string) (found []string) {
	t.Helper()
	err := table.Scan([]byte(prefix), func(key, value []byte) (bool, error) {
		found = append(found, string(key)+"="+string(value))
		return true, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// settle waits until no compaction runs and no memtable is being flushed.
func settle(s *Store) {
	for quiet := 0; quiet < 3; quiet++ {
		if p := s.db.Metrics(); p.Compact.NumInProgress > 0 || p.Flush.NumInProgress > 0 {
			quiet = 0
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// start runs s until stop is called.
func start(t testing.TB, s *Store) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}

func tell(faults []engine.Fault) string {
	var b strings.Builder
	for _, f := range faults {
		fmt.Fprintf(&b, "%s: %s\n", f.Where, f.What)
	}
	return b.String()
}

// upTo returns limits that roll up the hours before openHour and delete nothing.
func upTo(openHour uint32) engine.RollUpLimits { return engine.RollUpLimits{OpenHour: openHour} }

func wantNoFaults(t *testing.T, v *Inspection) {
	t.Helper()
	defer closeInspection(t, v)
	faults := new(engine.Faults)
	if _, err := v.Check(t.Context(), CheckOptions{Faults: faults}); err != nil {
		t.Fatal(err)
	}
	if first, total := faults.Found(); total > 0 {
		t.Errorf("got %d faults:\n%s", total, tell(first))
	}
}

func wantRowsOf(t testing.TB, s *Store, ids ...uint64) {
	t.Helper()
	if got := slices.Sorted(maps.Keys(rowsOfLinks(t, s))); !slices.Equal(got, ids) {
		t.Errorf("got rows of links %v, want %v", got, ids)
	}
}

// wantTally checks a link's tally against a model.
func wantTally(t testing.TB, s *Store, id uint64, want *rowtest.Model) {
	t.Helper()
	got, _, err := readLife(t, s, id)
	if err != nil {
		t.Fatalf("ReadLife(%d): %v", id, err)
	}
	if !bytes.Equal(row.AppendTally(nil, &got), rowOf(want)) {
		t.Fatalf("ReadLife(%d): got %d hits of %d visitors, want %d of %d", id, got.Hits, got.Visitors.Count(), want.Hits, len(want.Visitors))
	}
}

// writeAccounts writes rows of accounts and waits for the result.
func writeAccounts(table *accounts.Table, sets [][2][]byte, deletes [][]byte) error {
	done := make(chan error, 1)
	table.Write(sets, deletes, nil, func(err error) { done <- err })
	return <-done
}

// benchFlush is a flush of rows that each count one hit of one visitor, for distinct random ids
// below ids.
type benchFlush struct {
	ids     []uint64
	rng     *rand.Rand
	tally   engine.Tally
	hash    [1]uint64
	hour    uint32 // 0: a new one begins every 60 flushes
	divided bool   // the hit has a referrer out of 100, a country out of 30, a device and a browser
}

// divide draws the value of each dimension of a hit.
func (f *benchFlush) divide() {
	d := &f.tally.Dimensions
	for i := range d {
		if len(d[i]) == 0 {
			d[i] = make(engine.Breakdown, 1)
		}
		d[i][0] = engine.ValueHits{Value: string([]byte{byte(1 + f.rng.IntN(5))}), Hits: 1}
	}
	d[engine.Referrers][0].Value = benchReferrers[f.rng.IntN(100)]
	d[engine.Countries][0].Value = string([]byte{byte(1 + f.rng.IntN(30))})
}

func (f *benchFlush) draw(ids uint64) {
	for i := range f.ids {
		f.ids[i] = 1 + f.rng.Uint64N(ids)
	}
	slices.SortFunc(f.ids, cmp.Compare[uint64])
}

func (f *benchFlush) batch(seq uint64) engine.FlushBatch {
	hour := cmp.Or(f.hour, 1000+uint32(seq/60))
	return engine.FlushBatch{
		Positions: engine.Positions{Epoch: 1, FlushSeq: seq, Rings: make([]uint64, 8)},
		Links: func(yield func(uint32, uint64, *engine.Tally) error) error {
			for _, id := range f.ids {
				f.hash[0] = f.rng.Uint64()
				if f.divided {
					f.divide()
				}
				if err := yield(hour, id, &f.tally); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func closeView(t testing.TB, v engine.View) {
	t.Helper()
	if err := v.Close(); err != nil {
		t.Fatalf("closing the view: %v", err)
	}
}

// loadHits is LoadHits of a view of this moment.
func loadHits(s *Store, fn func(id, hits uint64)) error {
	v, err := s.View()
	if err != nil {
		return err
	}
	return errors.Join(v.LoadHits(context.Background(), fn), v.Close())
}

func openView(t testing.TB, s *Store) engine.View {
	t.Helper()
	v, err := s.View()
	if err != nil {
		t.Fatalf("View: %v", err)
	}
	return v
}

// rowsOfLinks returns the number of rows of each link id in all tables together, without rows of
// hours that were rolled up.
func rowsOfLinks(t testing.TB, s *Store) map[uint64]int {
	t.Helper()
	found := map[uint64]int{}
	for key, value := range rows(t, s, row.TableHot) {
		h, err := row.DecodeHot(keyOf(key[1:]).View(), []byte(value))
		if err != nil {
			t.Fatal(err)
		}
		found[h.ID]++
	}
	for key := range rows(t, s, row.TableByOwner) {
		found[^binary.BigEndian.Uint64([]byte(key[5:]))]++
	}
	for key := range rows(t, s, row.TableByTag) {
		found[^binary.BigEndian.Uint64([]byte(key[len(key)-8:]))]++
	}
	at := map[byte]int{row.TableCold: 1, row.TableByDeletion: 5, row.TableLinkHours: 5, row.TableLinkDays: 1, row.TableLinkLives: 1}
	for table, at := range at {
		for key := range rows(t, s, table) {
			if table == row.TableLinkHours && row.HourOf([]byte(key)) < s.Mark().Hour {
				continue
			}
			found[binary.BigEndian.Uint64([]byte(key[at:]))]++
		}
	}
	return found
}

func tryApply(s *Store, m engine.Mutation) error {
	done := make(chan error, 1)
	s.Apply(m, func(err error) { done <- err })
	return <-done
}

var benchReferrers = func() (names [100]string) {
	for i := range names {
		names[i] = fmt.Sprintf("www.site%d.example", i)
	}
	return names
}()

// keyOf returns the key of a code in the default domain.
func keyOf(code string) engine.Key { return engine.Key{Domain: engine.DefaultDomain, Code: code} }
