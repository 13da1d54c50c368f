package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"shunt/engine/index"
	"shunt/engine/tally"
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
// A ranking of an owner with more than MaxScannedLinks links takes 20 to 50 ms for a million links in
// memory. It is kept for a minute. So a link that was not among the first, and has just got so many
// hits that it belongs into the list, may be missing there for a minute.
//
// Rejected: reading all hour and day rows of the window, because rows of days are ordered by link
// (3 s for a million links); a summary of the most-hit links in each row of an owner, which makes
// every flush larger, changes the format, and is an estimate.

// LinkHits is one row of a list of the most-hit links.
type LinkHits struct {
	Code         string
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
func (e *Engine) TopLinks(ctx context.Context, owners []uint32, tag string, q Query, n int) (TopLinks, error) {
	if !e.Ready() {
		return TopLinks{}, ErrLoading
	}
	now := e.now()
	q.Interval = NoSeries
	w, err := q.window(e.kept(now), now, time.Time{})
	if err != nil {
		return TopLinks{}, err
	}
	if err := e.foldNow(ctx); err != nil { // first: afterwards all hits are in the counters
		return TopLinks{}, err
	}
	r, err := e.rankLinks(owners, tag)
	if err != nil {
		return TopLinks{}, err
	}
	t := topSearch{engine: e, ranking: r, spans: w.spans, n: n}
	if err := t.search(ctx); err != nil {
		return TopLinks{}, fmt.Errorf("hits of the links of owners: %w", err)
	}
	return t.list(ctx)
}

// rankedLink is a link with its hits of all time.
type rankedLink struct {
	id, hits uint64
	code     string
}

// ranking is the links with the most hits of all time, in descending order, at most
// MaxScannedLinks. No other link has more than beyond hits.
type ranking struct {
	links  []rankedLink
	beyond uint64
}

// rankLinks ranks the links of owners. Those of a tag, or of owners who have few links, are listed
// from the store; otherwise it goes over all links in memory.
func (e *Engine) rankLinks(owners []uint32, tag string) (r ranking, err error) {
	if r, ok := e.rankings.kept(owners, e.now()); ok && tag == "" {
		return r, nil
	}
	owned, err := e.scanLinks(owners, tag)
	switch {
	case errors.Is(err, ErrTooManyLinks) && tag == "":
		r = e.rankAll(owners)
		e.rankings.keep(owners, r, e.now())
		return r, nil
	case err != nil:
		return ranking{}, err
	}
	for i, id := range owned.ids {
		if hits := e.index.Hits(id); hits > 0 {
			r.links = append(r.links, rankedLink{id, hits, owned.codes[i]})
		}
	}
	r.sort()
	return r, nil
}

func (r *ranking) sort() {
	slices.SortFunc(r.links, func(a, b rankedLink) int {
		return cmp.Or(cmp.Compare(b.hits, a.hits), cmp.Compare(a.id, b.id))
	})
}

// rankAll ranks the links of owners in memory.
func (e *Engine) rankAll(owners []uint32) (r ranking) {
	links := make([]hitLink, 0, 2*maxScannedLinks) // cut to half when full
	wanted := make(map[uint32]bool, len(owners))
	for _, owner := range owners {
		wanted[owner] = true
	}
	last, lastWanted := uint32(0), wanted[0] // neighbours often have one owner, and a map is slow
	e.index.Each(func(l index.Link) {
		if owner := l.Owner(); owner != last {
			last, lastWanted = owner, wanted[owner]
		}
		if !lastWanted {
			return
		}
		hits := e.index.Hits(l.ID())
		if hits <= r.beyond {
			return
		}
		if links = append(links, hitLink{l, hits}); len(links) == cap(links) {
			links, r.beyond = cutToMostHit(links, r.beyond)
		}
	})
	if len(links) > maxScannedLinks {
		links, r.beyond = cutToMostHit(links, r.beyond)
	}
	for _, x := range links {
		r.links = append(r.links, rankedLink{x.link.ID(), x.hits, string(x.link.Code())})
		x.link.Release()
	}
	r.sort()
	return r
}

type hitLink struct {
	link index.Link
	hits uint64
}

// cutToMostHit keeps the MaxScannedLinks links with the most hits. It returns the most hits that any
// other link has; so far, that was before.
func cutToMostHit(links []hitLink, before uint64) (kept []hitLink, beyond uint64) {
	slices.SortFunc(links, func(a, b hitLink) int { return cmp.Compare(b.hits, a.hits) })
	return links[:maxScannedLinks], max(before, links[maxScannedLinks].hits)
}

// rankings keeps the rankings of owners with many links for a while: 500 KB each. The zero value is
// ready for use; any goroutine may call its methods.
type rankings struct {
	mu struct {
		sync.Mutex
		recent []keptRanking // at most maxRankings, the oldest first
	}
}

type keptRanking struct {
	owners []uint32
	ranking
	at time.Time
}

const (
	maxRankings = 16
	rankingAge  = time.Minute
)

// kept returns the ranking of owners, if there is one that is not too old. It must not be changed.
func (k *rankings) kept(owners []uint32, now time.Time) (ranking, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mu.recent = slices.DeleteFunc(k.mu.recent, func(r keptRanking) bool { return now.Sub(r.at).Abs() > rankingAge })
	at := slices.IndexFunc(k.mu.recent, func(r keptRanking) bool { return slices.Equal(r.owners, owners) })
	if at < 0 {
		return ranking{}, false
	}
	return k.mu.recent[at].ranking, true
}

func (k *rankings) keep(owners []uint32, r ranking, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mu.recent = append(k.mu.recent, keptRanking{slices.Clone(owners), r, now})
	k.mu.recent = k.mu.recent[max(0, len(k.mu.recent)-maxRankings):]
}

// topSearch looks for the most-hit links of a window.
type topSearch struct {
	engine  *Engine
	ranking ranking
	spans   []Span
	n       int
	hits    []uint64 // in the window, of the links that were read: ranking.links[:len(hits)]
	top     []int    // of ranking.links, descending: the n with the most hits in the window
}

// Links are read in blocks: of many, each costs less; of few, fewer are read in vain.
const (
	firstTopBlock  = 128
	topBlockGrowth = 2 // the next block has this many times as many links
)

// search reads links until no other can be in the list, or there are no more.
func (t *topSearch) search(ctx context.Context) error {
	links := t.ranking.links
	for block := firstTopBlock; len(t.hits) < len(links) && !t.certain(); block *= topBlockGrowth {
		first := len(t.hits)
		ids := make([]uint64, 0, block)
		for _, l := range links[first:min(first+block, len(links))] {
			ids = append(ids, l.id)
		}
		t.hits = append(t.hits, make([]uint64, len(ids))...)
		err := t.engine.readSpans(ctx, linkSource(ids...), t.spans, 0, func(i, _ int, x *tally.Tally, _ bool) { t.hits[first+i] += x.Hits })
		if err != nil {
			return err
		}
		t.rank(first)
	}
	return nil
}

// rank puts the links from first on that were read into the list.
func (t *topSearch) rank(first int) {
	for i := first; i < len(t.hits); i++ {
		if t.hits[i] > 0 && t.engine.stillNames(&t.ranking.links[i]) {
			t.top = append(t.top, i)
		}
	}
	slices.SortFunc(t.top, func(a, b int) int {
		return cmp.Or(cmp.Compare(t.hits[b], t.hits[a]), cmp.Compare(t.ranking.links[a].code, t.ranking.links[b].code))
	})
	t.top = t.top[:min(t.n, len(t.top))]
}

// stillNames reports whether a link that was ranked is not deleted.
func (e *Engine) stillNames(r *rankedLink) bool {
	l, ok := e.index.Resolve([]byte(r.code))
	if !ok {
		return false
	}
	defer l.Release()
	return l.ID() == r.id
}

// certain reports whether no link that was not read can be in the list. A link with as many hits as
// the last one might come before it, by its code.
func (t *topSearch) certain() bool {
	next := t.ranking.beyond
	if len(t.hits) < len(t.ranking.links) {
		next = t.ranking.links[len(t.hits)].hits
	}
	return next == 0 || len(t.top) == t.n && t.hits[t.top[t.n-1]] > next
}

// list returns the list, with visitors.
func (t *topSearch) list(ctx context.Context) (found TopLinks, err error) {
	if !t.certain() {
		found.Among = len(t.ranking.links)
	}
	ids := make([]uint64, len(t.top))
	for at, i := range t.top {
		ids[at] = t.ranking.links[i].id
	}
	totals := make([]tally.Tally, len(ids))
	err = t.engine.readSpans(ctx, linkSource(ids...), t.spans, tally.Visitors, func(i, _ int, x *tally.Tally, _ bool) { totals[i].Add(x) })
	if err != nil {
		return TopLinks{}, fmt.Errorf("visitors of the links of owners: %w", err)
	}
	found.Links = make([]LinkHits, len(ids))
	for at := range totals {
		x := &totals[at]
		found.Links[at] = LinkHits{Code: t.ranking.links[t.top[at]].code, Hits: x.Hits, Unique: min(x.Visitors.Count(), x.Hits)}
	}
	return found, nil
}
