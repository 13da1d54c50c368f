package engine_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
)

func capAt(t *testing.T, e *testEngine, code string, maxHits uint64) engine.Detail {
	t.Helper()
	d, err := e.Update(context.Background(), keyOf(code), engine.Guard{AnyOwner: true}, func(r *engine.Record) error {
		r.Hot.MaxHits = maxHits
		return nil
	})
	expect.OK(t, err)
	return d
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
					expect.That(t, recover() != nil, "%s: class %d is taken", code, class)
				}()
				e.Hit(l, engine.Visit{NowMs: time.Now().UnixMilli(), Kind: engine.Kind(class)})
			}()
		}
		s, err := e.Stats(context.Background(), keyOf(code))
		expect.That(t, err == nil && s == (engine.Stats{}), "%s: it counts as %+v (%v)", code, s, err)
		expect.That(t, e.Hit(l, engine.Visit{NowMs: time.Now().UnixMilli()}), "%s: it used up the cap", code)
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
	waits := e.Metrics().JournalWaits
	expect.That(t, err == nil && s.Hits == writers*each && waits == 0, "%d hits are counted as %d, and %d waited (%v)", writers*each, s.Hits, waits, err)
}
