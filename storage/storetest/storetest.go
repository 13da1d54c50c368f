package storetest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage/row"
	"shunt/storage/row/rowtest"
)

// Store is what tests call of a store.
type Store interface {
	Apply(m engine.Mutation, done func(error))
	Flush(engine.FlushBatch) error
	RollUp(engine.RollUpLimits) (more bool, err error)
	View() (engine.View, error)
	Run(context.Context) error
	Close() error
}

// Close closes a store.
func Close(t testing.TB, s Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
}

// Start runs s until stop is called.
func Start(t testing.TB, s Store) (stop func()) {
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

// Apply commits a mutation and waits for it.
func Apply(t testing.TB, s Store, m engine.Mutation) {
	t.Helper()
	if err := TryApply(s, m); err != nil {
		t.Fatalf("Apply(%q): %v", m.Hot.Code, err)
	}
}

// TryApply commits a mutation and returns what came of it.
func TryApply(s Store, m engine.Mutation) error {
	done := make(chan error, 1)
	s.Apply(m, func(err error) { done <- err })
	return <-done
}

// Flush commits a flush.
func Flush(t testing.TB, s Store, seq uint64, f *rowtest.Flush) {
	t.Helper()
	if err := s.Flush(f.Batch(engine.Positions{Epoch: 1, FlushSeq: seq, Rings: []uint64{seq}})); err != nil {
		t.Fatalf("Flush: %v", err)
	}
}

// ReadFlush reads a flush of hits, each in a line: hour=23 link=1 owner=7 visitor=1, and bots=2 if bots came as well.
func ReadFlush(t testing.TB, text string) *rowtest.Flush {
	t.Helper()
	f := rowtest.NewFlush()
	for line := range strings.Lines(text) {
		given := map[string]uint64{}
		for _, word := range strings.Fields(line) {
			name, value, _ := strings.Cut(word, "=")
			n, err := strconv.ParseUint(value, 10, 32)
			expect.OK(t, err)
			given[name] = n
		}
		hit := rowtest.Hit(given["visitor"])
		hit.Bots = given["bots"]
		f.Add(uint32(given["hour"]), given["link"], uint32(given["owner"]), hit)
	}
	return f
}

// TellTally says what a tally row has.
func TellTally(t testing.TB, value []byte) string {
	t.Helper()
	raw, err := row.ParseTally(value)
	expect.OK(t, err)
	text := fmt.Sprintf("hits %d, visitors %d", raw.Hits, raw.LeastVisitors())
	if raw.Bots > 0 {
		text += fmt.Sprintf(", bots %d", raw.Bots)
	}
	return text
}

// OpenView opens a view.
func OpenView(t testing.TB, s Store) engine.View {
	t.Helper()
	v, err := s.View()
	if err != nil {
		t.Fatalf("View: %v", err)
	}
	return v
}

// CloseView closes a view.
func CloseView(t testing.TB, v engine.View) {
	t.Helper()
	if err := v.Close(); err != nil {
		t.Fatalf("closing the view: %v", err)
	}
}

// ReadLife reads a link's tally in a view of its own, and the view's flush number.
func ReadLife(t testing.TB, s Store, id uint64) (engine.Tally, uint64, error) {
	t.Helper()
	v := OpenView(t, s)
	defer CloseView(t, v)
	tally, err := v.ReadLife(id, row.AllParts)
	return tally, v.FlushSeq(), err
}

// WantTally checks a link's tally against a model.
func WantTally(t testing.TB, s Store, id uint64, want *rowtest.Model) {
	t.Helper()
	got, _, err := ReadLife(t, s, id)
	if err != nil {
		t.Fatalf("ReadLife(%d): %v", id, err)
	}
	if !bytes.Equal(row.AppendTally(nil, &got), RowOf(want)) {
		t.Fatalf("ReadLife(%d): got %d hits of %d visitors, want %d of %d", id, got.Hits, got.Visitors.Count(), want.Hits, len(want.Visitors))
	}
}

// RowOf returns the tally row of a model.
func RowOf(m *rowtest.Model) []byte { return row.AppendTally(nil, m.Tally()) }

// LoadHits is LoadHits of a view of this moment.
func LoadHits(s Store, fn func(id, hits uint64)) error {
	v, err := s.View()
	if err != nil {
		return err
	}
	return errors.Join(v.LoadHits(context.Background(), fn), v.Close())
}

// HitsOf returns the sums of the hits that LoadHits yields.
func HitsOf(t testing.TB, s Store) map[uint64]uint64 {
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
	err := LoadHits(s, func(id, hits uint64) { pairs <- pair{id, hits} })
	close(pairs)
	sums := <-summed
	if err != nil {
		t.Fatalf("LoadHits: %v", err)
	}
	return sums
}

// RollUpAll rolls up to the limits l and calls after, if it is not nil, after each chunk. It
// returns the number of chunks.
func RollUpAll(t testing.TB, s Store, l engine.RollUpLimits, after func()) (chunks int) {
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

// Rows returns the rows of a table, or of a part of it, as strings.
func Rows(t testing.TB, from pebble.Reader, prefix ...byte) map[string]string {
	t.Helper()
	o := pebble.IterOptions{}
	if len(prefix) > 0 {
		keys := row.PrefixRange(prefix)
		o.LowerBound, o.UpperBound = keys.Lower, keys.Upper
	}
	it, err := from.NewIter(&o)
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

// RowsOfLinks returns the number of rows of each link id in all tables together, without rows of
// hours that were rolled up.
func RowsOfLinks(t testing.TB, from pebble.Reader, mark uint32) map[uint64]int {
	t.Helper()
	found := map[uint64]int{}
	for key, value := range Rows(t, from, row.TableHot) {
		k, err := row.SplitHotKey([]byte(key))
		if err != nil {
			t.Fatal(err)
		}
		h, err := row.DecodeHot(k, []byte(value))
		if err != nil {
			t.Fatal(err)
		}
		found[h.ID]++
	}
	for key := range Rows(t, from, row.TableByOwner) {
		found[^binary.BigEndian.Uint64([]byte(key[5:]))]++
	}
	for key := range Rows(t, from, row.TableByFolder) {
		found[^binary.BigEndian.Uint64([]byte(key[len(key)-8:]))]++
	}
	for key := range Rows(t, from, row.TableByTag) {
		found[^binary.BigEndian.Uint64([]byte(key[len(key)-8:]))]++
	}
	at := map[byte]int{row.TableCold: 1, row.TableByDeletion: 5, row.TableLeaving: 5, row.TableLinkHours: 5, row.TableLinkDays: 1, row.TableLinkLives: 1}
	for table, at := range at {
		for key := range Rows(t, from, table) {
			if table == row.TableLinkHours && row.HourOf([]byte(key)) < mark {
				continue
			}
			link, _ := engine.SplitID(binary.BigEndian.Uint64([]byte(key[at:])))
			found[link]++
		}
	}
	for _, table := range []byte{row.TableReuse, row.TableTrash} {
		for key := range Rows(t, from, table) {
			found[^binary.BigEndian.Uint64([]byte(key[len(key)-8:]))]++
		}
	}
	for key := range Rows(t, from, row.TableSummaries) {
		found[^binary.BigEndian.Uint64([]byte(key[1:]))]++
	}
	return found
}

// Number returns a number from the environment, or otherwise if it is not set.
func Number(t testing.TB, name string, otherwise uint64) uint64 {
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

// Tell returns faults as lines.
func Tell(faults []engine.Fault) string {
	var b strings.Builder
	for _, f := range faults {
		fmt.Fprintf(&b, "%s: %s\n", f.Where, f.What)
	}
	return b.String()
}

// drawn are the parts of a fault that differ from link to link.
var drawn = regexp.MustCompile(`"[^"]*"|[0-9a-f]{10,}|\d+`)

// inOrder says what was found, in order: several readers find it. Of more faults than a check names, it is chance which
// ones these are, so it says only of which kinds they are.
func inOrder(faults []engine.Fault) string {
	lines := slices.Collect(strings.Lines(Tell(faults)))
	if len(faults) >= engine.MaxFaults {
		for i, line := range lines {
			lines[i] = drawn.ReplaceAllLiteralString(line, "…")
		}
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "")
}

// FindsFaults plants each of some faults by itself, and compares what a check finds then with a file. A case there is
// the command plant, the name of a fault, and what was found. check returns what it found in a store with a fault.
func FindsFaults(
	t *testing.T, path string, plants map[string]func(*pebble.Batch), check func(t testing.TB, plant func(*pebble.Batch)) []engine.Fault,
) {
	cases := 0
	datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
		plant := plants[d.Input]
		if d.Cmd != "plant" || plant == nil {
			d.Fatalf(t, "there is no fault %q", d.Input)
		}
		cases++
		faults := check(t, plant)
		expect.That(t, len(faults) > 0, "%s: the check found nothing", d.Input)
		return inOrder(faults)
	})
	expect.Equal(t, cases, len(plants), "cases in %s", path)
}

// CloneStore returns a copy of a file system in memory.
func CloneStore(t testing.TB, mem *vfs.MemFS) *vfs.MemFS {
	t.Helper()
	to := vfs.NewMem()
	if _, err := vfs.Clone(mem, to, "/data/store", "/data/store"); err != nil {
		t.Fatal(err)
	}
	return to
}

// LoseAll loses everything that was not synced.
func LoseAll() vfs.CrashCloneCfg { return vfs.CrashCloneCfg{} }

// LoseNothing loses nothing, like a kill.
func LoseNothing() vfs.CrashCloneCfg {
	return vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(0, 0))}
}

// DeletedAt returns the deletion of a link in an hour.
func DeletedAt(r engine.Record, hour int64) engine.Mutation {
	m := rowtest.Deletion(r)
	m.Hot.DeletedAtMs = hour*3_600_000 + 5
	return m
}
