package hit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"slices"

	"golang.org/x/sync/errgroup"

	"shunt/engine/index"
	"shunt/engine/internal/seams"
	"shunt/engine/tally"
)

// Figures of a tag or a folder are read from the rows of its links, of which there may be a million. So what a page
// asks for, a span, the part of it that is over and the time before, is read in one pass: the windows are cut where one
// of them begins or ends, and each row is read once, by whichever core is free.
//
// Rejected: rows of tags and folders like those of owners. A hit would count for each tag of its link, a link may have
// 32, and a tag that is given to a link or taken off, or a link that is moved, would move its figures of years.

// cutWindows are the windows of several readings, cut into spans that are whole in each window or not in it.
type cutWindows struct {
	spans  []Span        // ascending
	wanted []tally.Parts // by span
	uses   [][]spanUse   // by span
}

// A spanUse is a span of a window.
type spanUse struct {
	of *reading
	j  int
}

// cutTogether cuts the windows of readings, or returns false if readable does not accept all parts.
func cutTogether(readings []*reading, readable func(Span) bool) (c cutWindows, ok bool) {
	var cuts []uint32
	for _, r := range readings {
		for _, s := range r.window.spans {
			cuts = append(cuts, s.FromHour, s.ToHour)
		}
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	for i := 1; i < len(cuts); i++ {
		part := Span{cuts[i-1], cuts[i]}
		var uses []spanUse
		var wanted tally.Parts
		for _, r := range readings {
			j := slices.IndexFunc(r.window.spans, func(s Span) bool { return s.FromHour <= part.FromHour && part.ToHour <= s.ToHour })
			if j >= 0 {
				uses, wanted = append(uses, spanUse{r, j}), wanted|r.query.Parts
			}
		}
		if len(uses) == 0 {
			continue
		}
		if !readable(part) {
			return c, false
		}
		c.spans, c.wanted, c.uses = append(c.spans, part), append(c.wanted, wanted), append(c.uses, uses)
	}
	return c, true
}

// cut cuts the windows of readings together, or, where parts of days would have to be read whose hours are not kept,
// each by itself.
func (hs *Hits) cut(readings []*reading) (all []cutWindows) {
	days, kept := hs.store.Zone(), hs.kept(hs.now())
	readable := func(s Span) bool {
		return s.FromHour >= kept.firstHour || days.Begins(s.FromHour) && (s.ToHour == Endless || days.Begins(s.ToHour))
	}
	if c, ok := cutTogether(readings, readable); ok {
		return []cutWindows{c}
	}
	for i := range readings {
		c, _ := cutTogether(readings[i:i+1], func(Span) bool { return true })
		all = append(all, c)
	}
	return all
}

// add adds a tally of the span j to the figures of all windows that have it.
func (c *cutWindows) add(j int, t *tally.Tally, durable bool) {
	for _, u := range c.uses[j] {
		u.of.add(u.j, t, durable)
	}
}

// A subsetReading reads the figures of some links of owners, for several readings. It pauses like the first.
type subsetReading struct {
	hits     *Hits
	owners   []uint32
	of       Subset
	query    *Query
	readings []*reading
	ranker   *ranker // nil: no ranking was asked for
	imports  bool    // some link may have brought hits along that a window should mention
	each     bool    // hits are counted by what each link has of them, so links cannot be added up first
}

func (hs *Hits) readSubset(ctx context.Context, owners []uint32, of Subset, readings []*reading) (err error) {
	t := subsetReading{hits: hs, owners: owners, of: of, query: readings[0].query, readings: readings}
	first := uint32(math.MaxUint32)
	for _, r := range readings {
		first = min(first, r.window.from)
		t.each = t.each || r.query.Counted != nil
		if r.query.Rank {
			t.ranker = newRanker(nil, seams.MaxScannedLinks)
		}
	}
	if t.imports, err = hs.store.HasImports(first); err != nil {
		return err
	}
	for _, c := range hs.cut(readings) {
		if err := t.eachPart(func(part *someLinks) error { return t.read(ctx, part, &c) }); err != nil {
			return err
		}
		if t.ranker != nil {
			made := &Ranking{t.ranker.ranking()}
			for _, r := range readings {
				r.report.Ranking = made
			}
		}
		t.imports, t.ranker = false, nil
	}
	return nil
}

// someLinks are some of the links.
type someLinks struct {
	ids []uint64 // ascending
	hit []uint64 // those with hits, if some may be imported
}

// eachPart calls fn with the links in parts of MaxScannedLinks, so that memory stays bounded.
func (t *subsetReading) eachPart(fn func(*someLinks) error) (err error) {
	var part someLinks
	read := func() error {
		if len(part.ids) == 0 {
			return nil
		}
		slices.Sort(part.ids)
		for _, id := range part.ids {
			if t.imports && t.hits.index.Hits(id) > 0 { // imported hits are in the counter
				part.hit = append(part.hit, id)
			}
		}
		err := fn(&part)
		part.ids, part.hit = part.ids[:0], part.hit[:0]
		return err
	}
	listing := t.hits.eachLink(t.owners, t.of, func(id uint64, k index.KeyView) bool {
		part.ids = append(part.ids, id)
		if t.ranker != nil {
			t.ranker.add(id, t.hits.index.Hits(id), k.Own)
		}
		if len(part.ids) == seams.MaxScannedLinks {
			err = read()
		}
		return err == nil
	})
	if err = errors.Join(listing, err); err != nil {
		return err
	}
	return read()
}

// read adds the figures of links to those of the windows.
func (t *subsetReading) read(ctx context.Context, links *someLinks, c *cutWindows) (err error) {
	if t.each {
		var wanted tally.Parts
		for _, parts := range c.wanted {
			wanted |= parts
		}
		err = t.hits.readSpans(ctx, t.query, linkSource(links.ids...), c.spans, wanted, func(_, j int, x *tally.Tally, durable bool) { c.add(j, x, durable) })
	} else {
		err = t.hits.sumSpans(ctx, t.query, links.ids, c)
	}
	for part := range slices.Chunk(links.hit, summedLinks) {
		if err = errors.Join(err, t.query.pause(ctx)); err != nil {
			break
		}
		err = t.hits.store.ReadImports(part, func(hits uint64, atMs int64) {
			for _, r := range t.readings {
				r.addImported(hits, atMs)
			}
		})
	}
	return err
}

// summedLinks is how many links a core adds up between two calls of pause: a few milliseconds.
const summedLinks = 2048

// sumSpans adds the figures of ids, which ascend, over the spans of c to its windows.
func (hs *Hits) sumSpans(ctx context.Context, q *Query, ids []uint64, c *cutWindows) (err error) {
	s := linkSource(ids...)
	view, beyond, err := openView(ctx, hs, func(p *pair) []pendingSpan {
		return s.pending(p, c.spans, tally.Visitors|tally.Breakdowns, hs.journal.Referrers)
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	for step := range slices.Chunk(ids, summedLinks*runtime.GOMAXPROCS(0)) {
		if err := errors.Join(c.sum(view, step), q.pause(ctx)); err != nil {
			return err
		}
	}
	for _, part := range beyond {
		for i := range part {
			c.add(part[i].j, &part[i].tally, false)
		}
	}
	return nil
}

// sum adds the store's figures of ids, a part on each core. The parts are added one after the other, so that breakdowns
// with more values than are kept are the same each time.
func (c *cutWindows) sum(view View, ids []uint64) error {
	cores := runtime.GOMAXPROCS(0)
	var g errgroup.Group
	turn := make(chan struct{}) // closed when the parts before are added
	close(turn)
	for part := range slices.Chunk(ids, (len(ids)+cores-1)/cores) {
		mine, next := turn, make(chan struct{})
		turn = next
		g.Go(func() (err error) {
			defer func() {
				if r := recover(); r != nil { // in a goroutine it would end the program
					err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
				}
				<-mine
				close(next)
			}()
			return view.SumSpans(part, c.spans, c.wanted, func(j int, t *tally.Tally) {
				<-mine
				c.add(j, t, true)
			})
		})
	}
	return g.Wait()
}
