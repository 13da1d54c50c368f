package engine_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
)

// TestACapHoldsForRedirectsAlreadyUnderWay has a redirect resolve the link, then edits the link,
// and then lets the redirect count its hit.
func TestACapHoldsForRedirectsAlreadyUnderWay(t *testing.T) {
	visit := engine.Visit{NowMs: time.Now().UnixMilli()}
	const hits = 5
	for name, c := range map[string]struct {
		before uint64
		edits  []uint64 // caps; 0: none
		want   bool
	}{
		"lowered to its hits":      {10, []uint64{hits}, false},
		"lowered below its hits":   {10, []uint64{2}, false},
		"lowered, and not used up": {10, []uint64{hits + 1}, true},
		"raised":                   {hits, []uint64{hits + 1}, true},
		"taken away":               {hits, []uint64{0}, true},
		"taken away and given":     {10, []uint64{0, hits}, false},
		"lowered and raised":       {10, []uint64{hits, 10}, true},
		"given, and used up":       {0, []uint64{hits}, false},
		"given, and not used up":   {0, []uint64{hits + 1}, true},
		"given, taken and given":   {0, []uint64{hits + 1, 0, hits}, false},
		"given and taken away":     {0, []uint64{hits, 0}, true},
	} {
		t.Run(name, func(t *testing.T) {
			e := newTestEngine(t, engine.Options{})
			e.create(t, "x").Release()
			capAt(t, e, "x", c.before)
			stale, _ := e.Resolve(keyOf("x").View())
			defer stale.Release()
			for range hits {
				expect.MustThat(t, e.Hit(stale, visit), "a hit below the cap is refused")
			}
			for _, edit := range c.edits {
				expect.Equal(t, capAt(t, e, "x", edit).Hits, hits, "the edit to %d says hits", edit)
			}
			bot := visit
			bot.Kind = engine.Kind(engine.ClassBot)
			expect.Equal(t, e.Hit(stale, bot), c.want, "a bot's redirect")
			expect.Equal(t, e.Hit(stale, visit), c.want, "a redirect")
			counted := uint64(hits)
			if c.want {
				counted++
			}
			s := e.stats(t, "x")
			expect.Equal(t, s.Hits, counted, "hits counted")
		})
	}
}

// A redirect of a link that was deleted meanwhile counts as if it had come before, also if another
// owner has the code now.
func TestALateRedirectCountsForTheDeletedLink(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	e.create(t, "x").Release()
	capAt(t, e, "x", 1)
	stale, _ := e.Resolve(keyOf("x").View())
	defer stale.Release()
	e.delete(t, "x")
	fresh := e.create(t, "x")
	fresh.Release()
	visit := engine.Visit{NowMs: time.Now().UnixMilli()}
	expect.That(t, e.Hit(stale, visit) && !e.Hit(stale, visit), "of the deleted link with a cap of 1, not exactly one hit is admitted")
	expect.Equal(t, e.stats(t, "x").Hits, 0, "the new link hits")
}

// Clients pause between resolving the link and counting their hit, while its cap is set and undone
// again and again. After an edit to n was answered with h hits, at most max(n, h) are admitted.

func TestACapLoweredUnderFireHoldsFromTheAnswerOn(t *testing.T) { setCapsUnderFire(t, 1<<40) }

func TestACapGivenUnderFireHoldsFromTheAnswerOn(t *testing.T) { setCapsUnderFire(t, 0) }

// setCapsUnderFire gives the link the cap between after each edit; 0: no cap.
func setCapsUnderFire(t *testing.T, between uint64) {
	const clients, edits = 8, 200
	e := newTestEngine(t, engine.Options{Rings: 1, RingRecords: 1 << 16, FlushInterval: 10 * time.Millisecond})
	e.create(t, "x").Release()
	capAt(t, e, "x", between)
	var answered atomic.Uint64
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for !stop.Load() {
				l, _ := e.Resolve(keyOf("x").View())
				runtime.Gosched()
				if e.Hit(l, engine.Visit{NowMs: time.Now().UnixMilli()}) {
					answered.Add(1)
				}
				l.Release()
			}
		})
	}
	defer wg.Wait()
	defer stop.Store(true)
	for range edits {
		before := answered.Load()
		eventually(t, "more hits", func() bool { return answered.Load() > before+100 })
		d := capAt(t, e, "x", answered.Load()+rand.Uint64N(100))
		limit := max(d.MaxHits, d.Hits)
		eventually(t, "the cap to be used up", func() bool { return answered.Load() >= limit })
		for range clients {
			runtime.Gosched()
		}
		got := answered.Load()
		expect.MustThat(t, got <= limit, "%d redirects are answered; the edit to a cap of %d said %d hits", got, d.MaxHits, d.Hits)
		capAt(t, e, "x", between)
	}
}

// TestAnEditIsAnsweredWithTheHitsAtItsPublication has hits come while the edit is being committed.
func TestAnEditIsAnsweredWithTheHitsAtItsPublication(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	e.create(t, "x").Release()
	capAt(t, e, "x", 10)
	hitsFirst := func(commit func()) {
		l, _ := e.Resolve(keyOf("x").View())
		for range 4 {
			e.Hit(l, engine.Visit{NowMs: time.Now().UnixMilli()})
		}
		l.Release()
		commit()
	}
	e.gate.apply.Store(&hitsFirst)
	d, err := e.Update(context.Background(), keyOf("x"), engine.Guard{AnyOwner: true}, func(r *engine.Record) error {
		r.Hot.MaxHits = 4
		return nil
	})
	expect.That(t, err == nil && d.Hits == 4 && d.State == engine.StateExhausted && d.Version == 3,
		"got version %d with %d hits, %s (%v), want 3 with 4, exhausted", d.Version, d.Hits, d.State, err)
}
