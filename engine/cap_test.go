package engine_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"shunt/engine"
)

func capAt(t *testing.T, e *testEngine, code string, maxHits uint64) engine.Detail {
	t.Helper()
	d, err := e.Update(context.Background(), keyOf(code), engine.Guard{AnyOwner: true}, func(r *engine.Record) error {
		r.Hot.MaxHits = maxHits
		return nil
	})
	must(t, err)
	return d
}

func TestANewCapCountsTheEarlierHits(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	stale := e.create(t, "x")
	defer stale.Release()
	e.stopEngine() // only readers fold from now on
	visit := engine.Visit{NowMs: time.Now().UnixMilli()}
	for range 100 {
		e.Hit(stale, visit)
	}
	if d := capAt(t, e, "x", 150); d.Hits != 100 || d.State != engine.StateActive {
		t.Errorf("after 100 hits the edit says %d hits, %s", d.Hits, d.State)
	}
	l, _ := e.Resolve(keyOf("x").View())
	defer l.Release()
	more := 0
	for e.Hit(l, visit) {
		more++
	}
	if more != 50 {
		t.Errorf("a cap of 150 given after 100 hits allows %d more", more)
	}
	if e.Hit(stale, visit) {
		t.Error("a redirect that resolved the link before the edit comes on top of the cap")
	}
	d, err := e.Read(keyOf("x"))
	if err != nil || d.Hits != 150 || d.State != engine.StateExhausted {
		t.Errorf("at last the link has %d hits and is %s (%v)", d.Hits, d.State, err)
	}
}

func TestAHitOfAnUnknownClassCountsNothing(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	for _, code := range []string{"plain", "capped"} {
		l := e.create(t, code)
		if code == "capped" {
			l.Release()
			capAt(t, e, code, 1)
			l, _ = e.Resolve(keyOf(code).View())
		}
		for _, class := range []engine.Class{4, 255} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s: class %d is taken", code, class)
					}
				}()
				e.Hit(l, engine.Visit{NowMs: time.Now().UnixMilli(), Class: class})
			}()
		}
		if s, err := e.Stats(context.Background(), keyOf(code)); err != nil || s != (engine.Stats{}) {
			t.Errorf("%s: it counts as %+v (%v)", code, s, err)
		}
		if !e.Hit(l, engine.Visit{NowMs: time.Now().UnixMilli()}) {
			t.Errorf("%s: it used up the cap", code)
		}
		l.Release()
	}
}

func TestRacingForASlotIsNotCountedAsWaiting(t *testing.T) {
	const writers, each = 4, 1<<14 - 1
	e := newTestEngine(t, engine.Options{Rings: 1, RingRecords: 1 << 16})
	l := e.create(t, "x")
	defer l.Release()
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				e.Hit(l, engine.Visit{NowMs: time.Now().UnixMilli()})
			}
		})
	}
	wg.Wait()
	s, err := e.Stats(context.Background(), keyOf("x"))
	if waits := e.Metrics().JournalWaits; err != nil || s.Hits != writers*each || waits != 0 {
		t.Errorf("%d hits are counted as %d, and %d waited (%v)", writers*each, s.Hits, waits, err)
	}
}

func TestACapTakenAwayAndGivenAgainLosesNoHit(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	e.create(t, "x")
	e.stopEngine()
	hit := func(n int) (answered int) {
		for range n {
			l, _ := e.Resolve(keyOf("x").View())
			if e.Hit(l, engine.Visit{NowMs: time.Now().UnixMilli()}) {
				answered++
			}
			l.Release()
		}
		return answered
	}
	for _, step := range []struct {
		maxHits        uint64
		sent, answered int
	}{{10, 20, 10}, {0, 5, 5}, {18, 9, 3}, {0, 2, 2}, {20, 1, 0}} {
		capAt(t, e, "x", step.maxHits)
		if got := hit(step.sent); got != step.answered {
			t.Errorf("under a cap of %d, %d of %d are answered, want %d", step.maxHits, got, step.sent, step.answered)
		}
	}
	if s := e.stats(t, "x"); s.Hits != 20 {
		t.Errorf("%d hits, want 20", s.Hits)
	}
}

// TestACapGivenUnderFireIsExact lets clients race with the edit. Each may have resolved the link
// before the edit and count its hit after it.
func TestACapGivenUnderFireIsExact(t *testing.T) {
	const clients, maxHits = 16, 50_000
	e := newTestEngine(t, engine.Options{Rings: 1, RingRecords: 1 << 14})
	l := e.create(t, "x")
	l.Release()
	var answered atomic.Uint64
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for {
				l, _ := e.Resolve(keyOf("x").View())
				ok := e.Hit(l, engine.Visit{NowMs: time.Now().UnixMilli()})
				l.Release()
				if !ok {
					return
				}
				answered.Add(1)
			}
		})
	}
	eventually(t, "some hits", func() bool { return answered.Load() > 100 })
	d := capAt(t, e, "x", maxHits)
	wg.Wait()
	got := answered.Load()
	if got != max(maxHits, d.Hits) {
		t.Errorf("%d hits answered with a cap of %d; the edit said %d", got, maxHits, d.Hits)
	}
	if s := e.stats(t, "x"); s.Hits != got {
		t.Errorf("%d hits counted, %d answered", s.Hits, got)
	}
}
