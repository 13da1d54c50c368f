//go:build !race

package engine_test

import (
	"context"
	"path/filepath"
	"testing"

	"shunt/engine"
	"shunt/engine/expect"
)

// instant is a store that says at once that it has a mutation.
type instant struct{ engine.Store }

func (instant) Apply(_ engine.Mutation, done func(error)) { done(nil) }

// TestACreateWithoutReuseNeedsNoMemoryForIt counts the allocations of creates alone, without those of a store. That a
// draft could be kept for later cost one more.
func TestACreateWithoutReuseNeedsNoMemoryForIt(t *testing.T) {
	k := newTakings(t)
	o := engine.Options{JournalDir: filepath.Join(inMemory(t), "journal"), Rings: 1, RingRecords: 256}
	e, err := engine.Open(instant{k.store}, o)
	expect.OK(t, err)
	expect.OK(t, e.Load(context.Background(), nil))
	stop := start(e.RefillIDs)
	defer func() { stop(); expect.NoError(t, e.Close()) }()
	d := engine.Draft{Owner: 1, Target: reusedTarget}
	got := testing.AllocsPerRun(2000, func() {
		if _, _, err := e.Create(context.Background(), d); err != nil {
			t.Error(err)
		}
	})
	expect.That(t, got <= 4, "%v allocations, want at most 4", got)
}
