package hit

import (
	"cmp"
	"context"
	"errors"
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
// Traffic that has just moved to other links needs more, at worst all that have hits: then they are ranked in turns
// of more and more links, so that memory stays bounded. A caller with less time limits the links that are read
// (Query.MaxLinks), and is told how many hits another link may have. A link that is hit while the list is made may be
// missing.
//
// Once a ranking has not sufficed, those after it leave out links whose last hit was before the window, which the
// summaries of links say: one pass over a small row of each link that was ever hit, and over the hours that are not
// summarised yet. So a list of a day, of an owner whose links are many and old, reads the figures of those that were
// hit since, not of all. Pages do not pay for that pass: they say how many hits a link may have that they have not read
// (Beyond), and when links were ranked (Ranked).
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
	Counted      uint64 // the hits that Query.Counted counts
}

// TopLinks is a list of the most-hit links of a window.
type TopLinks struct {
	Links []LinkHits // descending; without links that have no hits

	// Beyond is not 0 if Query.MaxLinks kept links from being read: these have at most that many hits.
	Beyond uint64

	// Ranked is when the links were ranked by their hits of all time, in which order they are read. A link that was hit
	// much since then may be missing. Zero: they were ranked for this list.
	Ranked time.Time
}

// TopLinks returns the n live links of owners with the most hits in the window, or of a subset. Errors: InvalidError,
// ErrLoading.
func (hs *Hits) TopLinks(ctx context.Context, owners []uint32, of Subset, q Query, n int) (TopLinks, error) {
	if !hs.links.Ready() {
		return TopLinks{}, errs.ErrLoading
	}
	now := hs.now()
	if q.Interval == Daily || q.From.IsZero() { // hours with a From are read as in a series of them: without imported hits
		q.Interval = NoSeries
	}
	w, err := q.window(hs.kept(now), now, time.Time{})
	if err != nil {
		return TopLinks{}, err
	}
	if err := hs.FoldNow(ctx); err != nil { // first: afterwards all hits are in the counters
		return TopLinks{}, err
	}
	r, ranked, err := hs.rankFor(ctx, owners, of, &q)
	if err != nil {
		return TopLinks{}, err
	}
	t := topSearch{hits: hs, ranked: ranked, owners: owners, of: of, ranking: r, query: &q, spans: w.spans, days: daysAround(hs.store.Zone(), w.spans), n: n}
	if err := t.search(ctx); err != nil {
		return TopLinks{}, fmt.Errorf("hits of the links of owners: %w", err)
	}
	return t.list(ctx)
}

// rankFor returns the ranking that q has, or ranks the links.
func (hs *Hits) rankFor(ctx context.Context, owners []uint32, of Subset, q *Query) (r ranking, ranked time.Time, err error) {
	if !of.whole() && q.Ranking != nil {
		return q.Ranking.ranking, ranked, nil
	}
	var paused error
	r, ranked, err = hs.rankLinks(owners, of, func() {
		if paused == nil {
			paused = q.pause(ctx)
		}
	})
	return r, ranked, errors.Join(err, paused)
}

// topSearch looks for the most-hit links of a window.
type topSearch struct {
	hits    *Hits
	owners  []uint32
	of      Subset
	ranking ranking   // the links to read next; those of the rankings before were read
	ranked  time.Time // when ranking was made; zero: for this list
	passed  int       // links of the rankings before
	quiet   idSet     // links without hits in the window, as far as it is known; nil: nobody asked
	query   *Query
	spans   []Span
	days    []Span // around spans, if these are of hours: see daysAround
	n       int
	read    int          // ranking.links[:read] were read
	top     []windowHits // descending: the n with the most hits in the window
}

// windowHits is a link with its hits in some window.
type windowHits struct {
	link rankedLink
	hits uint64
}

// Links are read in blocks: of many, each costs less; of few, fewer are read in vain. The ten most-hit links of a year
// are mostly certain after the first block: with one of 128 links, such a list took four times as long.
const (
	firstTopBlock  = 16
	topBlockGrowth = 2 // the next block has this many times as many links
	hourlyTopBlock = 16
	maxTopBlock    = 8192

	// A ranking after another one has this many times as many links, up to maxRanking: 20 MB.
	rankingGrowth = 4
	maxRanking    = 160_000
)

