package engine_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/engine/index"
)

func hitTimes(e *testEngine, l index.Link, n int) {
	for i := range n {
		e.Hit(l, engine.Visit{Visitor: uint64(i), NowMs: time.Now().UnixMilli(), Kind: engine.Kind(engine.ClassHit)})
	}
}

// inStore returns the number of hits of a link that the store itself has.
func (e *testEngine) inStore(t *testing.T, id uint64) uint64 {
	t.Helper()
	tally, _, err := e.gate.readLife(id)
	expect.OK(t, err)
	return tally.Hits
}

func TestFlushRecordedStoresEveryAnsweredHit(t *testing.T) {
	e := newTestEngine(t, engine.Options{FlushInterval: time.Hour})
	l := e.create(t, "asked")
	defer l.Release()
	want := uint64(0)
	for range 20 {
		hitTimes(e, l, 50)
		want += 50
		var asking sync.WaitGroup
		for range 3 {
			asking.Go(func() {
				expect.NoError(t, e.FlushRecorded(t.Context()))
			})
		}
		asking.Wait()
		expect.MustEqual(t, e.inStore(t, l.ID()), want, "hits in the store")
	}
	if err := e.FlushRecorded(t.Context()); err != nil { // nothing to flush
		t.Error(err)
	}
}

func TestFlushRecordedReturnsTheErrorOfItsFlush(t *testing.T) {
	e := newTestEngine(t, engine.Options{FlushInterval: time.Hour})
	l := e.create(t, "failing")
	defer l.Release()
	broken := errors.New("disk is broken")
	e.gate.failFlush.Store(&broken)
	hitTimes(e, l, 5)
	expect.Error(t, e.FlushRecorded(t.Context()), broken)
	e.gate.failFlush.Store(nil)
	hitTimes(e, l, 5) // after the batch that failed, which is committed first
	expect.NoError(t, e.FlushRecorded(t.Context()))
	expect.Equal(t, e.inStore(t, l.ID()), 10, "hits in the store")
}

// TestAFlushCoversHitsThatFoundNoRoom drops hits while nothing gathers: only positions are left to
// commit then.
func TestAFlushCoversHitsThatFoundNoRoom(t *testing.T) {
	e := newTestEngine(t, engine.Options{FlushInterval: time.Hour, PendingEntries: 3})
	kept, dropped := e.create(t, "kept"), e.create(t, "dropped")
	defer kept.Release()
	defer dropped.Release()
	broken := errors.New("disk is broken")
	e.gate.failFlush.Store(&broken)
	hitTimes(e, kept, 5)
	expect.MustError(t, e.FlushRecorded(t.Context()), broken)
	hitTimes(e, dropped, 3)
	e.Fold()
	e.gate.failFlush.Store(nil)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	expect.OK(t, e.FlushRecorded(ctx))
	if m := e.Metrics(); m.HitsMissing != 3 || m.Flushes != 2 {
		t.Errorf("%d hits are missing and %d flushes were made, want 3 and 2: one with the hits, one with positions alone", m.HitsMissing, m.Flushes)
	}
	for range 3 { // idle
		expect.OK(t, e.FlushRecorded(t.Context()))
	}
	e.stopEngine()
	expect.OK(t, e.Flush())
	got := e.Metrics().Flushes
	expect.Equal(t, got, 2, "an idle engine flushed %d times", got-2)
}

func TestFlushRecordedEndsWithItsContext(t *testing.T) {
	e := newTestEngine(t, engine.Options{FlushInterval: time.Hour})
	l := e.create(t, "held")
	defer l.Release()
	held := make(chan struct{})
	e.gate.hold.Store(&held)
	hitTimes(e, l, 5)
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan error)
	for range 2 { // one is in the store, one waits for the flush goroutine
		go func() { asked <- e.FlushRecorded(ctx) }()
	}
	cancel()
	for range 2 {
		expect.Error(t, <-asked, context.Canceled)
	}
	e.gate.hold.Store(nil)
	close(held)
	e.stopEngine()
	expect.Error(t, e.FlushRecorded(t.Context()), engine.ErrClosed, "after Run's end")
}
