package engine_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/engine/extras"
	"shunt/engine/index"
)

// hitTarget is a hit of a target of a link, now.
func hitTarget(visitor uint64, target uint8) engine.Visit {
	return engine.Visit{Visitor: hashed(visitor), NowMs: time.Now().UnixMilli(), Kind: engine.KindOf(engine.ClassHit, target)}
}

// targetsOf returns the report of a link with its targets, whose hits must be those of the link.
func (e *testEngine) targetsOf(t *testing.T, code string, q engine.Query) engine.Report {
	t.Helper()
	q.Targets, q.Parts = true, engine.Visitors
	r, err := e.LinkReport(context.Background(), keyOf(code), q)
	expect.OK(t, err)
	sum := uint64(0)
	for _, x := range r.Targets {
		sum += x.Hits
	}
	expect.MustEqual(t, sum, r.Hits, "the hits of all targets")
	return r
}

// TestTheTargetsOfALinkHaveItsHitsAtEveryMoment asks while hits of three targets come in, and flushes fail and succeed.
func TestTheTargetsOfALinkHaveItsHitsAtEveryMoment(t *testing.T) {
	e := newTestEngine(t, engine.Options{FlushInterval: time.Millisecond, Rings: 2, RingRecords: 512})
	l := e.create(t, "x")
	defer l.Release()
	var hits sync.WaitGroup
	var counted [3]atomic.Uint64
	for i := range counted {
		hits.Go(func() {
			for n := range uint64(5000) {
				expect.That(t, e.Hit(l, hitTarget(n%100, uint8(i+1))), "no redirect")
				counted[i].Add(1)
			}
		})
	}
	boom := errors.New("boom")
	for range 50 {
		for _, err := range []*error{&boom, nil} {
			e.gate.failFlush.Store(err)
			before := counted[1].Load()
			for _, q := range []engine.Query{{AllTime: true}, {}, {Interval: engine.Hourly}} {
				r := e.targetsOf(t, "x", q)
				expect.MustThat(t, len(r.Targets) == 0 || r.Targets[0].Target != 0, "hits of no target: %+v", r.Targets)
			}
			q := engine.Query{AllTime: true, Target: 2}
			r, err := e.LinkReport(context.Background(), keyOf("x"), q)
			expect.MustThat(t, err == nil && r.Hits >= before, "target 2 has %d hits of %d, %v", r.Hits, before, err)
		}
	}
	hits.Wait()
	want := []engine.TargetHits{{Target: 1, Hits: 5000, Unique: 100}, {Target: 2, Hits: 5000, Unique: 100}, {Target: 3, Hits: 5000, Unique: 100}}
	r := e.targetsOf(t, "x", engine.Query{AllTime: true})
	expect.Slices(t, r.Targets, want, "the targets")
	expect.Equal(t, e.stats(t, "x"), engine.Stats{Hits: 15_000, Unique: 100}, "the link's figures")
	owner, err := e.OwnerReport(context.Background(), []uint32{1}, engine.Subset{}, engine.Query{})
	expect.That(t, err == nil && owner.Hits == 15_000, "the owner has %d hits, %v", owner.Hits, err)
	numbers, err := e.TargetsHit(context.Background(), keyOf("x"))
	expect.That(t, err == nil && string(numbers) == "\x01\x02\x03", "numbers %v, %v", numbers, err)
}

// TestACapCountsHitsOfAllTargets uses up a cap by hits of several targets, also of an edge: which says that some are of
// a target with a number that was never given.
func TestACapCountsHitsOfAllTargets(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	split := []extras.Share{{URL: "https://a.example/", Weight: 1}, {URL: "https://b.example/", Weight: 1}}
	expect.OK(t, e.tries(engine.Draft{Alias: "x", Owner: 1, Target: "https://example.com/x", Split: split}))
	l, _ := e.Resolve(keyOf("x").View())
	e.Hit(l, hitTarget(1, 2))
	l.Release()
	capAt(t, e, "x", 7)
	l, _ = e.Resolve(keyOf("x").View())
	defer l.Release()
	expect.That(t, e.Hit(l, hitTarget(1, 2)) && e.Hit(l, hitTarget(2, 3)), "no redirect")
	bot := hitTarget(3, 2)
	bot.Kind = engine.KindOf(engine.ClassBot, 2)
	expect.That(t, e.Hit(l, bot), "no redirect of a bot")
	told := []engine.CapVisit{{Visitor: 5, Target: 3}, {Visitor: 6, Target: 2}, {Visitor: 7}, {Visitor: 8, Target: 4}, {Visitor: 9, Target: 3}}
	answers, err := e.RecordAsked([]engine.CapAsk{{ID: l.ID(), Code: "x", Hits: 5, Visits: told}})
	expect.That(t, err == nil && answers[0] == engine.CapAnswer{Granted: 4, Spent: true}, "%+v, %v", answers, err)
	expect.That(t, !e.Hit(l, hitTarget(9, 2)), "more hits than the cap")
	r := e.targetsOf(t, "x", engine.Query{AllTime: true})
	want := []engine.TargetHits{{Target: 0, Hits: 2}, {Target: 2, Hits: 3, Unique: 2}, {Target: 3, Hits: 2, Unique: 2}}
	expect.Slices(t, r.Targets, want, "the targets")
	expect.Equal(t, e.stats(t, "x"), engine.Stats{Hits: 7, Unique: 6, Bots: 1}, "the link's figures")
	expect.OK(t, e.Flush())
	e.wantReusable(t, 0)
}

// TestNoTallyOfATargetIsACounter raises counters by ids of targets: those of links stay as they are.
func TestNoTallyOfATargetIsACounter(t *testing.T) {
	var x index.Index
	x.Init()
	expect.OK(t, x.RaiseHits(5, 3))
	of := engine.TargetID(5, 2)
	x.FetchHits(of)
	x.AddHits(of, 4)
	expect.That(t, x.RaiseHits(of, 4) != nil && x.SetHits(of, 4) != nil, "a target has a counter")
	expect.That(t, x.Hits(5) == 3 && x.Hits(of) == 0, "the link has %d hits, its target %d", x.Hits(5), x.Hits(of))
	for _, id := range []uint64{1, 5, 1<<48 - 1} {
		for _, n := range []uint8{0, 1, 255} {
			link, target := engine.SplitID(engine.TargetID(id, n))
			expect.That(t, link == id && target == n, "target %d of link %d is read as %d of %d", n, id, target, link)
		}
	}
}

// TestATargetWithoutRoomIsAmongTheHitsWithoutNumber has room for one link and its owner in memory, and for one target.
func TestATargetWithoutRoomIsAmongTheHitsWithoutNumber(t *testing.T) {
	e := newTestEngine(t, engine.Options{FlushInterval: time.Hour, PendingEntries: 3})
	l := e.create(t, "x")
	defer l.Release()
	for n := range uint8(3) {
		e.Hit(l, hitTarget(uint64(n), n+1))
	}
	r := e.targetsOf(t, "x", engine.Query{})
	expect.Slices(t, r.Targets, []engine.TargetHits{{Target: 0, Hits: 2}, {Target: 1, Hits: 1, Unique: 1}}, "the targets")
	expect.Equal(t, e.Metrics().HitsMissing, 2, "hits that are missing somewhere")
}
