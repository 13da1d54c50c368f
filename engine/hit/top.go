package hit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"shunt/engine/index"
	"shunt/engine/internal/errs"
	"shunt/engine/tally"
	"shunt/engine/zone"
)

// A query for the most-hit links of a window cannot read the figures of all links of an owner who
// has a million. But no link has more hits in a window than in all, and the hits of all time are
// in memory. So links are read in descending order of those, until the last link of the list has
// at least as many hits in the window as the next link has in all: then no other link belongs into
// the list (Fagin's threshold algorithm, with one list). With hits by a Zipf distribution over
// 50,000 links and 400 days, the ten most-hit links of a week are certain after about 1,000 links.
// Traffic that has just moved to other links may need more; after MaxScannedLinks, the list is
// complete only among those.
//
// A window by the hour has many rows for each link that is read. So there, the links are read over
// the whole days around the window, which takes a row or two for each; and over the window itself
// only those that had enough hits in these days.
//
// Rejected: reading all hour and day rows of the window, because rows of days are ordered by link
// (3 s for a million links); a summary of the most-hit links in each row of an owner, which makes
// every flush larger, changes the format, and is an estimate.

// LinkHits is one row of a list of the most-hit links.
type LinkHits struct {
	index.Key
	Hits, Unique uint64
}

// TopLinks is a list of the most-hit links of a window.
type TopLinks struct {
	Links []LinkHits // descending; without links that have no hits

	// Among is not 0 if more than that many links might belong into the list: then it is the list
	// of the Among links with the most hits of all time.
	Among int
}

// TopLinks returns the n live links of owners with the most hits in the window; with a tag, only
// links that have it. Errors: InvalidError, ErrTooManyLinks if more than MaxScannedLinks links have
// the tag, ErrLoading.
func (hs *Hits) TopLinks(ctx context.Context, owners []uint32, tag string, q Query, n int) (TopLinks, error) {
	if !hs.links.Ready() {
		return TopLinks{}, errs.ErrLoading
	}
	now := hs.now()
	q.Interval = NoSeries
	w, err := q.window(hs.kept(now), now, time.Time{})
	if err != nil {
		return TopLinks{}, err
	}
	if err := hs.FoldNow(ctx); err != nil { // first: afterwards all hits are in the counters
		return TopLinks{}, err
	}
	r, err := hs.rankLinks(owners, tag)
	if err != nil {
		return TopLinks{}, err
	}
	t := topSearch{hits: hs, ranking: r, query: &q, spans: w.spans, days: daysAround(hs.store.Zone(), w.spans), n: n}
	if err := t.search(ctx); err != nil {
		return TopLinks{}, fmt.Errorf("hits of the links of owners: %w", err)
	}
	return t.list(ctx)
}

// topSearch looks for the most-hit links of a window.
type topSearch struct {
	hits    *Hits
	ranking ranking
	query   *Query
	spans   []Span
	days    []Span // around spans, if these are of hours: see daysAround
	n       int
	read    int          // ranking.links[:read] were read
	queue   []windowHits // descending, with their hits in days: they may be in the list
	top     []windowHits // descending: the n with the most hits in the window
}

// windowHits is ranking.links[i] with its hits in some window.
type windowHits struct {
	i    int
	hits uint64
}

// Links are read in blocks: of many, each costs less; of few, fewer are read in vain.
const (
	firstTopBlock  = 128
	topBlockGrowth = 2 // the next block has this many times as many links
	hourlyTopBlock = 16
)

// search reads links until no other can be in the list, or there are no more.
func (t *topSearch) search(ctx context.Context) error {
	for size := firstTopBlock; t.read < len(t.ranking.links) && !t.certain(); size *= topBlockGrowth {
		block := make([]windowHits, min(size, len(t.ranking.links)-t.read))
		for i := range block {
			block[i].i = t.read + i
		}
		t.read += len(block)
		if t.days == nil {
			if err := t.readInto(ctx, block, t.spans); err != nil {
				return err
			}
			t.rank(block)
			continue
		}
		if err := t.readInto(ctx, block, t.days); err != nil {
			return err
		}
		t.queue = append(t.queue, block...)
		slices.SortFunc(t.queue, func(a, b windowHits) int { return cmp.Compare(b.hits, a.hits) })
		if err := t.readQueue(ctx); err != nil {
			return err
		}
	}
	return nil
}

