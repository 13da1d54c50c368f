package storage

import (
	"math"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage/hits"
	"shunt/storage/row"
	"shunt/storage/row/rowtest"
)

// summarised is a store, with plain maps of all hits that it was given.
type summarised struct {
	mem      *vfs.MemFS
	s        *Store
	seq      uint64
	hour     uint32                       // rows before it may be rolled up
	visitors map[uint64]map[uint64]uint32 // of each link, with the first hour of each
	hits     map[uint64]map[uint32]uint64 // of each link, by hour
}

const summarisedLinks = 3

// flush adds hits, some of them of hours that were rolled up long ago, and a bot.
func (m *summarised) flush(t *testing.T, rt *rapid.T) {
	f := rowtest.NewFlush()
	for range rapid.IntRange(1, 6).Draw(rt, "rows") {
		id, hour := rapid.Uint64Range(1, summarisedLinks).Draw(rt, "id"), m.hour-60+rapid.Uint32Max(65).Draw(rt, "hour")
		first, n := rapid.Uint64Max(3000).Draw(rt, "first"), rapid.SampledFrom([]uint64{0, 1, 3, 700}).Draw(rt, "visitors")
		if n == 0 {
			f.Add(hour, id, 1, &rowtest.Model{Bots: 1})
		}
		for v := first; v < first+n; v++ {
			f.Add(hour, id, 1, rowtest.Hit(rowtest.Visitor(v)))
			if was, known := m.visitors[id][v]; !known || hour < was {
				m.visitors[id][v] = hour
			}
			m.hits[id][hour]++
		}
	}
	m.seq++
	flush(t, m.s, m.seq, f)
}

// sketchOf returns what a sketch of a link's visitors counts, who came before an hour: never more than hits.
func (m *summarised) sketchOf(id uint64, before uint32) (n uint64) {
	var s engine.Sketch
	for hour, hits := range m.hits[id] {
		if hour < before {
			n += hits
		}
	}
	for v, hour := range m.visitors[id] {
		if hour < before {
			s.Add(rowtest.Visitor(v))
		}
	}
	return min(n, s.Count())
}

// lastBefore returns the last hour with a hit before one.
func (m *summarised) lastBefore(id uint64, before uint32) (last uint32) {
	for hour := range m.hits[id] {
		if hour < before {
			last = max(last, hour)
		}
	}
	return last
}

// check compares what a listing has of each link with the maps: at least what came before the hour that it says.
func (m *summarised) check(t *testing.T, rt *rapid.T) {
	l, err := m.s.Listing(t.Context())
	expect.OK(rt, err)
	defer func() { expect.NoError(rt, l.Close()) }()
	asOf, err := l.FiguresAsOf()
	expect.OK(rt, err)
	parts, err := l.Parts(engine.ListRange{Owners: engine.OneOwner(1), Figures: true})
	expect.OK(rt, err)
	listed := 0
	for _, p := range parts {
		defer p.Close()
		_, _, err := p.Read(100, func(e *engine.LinkEntry) {
			listed++
			summed, err := l.SummedVisitors(e.ID)
			expect.MustThat(rt, err == nil && summed == e.Visitors, "link %d by itself has %d visitors, among others %d: %v", e.ID, summed, e.Visitors, err)
			atLeast, last := m.sketchOf(e.ID, asOf), m.lastBefore(e.ID, asOf)
			if asOf == math.MaxUint32 {
				expect.MustThat(rt, e.Visitors == atLeast && e.LastHitHour == last, "link %d: %d visitors, the last in hour %d, want %d and %d", e.ID, e.Visitors, e.LastHitHour, atLeast, last)
			}
			all, newest := m.sketchOf(e.ID, math.MaxUint32), m.lastBefore(e.ID, math.MaxUint32)
			expect.MustThat(rt, e.LastHitHour >= last && e.LastHitHour <= newest && float64(e.Visitors) >= 0.9*float64(atLeast) && float64(e.Visitors) <= 1.1*float64(all),
				"link %d as of hour %d: %d visitors, the last in hour %d; want %d to %d, and %d to %d", e.ID, asOf, e.Visitors, e.LastHitHour, atLeast, all, last, newest)
		})
		expect.OK(rt, err)
	}
	expect.MustEqual(rt, listed, summarisedLinks, "links")
	m.checkQuiet(rt, asOf)
}