// search reads links until no other can be in the list, or there are no more.
func (t *topSearch) search(ctx context.Context) error {
	for size := firstTopBlock; !t.certain() && !t.limited(); size = min(topBlockGrowth*size, maxTopBlock) {
		if t.read == len(t.ranking.links) {
			if err := t.rankMore(ctx); err != nil {
				return err
			}
		}
		block := make([]windowHits, min(size, len(t.ranking.links)-t.read))
		for i := range block {
			block[i].link = t.ranking.links[t.read+i]
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
		slices.SortFunc(block, func(a, b windowHits) int { return cmp.Compare(b.hits, a.hits) })
		if err := t.readHours(ctx, block); err != nil {
			return err
		}
	}
	return nil
}

// limited reports whether the query lets no more links be read.
func (t *topSearch) limited() bool {
	return t.query.MaxLinks > 0 && t.passed+t.read >= t.query.MaxLinks && t.read == len(t.ranking.links)
}

// rankMore ranks links after those that were ranked. Rankings grow, since each looks at all links.
func (t *topSearch) rankMore(ctx context.Context) (err error) {
	if t.quiet == nil {
		if t.quiet, err = t.hits.quietLinks(ctx, t.query, t.spans[0].FromHour); err != nil {
			return err
		}
	}
	var paused error
	links := t.ranking.links
	next, err := t.hits.rankAfter(t.owners, t.of, &links[len(links)-1], min(rankingGrowth*len(links), maxRanking), t.quiet, func() {
		if paused == nil {
			paused = t.query.pause(ctx)
		}
	})
	t.passed += len(links)
	t.ranking, t.read = next, 0
	return errors.Join(err, paused)
}

// quietLinks returns links that have no hits in hour or later. A link that is not among them may have none either.
func (hs *Hits) quietLinks(ctx context.Context, q *Query, hour uint32) (quiet idSet, err error) {
	quiet = make(idSet)
	view, beyond, err := openView(ctx, hs, func(p *pair) (hit []uint64) {
		for id := range p.links.LinksSince(hour) {
			hit = append(hit, id)
		}
		return hit
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	n := 0
	err = view.LastHits(hour, func(id uint64, is bool) error {
		quiet.set(id, is)
		if n++; n%linksAtOnce != 0 {
			return nil
		}
		return q.pause(ctx)
	})
	for _, ids := range beyond {
		for _, id := range ids {
			quiet.set(id, false)
		}
	}
	return quiet, err
}

// An idSet is a set of ids: a bit for each in words of 64, which a map has by the id of the first. Ids are dense.
type idSet map[uint64]uint64

func (s idSet) set(id uint64, in bool) {
	bit := uint64(1) << (id % 64)
	switch word, found := s[id/64]; {
	case in:
		s[id/64] = word | bit
	case found:
		s[id/64] = word &^ bit
	}
}

func (s idSet) has(id uint64) bool { return s[id/64]>>(id%64)&1 != 0 }

// readHours reads those of queue that may be in the list, over the window. They have their hits in the days around it,
// and are in the order of these.
func (t *topSearch) readHours(ctx context.Context, queue []windowHits) error {
	for len(queue) > 0 && queue[0].hits > 0 && queue[0].hits >= t.least() {
		block := queue[:min(hourlyTopBlock, len(queue))]
		queue = queue[len(block):]
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
		ids[at] = links[at].link.id
	}
	t.hits.rankings.read.Add(uint64(len(ids)))
	return t.hits.readEach(ctx, t.query, ids, spans, 0, func(at int, x *tally.Tally) { links[at].hits += x.Hits })
}

// rank puts links, which were read over the window, into the list.
func (t *topSearch) rank(links []windowHits) {
	least := t.least() // of the list as it is in order; below, it is not
	for _, l := range links {
		if l.hits > 0 && l.hits >= least && t.hits.stillNames(&l.link) {
			t.top = append(t.top, l)
		}
	}
	slices.SortFunc(t.top, func(a, b windowHits) int {
		return cmp.Or(cmp.Compare(b.hits, a.hits), a.link.key.Compare(b.link.key))
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
	return t.next() == 0 || len(t.top) == t.n && t.least() > t.next()
}

// next returns the hits of all time of the link to read next; 0: there is none.
func (t *topSearch) next() uint64 {
	if t.read < len(t.ranking.links) {
		return t.ranking.links[t.read].hits
	}
	return t.ranking.beyond
}

// list returns the list, with visitors.
func (t *topSearch) list(ctx context.Context) (found TopLinks, err error) {
	if !t.certain() {
		found.Beyond = t.next()
	}
	found.Ranked = t.ranked
	ids := make([]uint64, len(t.top))
	for at := range t.top {
		ids[at] = t.top[at].link.id
	}
	found.Links = make([]LinkHits, len(ids))
	wanted := tally.Visitors
	if t.query.Counted != nil {
		wanted |= t.query.Parts
	}
	visitors := make([]tally.Sketch, len(ids))
	err = t.hits.readEach(ctx, t.query, ids, t.spans, wanted, func(i int, x *tally.Tally) {
		found.Links[i].Hits += x.Hits
		visitors[i].Unite(x.Visitors)
		if t.query.Counted != nil {
			found.Links[i].Counted += t.query.Counted(&x.Dimensions)
		}
	})
	if err != nil {
		return TopLinks{}, fmt.Errorf("visitors of the links of owners: %w", err)
	}
	for at := range found.Links {
		l := &found.Links[at]
		l.Key, l.Unique = t.top[at].link.key, min(visitors[at].Count(), l.Hits)
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