// readQueue reads the links of the queue that may be in the list.
func (t *topSearch) readQueue(ctx context.Context) error {
	for len(t.queue) > 0 && t.queue[0].hits > 0 && t.queue[0].hits >= t.least() {
		block := t.queue[:min(hourlyTopBlock, len(t.queue))]
		t.queue = t.queue[len(block):]
		for i := range block {
			block[i].hits = 0
		}
		if err := t.readInto(ctx, block, t.spans); err != nil {
			return err
		}
		t.rank(block)
	}
	return nil
}

// least returns the hits that a link needs to be in the list.
func (t *topSearch) least() uint64 {
	if len(t.top) < t.n {
		return 0
	}
	return t.top[t.n-1].hits
}

// readInto adds the hits of links over spans to them.
func (t *topSearch) readInto(ctx context.Context, links []windowHits, spans []Span) error {
	ids := make([]uint64, len(links))
	for at := range links {
		ids[at] = t.ranking.links[links[at].i].id
	}
	return t.hits.readSpans(ctx, t.query, linkSource(ids...), spans, 0, func(at, _ int, x *tally.Tally, _ bool) { links[at].hits += x.Hits })
}

// rank puts links, which were read over the window, into the list.
func (t *topSearch) rank(links []windowHits) {
	least := t.least() // of the list as it is in order; below, it is not
	for _, l := range links {
		if l.hits > 0 && l.hits >= least && t.hits.stillNames(&t.ranking.links[l.i]) {
			t.top = append(t.top, l)
		}
	}
	slices.SortFunc(t.top, func(a, b windowHits) int {
		return cmp.Or(cmp.Compare(b.hits, a.hits), t.ranking.links[a.i].key.Compare(t.ranking.links[b.i].key))
	})
	t.top = t.top[:min(t.n, len(t.top))]
}

// stillNames reports whether a link that was ranked is not deleted.
func (hs *Hits) stillNames(r *rankedLink) bool {
	l, ok := hs.index.Resolve(r.key.View())
	if !ok {
		return false
	}
	defer l.Release()
	return l.ID() == r.id
}

// certain reports whether no link that was not read can be in the list. A link with as many hits as
// the last one might come before it, by its key.
func (t *topSearch) certain() bool {
	next := t.ranking.beyond
	if t.read < len(t.ranking.links) {
		next = t.ranking.links[t.read].hits
	}
	return next == 0 || len(t.top) == t.n && t.least() > next
}

// list returns the list, with visitors.
func (t *topSearch) list(ctx context.Context) (found TopLinks, err error) {
	if !t.certain() {
		found.Among = len(t.ranking.links)
	}
	ids := make([]uint64, len(t.top))
	for at := range t.top {
		ids[at] = t.ranking.links[t.top[at].i].id
	}
	totals := make([]tally.Tally, len(ids))
	err = t.hits.readSpans(ctx, t.query, linkSource(ids...), t.spans, tally.Visitors, func(i, _ int, x *tally.Tally, _ bool) { totals[i].Add(x) })
	if err != nil {
		return TopLinks{}, fmt.Errorf("visitors of the links of owners: %w", err)
	}
	found.Links = make([]LinkHits, len(ids))
	for at := range totals {
		x := &totals[at]
		found.Links[at] = LinkHits{Key: t.ranking.links[t.top[at].i].key, Hits: x.Hits, Unique: min(x.Visitors.Count(), x.Hits)}
	}
	return found, nil
}

// fewHours is how many hours of a window are read for each link: an hour costs about as much as a
// day.
const fewHours = 4

// daysAround returns the whole days that have spans in them, or nil if these are of days, or of few
// hours. No link has more hits in spans than in these days.
func daysAround(days *zone.Zone, spans []Span) []Span {
	var hours uint32
	around := spans[0]
	for _, s := range spans {
		if !days.Begins(s.FromHour) || !days.Begins(s.ToHour) {
			hours += s.ToHour - s.FromHour
		}
		around.FromHour, around.ToHour = min(around.FromHour, s.FromHour), max(around.ToHour, s.ToHour)
	}
	if hours <= fewHours {
		return nil
	}
	return []Span{{days.Floor(around.FromHour), days.Ceil(around.ToHour)}}
}
