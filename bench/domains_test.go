package bench

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
)

// BenchmarkDomains has as many links in one domain, the default one, and in a thousand: what a start takes of each
// link, its memory, the first page of a list, and the figures of thirty days, three of which have hits. What is asked
// of one domain is asked of one with a part of the links; what is asked of all is of all links.
func BenchmarkDomains(b *testing.B) {
	for _, domains := range []int{1, 1000} {
		b.Run(fmt.Sprintf("links=%s/domains=%d", human(links()), domains), func(b *testing.B) {
			f := newFigured(b, 0)
			owners := f.createIn(b, domains, int(links()))
			f.hitEach(b, owners, 3)
			one := []uint32{owners[len(owners)/2]}
			b.Run("what=list/of=one", func(b *testing.B) {
				f.firstPage(b, engine.ListRange{Owners: engine.OneOwner(one[0])})
			})
			b.Run("what=list/of=all", func(b *testing.B) { f.firstPage(b, engine.ListRange{AnyOwner: true}) })
			b.Run("what=figures/of=one", func(b *testing.B) { f.month(b, one) })
			b.Run("what=figures/of=all", func(b *testing.B) { f.month(b, owners) })
			b.Run("what=start", func(b *testing.B) { f.loads(b) }) // the last one: another engine has taken over the store
			f.stop()
		})
	}
}

// createIn makes n links of user 1, spread over domains from the default one on, and returns the owners.
func (f *figured) createIn(b *testing.B, domains, n int) (owners []uint32) {
	b.Helper()
	for d := range domains {
		owners = append(owners, engine.OwnerIn(engine.Domain(d), 1))
	}
	const bulk = 1000
	for made := 0; made < n; {
		items := make([]engine.BulkItem, min(bulk, n-made))
		for i := range items {
			d := made % domains
			items[i].Draft = engine.Draft{Domain: engine.Domain(d), Owner: owners[d], Target: string(appendTarget(nil, uint64(made)))}
			made++
		}
		expect.OK(b, expect.Err(f.CreateBulk(context.Background(), items)))
	}
	return owners
}

// hitEach has a hit of one link of each owner, and as many of one owner, on each of some days.
func (f *figured) hitEach(b *testing.B, owners []uint32, days int) {
	b.Helper()
	const hits = 1000 // a day
	var keys []engine.Key
	for _, owner := range owners {
		page, err := f.ListLinks(context.Background(), engine.LinkQuery{ListRange: engine.ListRange{Owners: engine.OneOwner(owner)}, Limit: 1})
		expect.OK(b, err)
		keys = append(keys, page.Links[0].Key)
	}
	for range days {
		for i := range hits {
			l, ok := f.Resolve(keys[i%len(keys)].View())
			expect.MustThat(b, ok && f.Hit(l, engine.Visit{NowMs: f.clock.Load(), Visitor: mix(uint64(i))}), "a link is missing")
			l.Release()
		}
		f.pass(b, 24*time.Hour)
	}
}

// loads opens another engine on the store.
func (f *figured) loads(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		e, err := engine.Open(f.store, engine.Options{JournalDir: b.TempDir(), Rings: 1, RingRecords: 256})
		expect.OK(b, err)
		before := settledBytes(b)
		b.StartTimer()
		cpu := cpuTime()
		expect.OK(b, e.Load(context.Background(), nil))
		used := cpuTime() - cpu
		b.StopTimer()
		runtime.GC()
		n := float64(e.Metrics().Links)
		b.ReportMetric(float64(used.Nanoseconds())/n, "cpu-ns/link")
		b.ReportMetric(float64(residentBytes(b)-before)/n, "resident-B/link")
		expect.OK(b, e.Close())
		b.StartTimer()
	}
}

func (f *figured) firstPage(b *testing.B, r engine.ListRange) {
	for b.Loop() {
		page, err := f.ListLinks(context.Background(), engine.LinkQuery{ListRange: r, Limit: 50})
		expect.MustThat(b, err == nil && len(page.Links) == 50, "%d links, %v", len(page.Links), err)
	}
}

func (f *figured) month(b *testing.B, owners []uint32) {
	q := engine.Query{From: f.now().AddDate(0, 0, -29), Parts: engine.Visitors | engine.Breakdowns}
	for b.Loop() {
		r, err := f.OwnerReport(context.Background(), owners, engine.Subset{}, q)
		expect.MustThat(b, err == nil && r.Hits > 0, "%d hits, %v", r.Hits, err)
	}
}
