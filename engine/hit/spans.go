package hit

import (
	"context"
	"errors"
	"slices"

	"shunt/engine/index"
	"shunt/engine/internal/clock"
	"shunt/engine/internal/cores"
	"shunt/engine/journal"
	"shunt/engine/tally"
)

// source is the subject of figures: links, or owners.
type source struct {
	links   []uint64    // or tallies of targets
	targets bool        // of the one link, with those of all its targets
	keys    []index.Key // of links, if their imported hits count
	owners  []uint32
}

func linkSource(ids ...uint64) source { return source{links: ids} }

// pendingSpan is the pending tally of links[i], or owners[i], in spans[j].
type pendingSpan struct {
	i, j  int
	tally tally.Tally
}

// readSpans calls add with tallies of links[i] over spans[j]: any number of times for each i and j, to be added up; of
// a link with its targets, i is the number of the target, and 0 the link. durable says whether the tally is the
// store's. The tally is valid only during the call. Of q it only pauses.
func (hs *Hits) readSpans(
	ctx context.Context, q *Query, s source, spans []Span, wanted tally.Parts, add func(i, j int, t *tally.Tally, durable bool),
) (err error) {
	view, beyond, err := openView(ctx, hs, func(p *pair) []pendingSpan { return s.pending(p, spans, wanted, hs.journal.Referrers) })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	links := s.links
	if s.targets {
		if links, err = talliesIn(view, links[0]); err != nil {
			return err
		}
	}
	err = view.ReadSpans(links, spans, wanted, func(i, j int, t *tally.Tally) error {
		if s.targets {
			_, target := tally.SplitID(links[i])
			i = int(target)
		}
		add(i, j, t, true)
		return q.pause(ctx)
	})
	if err != nil {
		return err
	}
	for _, part := range beyond {
		for i := range part {
			add(part[i].i, part[i].j, &part[i].tally, false)
		}
	}
	return nil
}

// rowsAtOnce is how many rows of a link a core reads between two calls of pause: a millisecond or two; a row with
// visitors takes rowsOfVisitors times as long.
const (
	rowsAtOnce     = 2048
	rowsOfVisitors = 16
)

// readEach calls add with tallies of each link over spans, any number of times, to be added up. Several goroutines call
// it at once, but for one link only one.
func (hs *Hits) readEach(ctx context.Context, q *Query, links []uint64, spans []Span, wanted tally.Parts, add func(i int, t *tally.Tally)) (err error) {
	s := linkSource(links...)
	view, beyond, err := openView(ctx, hs, func(p *pair) []pendingSpan { return s.pending(p, spans, wanted, hs.journal.Referrers) })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	var reads []func() error
	size := partSize(len(links), linksAtATime(spans, wanted))
	for first := 0; first < len(links); first += size {
		part := links[first:min(first+size, len(links))]
		reads = append(reads, func() error {
			return view.ReadSpans(part, spans, wanted, func(i, _ int, t *tally.Tally) error {
				add(first+i, t)
				return nil
			})
		})
	}
	for step := range slices.Chunk(reads, cores.Usable()) {
		if err := errors.Join(atOnce(step), q.pause(ctx)); err != nil {
			return err
		}
	}
	for _, part := range beyond {
		for i := range part {
			add(part[i].i, &part[i].tally)
		}
	}
	return nil
}

// linksAtATime returns how many links a core reads over spans between two calls of pause.
func linksAtATime(spans []Span, wanted tally.Parts) int {
	rows := uint32(1)
	for _, s := range spans {
		hours := s.ToHour - s.FromHour
		rows += min(hours, clock.HoursPerDay) + hours/clock.HoursPerDay
	}
	if wanted != 0 {
		rows *= rowsOfVisitors
	}
	return int(max(1, rowsAtOnce/rows))
}

// pending returns the tallies that p has of s.
func (s *source) pending(p *pair, spans []Span, wanted tally.Parts, names *journal.Referrers) (found []pendingSpan) {
	d, ids := &p.links, s.links
	if s.targets {
		ids = talliesOf(ids[0])
	}
	if len(s.owners) > 0 {
		d, ids = &p.owners, make([]uint64, len(s.owners))
		for i, owner := range s.owners {
			ids[i] = uint64(owner)
		}
	}
	for _, hour := range d.Hours() {
		j := slices.IndexFunc(spans, func(x Span) bool { return x.FromHour <= hour && hour < x.ToHour })
		if j < 0 {
			continue
		}
		for i, id := range ids {
			var t tally.Tally
			if d.AddHourTo(hour, id, wanted, names, &t) {
				found = append(found, pendingSpan{i, j, t})
			}
		}
	}
	return found
}
