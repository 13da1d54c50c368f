package engine_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
)

// countedView counts the days and hours that are read of links, and those with visitors or breakdowns.
type countedView struct {
	engine.View
	gate *gate
}

func (v countedView) ReadSpans(
	ids []uint64, spans []engine.Span, wanted engine.Parts, yield func(i, j int, t *engine.Tally) error,
) error {
	println("spans", len(ids), len(spans))
	return v.View.ReadSpans(ids, spans, wanted, func(i, j int, t *engine.Tally) error {
		v.gate.tallies.Add(1)
		if wanted != 0 {
			v.gate.large.Add(1)
		}
		return yield(i, j, t)
	})
}

// The lines of a list of links cost a small row for each of their links and days, however long the links have had hits.
func TestASeriesOfManyLinksReadsOnlyTheDaysAskedFor(t *testing.T) {
	const days, links, asked = 100, 5, 30
	var now atomic.Int64
	now.Store(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC).UnixMilli())
	e := newTestEngine(t, engine.Options{Now: func() time.Time { return time.UnixMilli(now.Load()) }, ClockSettles: -1, FlushInterval: time.Hour})
	var ids []uint64
	for i := range links + 3 { // of which some are not asked for
		code := fmt.Sprint("l", i)
		e.create(t, code).Release()
		id, _, err := e.Made(keyOf(code))
		expect.OK(t, err)
		ids = append(ids, id)
	}
	for range days {
		for i := range ids {
			l, ok := e.Resolve(keyOf(fmt.Sprint("l", i)).View())
			expect.MustThat(t, ok && e.Hit(l, engine.Visit{NowMs: now.Load()}), "no hit")
			l.Release()
		}
		expect.OK(t, e.Flush())
		now.Add(86400_000)
	}
	now.Add(-86400_000)
	q := engine.Query{From: time.UnixMilli(now.Load()).AddDate(0, 0, 1-asked), Interval: engine.Daily}
	before := e.gate.tallies.Load()
	each, err := e.SeriesOf(context.Background(), ids[:links], q)
	expect.OK(t, err)
	hits := uint64(0)
	for _, series := range each {
		for _, b := range series {
			hits += b.Hits
		}
	}
	t.Log(e.gate.flushed.Load(), e.gate.tallies.Load(), before, fmt.Sprintf("%T", func() any { v, _ := e.gate.View(); defer v.Close(); return v }()))
	read := e.gate.tallies.Load() - before
	expect.That(t, hits == links*asked && read == links*asked && e.gate.large.Load() == 0,
		"%d hits from %d rows, %d of them with more than hits; want %d of both, and 0", hits, read, e.gate.large.Load(), links*asked)
}
