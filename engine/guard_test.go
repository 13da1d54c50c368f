package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
)

func TestATooLargeFlushDropsDetailsButNoHit(t *testing.T) {
	for refused, want := range map[int64]struct {
		visitors   uint64
		breakdowns bool
	}{0: {3, true}, 1: {3, false}, 2: {0, false}} {
		e := newTestEngine(t, engine.Options{FlushInterval: time.Hour})
		l := e.create(t, "x")
		for visitor := range uint64(3) {
			e.Hit(l, engine.Visit{Visitor: hashed(visitor), NowMs: time.Now().UnixMilli(), Values: engine.Values{Agent: engine.AgentOf(engine.Mobile, 0)}})
		}
		e.stopEngine()
		e.stats(t, "x") // folds
		e.gate.tooLarge.Store(refused)
		expect.OK(t, e.Flush(), "%d refusals", refused)
		tally, _, err := e.gate.readLife(l.ID())
		if err != nil || tally.Hits != 3 || tally.Visitors.Count() != want.visitors || tally.Dimensions.Empty() == want.breakdowns {
			t.Errorf("%d refusals: %d hits, %d visitors, %v (%v)", refused, tally.Hits, tally.Visitors.Count(), tally.Dimensions, err)
		}
		expect.Equal(t, e.Metrics().FlushesReduced, uint64(refused), "%d refusals: counted", refused)
		l.Release()
	}
}

func TestAnEditThatIsRefusedChangesNothingOfTheLink(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	e.create(t, "x").Release()
	stopped := func(func()) {} // the store never answers
	e.gate.apply.Store(&stopped)
	_, err := e.Update(context.Background(), keyOf("x"), engine.Guard{AnyOwner: true}, func(r *engine.Record) error {
		r.Hot.MaxHits = 5
		return nil
	})
	expect.MustThat(t, errors.Is(err, engine.ErrOutcomeUnknown), "%v", err)
	l, _ := e.Resolve(keyOf("x").View())
	defer l.Release()
	if l.Flags()&engine.FlagCapped != 0 || l.MaxHits() != 0 {
		t.Errorf("flags %b, cap %d", l.Flags(), l.MaxHits())
	}
	for range 10 {
		expect.MustThat(t, e.Hit(l, engine.Visit{NowMs: time.Now().UnixMilli()}), "no redirect")
	}
	s := e.stats(t, "x")
	expect.Equal(t, s.Hits, 10, "hits")
	// Its figures can be read although the edit holds the code.
	r, err := e.LinkReport(context.Background(), keyOf("x"), engine.Query{Interval: engine.Daily})
	expect.That(t, err == nil && r.Hits == 10, "%d hits in the report, %v", r.Hits, err)
}

func TestAnUnknownReferrerNumberIsShownAsOther(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	l := e.create(t, "x")
	defer l.Release()
	for _, number := range []uint16{1, 2, 0x7ffe, 0x8000, 0x8001, 0xfffe, 0xffff} {
		e.Hit(l, engine.Visit{NowMs: time.Now().UnixMilli(), Values: engine.Values{Referrer: number}})
	}
	r, err := e.LinkReport(context.Background(), keyOf("x"), engine.Query{AllTime: true, Parts: engine.Breakdowns})
	expect.That(t, err == nil && r.Hits == 7 && r.Dimensions[engine.Referrers].Sum() == 0, "%d hits, %v, %v", r.Hits, r.Dimensions, err)
}

// TestDeletedFiguresAreNotShownAsZero keeps few hours and days for a while, and then more.
func TestDeletedFiguresAreNotShownAsZero(t *testing.T) {
	f := newFigures(t)
	defer func() { f.close() }()
	f.keptHours, f.keptDays = 5, 3
	f.close()
	f.open()
	for range 10 * 24 {
		f.hit(0, engine.ClassHit, 1)
		f.now = f.now.Add(time.Hour)
		f.closeHours()
	}
	f.keptHours, f.keptDays = 100, 100
	f.close()
	f.open()
	for _, back := range []time.Duration{3, 5, 6, 7, 20, 30, 70, 71, 72, 96, 97, 98, 120, 200} {
		f.check(t, engine.Query{From: f.now.Add(-back * time.Hour)})
		f.check(t, engine.Query{To: f.now.Add(-back * time.Hour)})
		f.check(t, engine.Query{From: f.now.Add(-back * time.Hour), Interval: engine.Hourly})
		f.check(t, engine.Query{From: f.now.Add(-back * time.Hour), Interval: engine.Daily})
	}
	_, err := f.e.LinkReport(context.Background(), keyOf("link0"), engine.Query{From: f.now.Add(-20 * time.Hour), Interval: engine.Hourly})
	expect.That(t, refused(err), "hours that went are shown: %v", err)
	r, err := f.e.LinkReport(context.Background(), keyOf("link0"), engine.Query{From: f.now.AddDate(0, 0, -9), Interval: engine.Daily})
	expect.That(t, err == nil && len(r.Series) <= 5 && r.Hits >= 24*4, "%d days with %d hits, %v", len(r.Series), r.Hits, err)
}
