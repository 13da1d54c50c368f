package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"shunt/engine"
	"shunt/storage/audit"
	"shunt/storage/hits"
	"shunt/storage/links"
	"shunt/storage/row"
	"shunt/storage/row/rowtest"
)

// childEnv makes the test binary a process that runs one task on a store; see child.
const childEnv = "SHUNT_STORAGE_TEST_CHILD"

func TestMain(m *testing.M) {
	if task := os.Getenv(childEnv); task != "" {
		child(task)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// child runs a task: "hold DIR" holds a store open until standard input ends, "fatal" ends with a
// fatal error of Pebble.
func child(task string) {
	what, dir, _ := strings.Cut(task, " ")
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	switch what {
	case "fatal":
		pebbleLogger{log}.Fatalf("disk %s\nis %d", "full", 1)
	case "hold":
		s, err := Open(dir, Options{})
		if err != nil {
			panic(err)
		}
		s.db.TestOnlyWaitForCleaning() // so that the folder does not change
		fmt.Println("held")
		_, _ = io.Copy(io.Discard, os.Stdin)
		if err := s.Close(); err != nil {
			panic(err)
		}
	}
}

var quiet = slog.New(slog.DiscardHandler)

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

func closeStore(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
}

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

// openMem opens the store of a file system in memory.
func openMem(t testing.TB, mem vfs.FS) *Store { return open(t, "/data/store", Options{FS: mem}) }

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

// apply commits a mutation and waits for it.
func apply(t testing.TB, s *Store, m engine.Mutation) {
	t.Helper()
	if err := tryApply(s, m); err != nil {
		t.Fatalf("Apply(%q): %v", m.Hot.Code, err)
	}
}

func tryApply(s *Store, m engine.Mutation) error {
	done := make(chan error, 1)
	s.Apply(m, func(err error) { done <- err })
	return <-done
}

func flush(t testing.TB, s *Store, seq uint64, f *rowtest.Flush) {
	t.Helper()
	if err := s.Flush(f.Batch(engine.Positions{Epoch: 1, FlushSeq: seq, Rings: []uint64{seq}})); err != nil {
		t.Fatalf("Flush: %v", err)
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

// readLife reads a link's tally in a view of its own, and the view's flush number.
func readLife(t testing.TB, s *Store, id uint64) (engine.Tally, uint64, error) {
	t.Helper()
	v := openView(t, s)
	defer closeView(t, v)
	tally, err := v.ReadLife(id, row.AllParts)
	return tally, v.FlushSeq(), err
}

func openView(t testing.TB, s *Store) engine.View {
	t.Helper()
	v, err := s.View()
	if err != nil {
		t.Fatalf("View: %v", err)
	}
	return v
}

func closeView(t testing.TB, v engine.View) {
	t.Helper()
	if err := v.Close(); err != nil {
		t.Fatalf("closing the view: %v", err)
	}
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

// loadHits is LoadHits of a view of this moment.
func loadHits(s *Store, fn func(id, hits uint64)) error {
	v, err := s.View()
	if err != nil {
		return err
	}
	return errors.Join(v.LoadHits(context.Background(), fn), v.Close())
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

// rowOf returns the tally row of a model.
func rowOf(m *rowtest.Model) []byte { return row.AppendTally(nil, m.Tally()) }

// Names of rooms that tests use beside variables of the same name.
const (
	queueLimit   = links.QueueLimit
	receiptChunk = links.ReceiptChunk
	maxDaysByKey = links.MaxDaysByKey
	sweepIDs     = hits.SweepIDs
)

var readRecord = links.ReadRecord

// newBatch returns a batch of mutations that nobody has made.
func newBatch(b *pebble.Batch) *links.Batch { return links.NewBatch(b, audit.Entries{}) }

// long marks a test that takes seconds: make quick and make race do without it, make test does not.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes seconds, so -short leaves it out")
	}
}

// keyOf returns the key of a code in the default domain.
func keyOf(code string) engine.Key { return engine.Key{Domain: engine.DefaultDomain, Code: code} }

// viewOf returns a view of the same.
func viewOf(code []byte) engine.KeyView {
	return engine.KeyView{Domain: engine.DefaultDomain, Code: code}
}
