package bench

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"shunt/api/redirect"
	"shunt/engine"
	"shunt/engine/expect"
	"shunt/engine/index"
	"shunt/engine/search"
)

// createAll makes n links of owner 1 by bulks, none of them disabled.
func (f *figured) createAll(b *testing.B, n int) {
	b.Helper()
	const bulk = 1000
	for made := 0; made < n; {
		items := make([]engine.BulkItem, min(bulk, n-made))
		for i := range items {
			items[i].Draft = engine.Draft{Owner: 1, Target: string(appendTarget(nil, uint64(made)))}
			made++
		}
		expect.OK(b, expect.Err(f.CreateBulk(context.Background(), items)))
	}
}

// blockedHosts returns a block list of n hosts, none of which is a target.
func blockedHosts(b *testing.B, n int) *engine.BlockList {
	b.Helper()
	var text bytes.Buffer
	for i := range n {
		fmt.Fprintf(&text, "blocked%d.example\n", i)
	}
	list := new(engine.BlockList)
	expect.OK(b, expect.Err(list.Replace(text.Bytes())))
	return list
}

// BenchmarkListByState asks for links that there are none of, which reads all rows: with a state, which asks memory of
// each; with words; and by an order, of which the row alone says that no link is wanted.
func BenchmarkListByState(b *testing.B) {
	for _, n := range []int{10_000, 100_000, 1_000_000, 10_000_000} {
		f := newFigured(b, 0)
		f.createAll(b, n)
		redirects := redirect.New(f.Engine, nil, blockedHosts(b, 100_000), f.now())
		disabled := func(l index.Link) bool {
			return redirects.StateNow(l, f.clock.Load()) == engine.StateDisabled
		}
		for _, of := range []string{"one", "all"} {
			r := engine.ListRange{Owners: engine.OneOwner(1), AnyOwner: of == "all"}
			name := fmt.Sprintf("links=%s/owners=%s/", human(uint64(n)), of)
			b.Run(name+"by=state", func(b *testing.B) { f.walk(b, engine.LinkQuery{ListRange: r, Limit: 50, Select: disabled}) })
			words, _ := search.Parse("no link has this")
			wanted := r
			wanted.Words = words
			b.Run(name+"by=words", func(b *testing.B) { f.walk(b, engine.LinkQuery{ListRange: wanted, Limit: 50}) })
			b.Run(name+"order=visitors", func(b *testing.B) {
				f.walk(b, engine.LinkQuery{ListRange: r, Limit: 50, Order: engine.ByVisitors, Judge: func(*engine.LinkEntry) engine.Choice { return engine.Unwanted }})
			})
			b.Run(name+"by=words/order=hits", func(b *testing.B) {
				f.walk(b, engine.LinkQuery{ListRange: r, Limit: 50, Order: engine.ByHits, Judge: func(*engine.LinkEntry) engine.Choice { return engine.Unwanted }})
			})
		}
		f.stop()
	}
}

// walk reads a list without links, in turns.
func (f *figured) walk(b *testing.B, q engine.LinkQuery) {
	before := cpuTime()
	defer func() { b.ReportMetric(float64((cpuTime()-before).Microseconds())/1000/float64(b.N), "cpu-ms/op") }()
	for b.Loop() {
		page, err := f.ListLinksInTurns(context.Background(), q, func(step func() error) error { return step() })
		expect.MustThat(b, err == nil && len(page.Links) == 0 && page.Next == nil, "%d links, %v", len(page.Links), err)
	}
}
