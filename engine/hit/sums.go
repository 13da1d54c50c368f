package hit

import (
	"context"
	"errors"
	"slices"

	"shunt/engine/internal/cores"
	"shunt/engine/tally"
	"shunt/engine/zone"
)

// A page asks for several windows: a span, the part of it that is over, the span before, and today. All of them are
// read in one pass. The windows are cut where one of them begins or ends, and each row is read once, by whichever core
// is free.

// cutWindows are the windows of several readings, cut into spans that are whole in each window or not in it.
type cutWindows struct {
	spans  []Span        // ascending
	wanted []tally.Parts // by span
	uses   [][]spanUse   // by span
	each   bool          // hits are counted by what each link or owner has of them, so these cannot be added up first
}

// A spanUse is a span of a window.
type spanUse struct {
	of *reading
	j  int
}

// cutTogether cuts the windows of readings, or returns false if a part would be of whole days and a span that has it is
// not, or the other way round: hits that were imported by day are in rows of days alone.
func cutTogether(readings []*reading, days *zone.Zone) (c cutWindows, ok bool) {
	whole := func(s Span) bool { return days.Begins(s.FromHour) && (s.ToHour == Endless || days.Begins(s.ToHour)) }
	var cuts []uint32
	for _, r := range readings {
		c.each = c.each || r.query.Counted != nil
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
			if j < 0 {
				continue
			}
			if whole(part) != whole(r.window.spans[j]) {
				return c, false
			}
			uses, wanted = append(uses, spanUse{r, j}), wanted|r.query.Parts
		}
		if len(uses) > 0 {
			c.spans, c.wanted, c.uses = append(c.spans, part), append(c.wanted, wanted), append(c.uses, uses)
		}
	}
	c.putTogether()
	return c, true
}

// putTogether has the breakdowns of neighbouring spans of the same windows added up together: these have no breakdowns
// by span.
func (c *cutWindows) putTogether() {
	for j := range c.uses[:max(1, len(c.uses))-1] {
		same := slices.EqualFunc(c.uses[j], c.uses[j+1], func(a, b spanUse) bool { return a.of == b.of })
		if same && !c.each && c.wanted[j]&tally.Breakdowns != 0 {
			c.wanted[j] |= tally.WithNext
		}
	}
}

// cut cuts the windows of readings together if it can, else each by itself.
func cut(readings []*reading, days *zone.Zone) (all []cutWindows) {
	if c, ok := cutTogether(readings, days); ok {
		return []cutWindows{c}
	}
	for i := range readings {
		c, _ := cutTogether(readings[i:i+1], days) // whose parts are its spans
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

// Parts that a core adds up between two calls of pause take a millisecond or a few.
const (
	summedLinks  = 2048
	summedOwners = 32 // over summedSpans
	summedSpans  = 16
)

// sumSpans adds the figures of s, whose ids ascend, over the spans of c to its windows.
func (hs *Hits) sumSpans(ctx context.Context, q *Query, s *source, c *cutWindows) (err error) {
	view, beyond, err := openView(ctx, hs, func(p *pair) []pendingSpan {
		return s.pending(p, c.spans, tally.Visitors|tally.Breakdowns, hs.journal.Referrers)
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	for step := range slices.Chunk(s.summings(view, c), cores.Usable()) {
		if err := errors.Join(c.sum(step), q.pause(ctx)); err != nil {
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

// A summing adds up rows of the store, and calls yield as View.SumSpans does.
type summing func(yield func(j int, t *tally.Tally)) error

// summings returns what adds up s over the spans of c: each some links over all spans, or some owners over some spans.
func (s *source) summings(view View, c *cutWindows) (all []summing) {
	for part := range slices.Chunk(s.links, partSize(len(s.links), summedLinks)) {
		all = append(all, func(yield func(int, *tally.Tally)) error { return view.SumSpans(part, c.spans, c.wanted, yield) })
	}
	together := summedOwners
	if c.each {
		together = 1
	}
	size := partSize(len(c.spans), summedSpans)
	for part := range slices.Chunk(s.owners, together) {
		for first := 0; first < len(c.spans); first += size {
			end := min(first+size, len(c.spans))
			all = append(all, func(yield func(int, *tally.Tally)) error {
				return view.SumOwnerSpans(part, c.spans[first:end], c.wanted[first:end], func(j int, t *tally.Tally) { yield(first+j, t) })
			})
		}
	}
	return all
}

// sum adds the store's figures of a step, each of which a core reads. They are added one after the other, so that
// breakdowns with more values than are kept are the same each time.
func (c *cutWindows) sum(step []summing) error {
	reads := make([]func() error, len(step))
	turn := make(chan struct{}) // closed when those before are added
	close(turn)
	for i, read := range step {
		mine, next := turn, make(chan struct{})
		turn = next
		reads[i] = func() error {
			defer func() {
				<-mine
				close(next)
			}()
			return read(func(j int, t *tally.Tally) {
				<-mine
				c.add(j, t, true)
			})
		}
	}
	return atOnce(reads)
}