// checkQuiet compares the links that a view says have no hit since an hour with the maps: none of them has one, and
// once all hits are summarised, all that have none are named.
func (m *summarised) checkQuiet(rt *rapid.T, asOf uint32) {
	hour := m.hour - 60 + rapid.Uint32Max(70).Draw(rt, "quiet since")
	view, err := m.s.View()
	expect.OK(rt, err)
	defer func() { expect.NoError(rt, view.Close()) }()
	quiet := make(map[uint64]bool)
	expect.OK(rt, view.LastHits(hour, func(id uint64, is bool) error {
		quiet[id] = is
		return nil
	}))
	for id := range m.hits {
		last := m.lastBefore(id, math.MaxUint32)
		expect.MustThat(rt, !quiet[id] || last < hour, "link %d has a hit in hour %d, not before %d", id, last, hour)
		expect.MustThat(rt, asOf != math.MaxUint32 || quiet[id] == (last > 0 && last < hour), "all is summarised, link %d: quiet is %v, its last hit in hour %d, asked for %d", id, quiet[id], last, hour)
	}
}

// TestSummariesFollowAnyHistory: flushes, late hits, chunks of roll-up and crashes leave each link the visitors of its
// sketch and its last hit.
func TestSummariesFollowAnyHistory(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		mem := vfs.NewCrashableMem()
		m := &summarised{mem: mem, s: openMem(t, mem), hour: 1000, visitors: map[uint64]map[uint64]uint32{}, hits: map[uint64]map[uint32]uint64{}}
		defer func() { closeStore(t, m.s) }()
		stop := start(t, m.s)
		for id := uint64(1); id <= summarisedLinks; id++ {
			m.visitors[id], m.hits[id] = map[uint64]uint32{}, map[uint32]uint64{}
			apply(t, m.s, rowtest.Creation(rowtest.Link(string(rune('a'+id)), id, 1)))
		}
		stop()
		for range rapid.IntRange(1, 15).Draw(rt, "steps") {
			switch rapid.IntRange(0, 5).Draw(rt, "step") {
			case 0, 1:
				m.flush(t, rt)
			case 2:
				m.hour += rapid.SampledFrom([]uint32{1, 2, 30}).Draw(rt, "hours")
				expect.OK(rt, expect.Err(m.s.RollUp(upTo(m.hour))))
			case 3:
				m.mem = m.mem.CrashClone(loseAll())
				closeStore(t, m.s)
				m.s = openMem(t, m.mem)
			case 4:
				rollUpAll(t, m.s, upTo(m.hour), nil)
			case 5:
				rollUpAll(t, m.s, upTo(m.hour+100), nil) // of all that there is
				_, open, err := hits.SummarisedTo(m.s.db)
				expect.MustThat(rt, err == nil && !open, "after all hours were rolled up, some are open: %v, %v", open, err)
			}
			m.check(t, rt)
		}
		inspection := m.s.Inspect()
		_, faults, total := checkAll(t, inspection)
		closeInspection(t, inspection)
		for _, fault := range faults {
			expect.MustThat(rt, fault.Where[:4] != "summ", "%d faults: %+v", total, fault)
		}
	})
}

// TestSummariesOfManyLinksAreMadeInChunks also has links without hits between those with, and other owners' links.
func TestSummariesOfManyLinksAreMadeInChunks(t *testing.T) {
	const links = 10_000
	s := openTempStopped(t)
	pending := s.db.NewBatch()
	b := newBatch(pending)
	f := rowtest.NewFlush()
	for id := uint64(1); id <= links; id++ {
		m := rowtest.Creation(rowtest.Link(rowtest.Referrer(int(id)), id, uint32(1+id%2)))
		m.Hot.Code, m.Cold.Code = "c"+string(rune('a'+id%26)), "c"+string(rune('a'+id%26))
		b.Add(&m)
		if id%3 == 0 {
			for v := range id % 5 {
				f.Add(100, id, uint32(1+id%2), rowtest.Hit(rowtest.Visitor(v)))
			}
		}
	}
	b.Finish()
	expect.OK(t, s.writer.Sync(pending, "test"))
	flush(t, s, 1, f)
	rollUpAll(t, s, upTo(101), nil)
	expect.Equal(t, len(rows(t, s, row.TableSummariesDue)), 0, "due")
	for _, r := range []engine.ListRange{{Owners: engine.OneOwner(1), Figures: true}, {AnyOwner: true, Figures: true}} {
		seen := 0
		parts, err := openListing(t, s).Parts(r)
		expect.OK(t, err)
		for len(parts) > 0 {
			p := parts[0]
			_, more, err := p.Read(700, func(e *engine.LinkEntry) {
				seen++
				want := row.Summary{}
				if e.ID%3 == 0 && e.ID%5 > 0 {
					want = row.Summary{Visitors: e.ID % 5, LastHour: 100}
				}
				expect.Equal(t, row.Summary{Visitors: e.Visitors, LastHour: e.LastHitHour}, want, "link %d", e.ID)
			})
			expect.OK(t, err)
			rest := parts[1:]
			if more {
				cut, err := p.Split(3)
				expect.OK(t, err)
				rest = append(cut, rest...)
			}
			expect.OK(t, p.Close())
			parts = rest
		}
		expect.That(t, seen == links/2 || r.AnyOwner && seen == links, "%+v: %d links", r, seen)
	}
}
