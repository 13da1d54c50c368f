package replicate

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"shunt/engine"
	"shunt/storage/clusterlog"
	"shunt/storage/row"
	"shunt/storage/row/rowtest"
)

// capped returns the creation of a link with a cap that began with it.
func capped(id uint64, c engine.Cap) engine.Mutation {
	m := madeLink(id, 10)
	c.Code = m.Hot.Code
	m.Cap = &engine.CapChange{ID: id, Cap: c}
	return m
}

// flushHits flushes hits of links.
func flushHits(t *testing.T, s *Store, seq uint64, hits map[uint64]uint64) {
	t.Helper()
	f := rowtest.NewFlush()
	for id, n := range hits {
		f.Add(100, id, 1, &rowtest.Model{Hits: n})
		f.Add(101, id, 1, &rowtest.Model{Hits: 1})
	}
	flush(t, s, seq, f)
}

// wantUses compares what the store has used of caps.
func wantUses(t *testing.T, s *Store, want map[uint64]engine.CapUse) {
	t.Helper()
	loaded := make(map[uint64]engine.CapUse)
	if err := s.Rows.LoadCaps(context.Background(), func(id uint64, _ engine.Cap, use engine.CapUse) { loaded[id] = use }); err != nil {
		t.Fatal(err)
	}
	for id, use := range want {
		if loaded[id] != use {
			t.Errorf("of link %d the store has used %+v, want %+v", id, loaded[id], use)
		}
	}
	if len(loaded) != len(want) {
		t.Errorf("caps of %d links, want %d: %v", len(loaded), len(want), loaded)
	}
}

// TestAFlushCountsWhatItHasOfCaps flushes hits of links with and without caps, ends generations, fails a
// flush, restarts, copies the store, and leaves the cluster.
func TestAFlushCountsWhatItHasOfCaps(t *testing.T) {
	disk := vfs.NewMem()
	s := openMember(t, disk)
	stop := start(t, s)
	s.Lead(&chainLog{head: clusterlog.Origin(clusterlog.ID{1}), failAt: -1})
	all := []engine.Mutation{
		capped(1, engine.Cap{Generation: 1, Born: true, Open: true, Limit: 100}),
		capped(2, engine.Cap{Generation: 2, Limit: 100}), // hits before it are in none
		madeLink(3, 10),
	}
	if err := writeBulk(t, s, all); err != nil {
		t.Fatal(err)
	}
	flushHits(t, s, 1, map[uint64]uint64{1: 10, 2: 20, 3: 30})
	wantUses(t, s, map[uint64]engine.CapUse{1: {Generation: 1, Hits: 11}, 2: {}})
	before := s.outbox.next.Load()
	if position, err := s.Rows.EndGenerations(map[uint64]uint64{1: 1, 2: 2}); err != nil || position != before {
		t.Errorf("the generation before ends at %d, %v, want %d", position, err, before)
	}
	flushHits(t, s, 2, map[uint64]uint64{1: 1, 2: 2})
	want := map[uint64]engine.CapUse{1: {Generation: 1, Hits: 13}, 2: {Generation: 2, Hits: 3}}
	wantUses(t, s, want)

	broken := errors.New("broken")
	failed := s.Flush(engine.FlushBatch{Positions: engine.Positions{Epoch: 1, FlushSeq: 3}, Links: func(yield func(uint32, uint64, *engine.Tally) error) error {
		return errors.Join(yield(102, 1, &engine.Tally{Hits: 50}), broken)
	}})
	if !errors.Is(failed, broken) {
		t.Fatalf("a flush that fails: %v", failed)
	}
	wantUses(t, s, want)
	stop()
	closeStore(t, s)

	s = openMem(t, disk)
	wantUses(t, s, want)
	if err := s.RenewOutbox(); err != nil { // as a copy of another node does: it has used nothing
		t.Fatal(err)
	}
	wantUses(t, s, map[uint64]engine.CapUse{1: {Generation: 1}, 2: {}})
	if err := s.LeaveLog(); err != nil {
		t.Fatal(err)
	}
	wantUses(t, s, nil)
	if n := len(rows(t, s, row.TableCaps)) + len(rows(t, s, row.TableCapUses)); n > 0 {
		t.Errorf("%d rows are left", n)
	}
	closeStore(t, s)
}

// TestAPurgeTakesTheCap purges a link, at the node that leads and at one that learns it.
func TestAPurgeTakesTheCap(t *testing.T) {
	log := &chainLog{head: clusterlog.Origin(clusterlog.ID{1}), failAt: -1}
	s, other := openMember(t, vfs.NewMem()), openMember(t, vfs.NewMem())
	stop := start(t, s)
	s.Lead(log)
	if err := writeBulk(t, s, []engine.Mutation{capped(1, engine.Cap{Generation: 1, Born: true, Open: true, Limit: 100})}); err != nil {
		t.Fatal(err)
	}
	learnEach(t, other, log, len(log.entries), &told{})
	for _, x := range []*Store{s, other} {
		flushHits(t, x, 1, map[uint64]uint64{1: 5})
		wantUses(t, x, map[uint64]engine.CapUse{1: {Generation: 1, Hits: 6}})
	}
	done := make(chan error, 1)
	s.Apply(engine.Mutation{Purge: &engine.Purge{Deletion: engine.Deletion{ID: 1, Code: "code-1"}, FreesCode: true}}, func(err error) { done <- err })
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	learnEach(t, other, log, len(log.entries), &told{})
	for _, x := range []*Store{s, other} {
		wantUses(t, x, nil)
		flushHits(t, x, 2, map[uint64]uint64{1: 5}) // a redirect that was under way
		if n := len(rows(t, x, row.TableCaps)) + len(rows(t, x, row.TableCapUses)); n > 0 {
			t.Errorf("%d rows are left", n)
		}
	}
	stop()
	closeStore(t, s)
	closeStore(t, other)
}

// TestAFlushAndWhatItUsedOfCapsAreOne crashes at each file operation of a flush.
func TestAFlushAndWhatItUsedOfCapsAreOne(t *testing.T) {
	seen := make(map[uint64]int)
	for writes := 1; ; writes++ {
		mem := vfs.NewCrashableMem()
		left := -1
		var clone *vfs.MemFS
		disk := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if left > 0 && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
				if left--; left == 0 {
					clone = mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
				}
			}
			return nil
		}))
		s := openMember(t, disk)
		stop := start(t, s)
		s.Lead(&chainLog{head: clusterlog.Origin(clusterlog.ID{1}), failAt: -1})
		if err := writeBulk(t, s, []engine.Mutation{capped(1, engine.Cap{Generation: 1, Born: true, Open: true, Limit: 100})}); err != nil {
			t.Fatal(err)
		}
		left = writes
		flushHits(t, s, 1, map[uint64]uint64{1: 5})
		left = -1
		stop()
		closeStore(t, s)
		if clone == nil {
			if seen[0] == 0 || seen[6] == 0 || len(seen) != 2 {
				t.Errorf("hits after a crash: %v, want none or all", seen)
			}
			return
		}
		s = openMem(t, clone)
		tally, _, err := readLife(t, s, 1)
		if err != nil {
			t.Fatal(err)
		}
		seen[tally.Hits]++
		wantUses(t, s, map[uint64]engine.CapUse{1: {Generation: 1, Hits: tally.Hits}})
		closeStore(t, s)
	}
}
