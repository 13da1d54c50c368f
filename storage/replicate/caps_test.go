package replicate

import (
	"context"
	"maps"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage/row"
)

// capped returns the creation of a link with a cap.
func capped(id uint64, c engine.Cap) engine.Mutation {
	m := madeLink(id, 10)
	m.Cap = &engine.CapChange{ID: id, Cap: c}
	return m
}

// wantCaps compares the caps that the store has.
func wantCaps(t *testing.T, s *Store, want map[uint64]engine.Cap) {
	t.Helper()
	got := make(map[uint64]engine.Cap)
	expect.OK(t, s.Rows.LoadCaps(context.Background(), func(id uint64, c engine.Cap) { got[id] = c }))
	expect.That(t, maps.Equal(got, want), "the store has caps %+v, want %+v", got, want)
	expect.Equal(t, len(rows(t, s, row.TableCaps)), len(want), "the store rows of caps")
}

// TestCapsAreSharedRows makes, changes and purges caps at the node that leads and at one that learns it, restarts, and
// leaves the cluster.
func TestCapsAreSharedRows(t *testing.T) {
	log := newLog()
	disk := vfs.NewMem()
	s, other := openMember(t, disk), openMember(t, vfs.NewMem())
	stop := start(t, s)
	s.Lead(log)
	apply := func(m engine.Mutation) {
		t.Helper()
		done := make(chan error, 1)
		s.Apply(m, func(err error) { done <- err })
		expect.OK(t, <-done)
	}
	apply(capped(1, engine.Cap{Generation: 1, Open: true}))
	apply(capped(2, engine.Cap{Generation: 1, Used: 7, Open: true}))
	apply(engine.Mutation{Cap: &engine.CapChange{ID: 1, Cap: engine.Cap{Generation: 1, Used: 3, Open: true}}})
	apply(engine.Mutation{Cap: &engine.CapChange{ID: 2, Cap: engine.Cap{Generation: 4}}})
	learned := &told{}
	learnEach(t, other, log, len(log.entries), learned)
	want := map[uint64]engine.Cap{1: {Generation: 1, Used: 3, Open: true}, 2: {Generation: 4}}
	for _, x := range []*Store{s, other} {
		wantCaps(t, x, want)
	}

	apply(engine.Mutation{Purge: &engine.Purge{Deletion: engine.Deletion{ID: 1, Key: keyOf("code-1")}, FreesCode: true}})
	learnEach(t, other, log, len(log.entries), learned)
	delete(want, 1)
	for _, x := range []*Store{s, other} {
		wantCaps(t, x, want)
	}
	stop()
	closeStore(t, s)
	closeStore(t, other)

	s = openMem(t, disk)
	wantCaps(t, s, want)
	expect.OK(t, s.LeaveLog())
	wantCaps(t, s, nil)
	closeStore(t, s)
}
