package hit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"shunt/engine/index"
	"shunt/engine/internal/seams"
)

// A ranking of an owner with more than MaxScannedLinks links takes 20 to 50 ms for a million links in
// memory. So the first who asks for one waits, and then it is kept, and made again every minute by a
// loop. A link that has just got enough hits for a list, and was not ranked before, may be missing
// there for that time.
//
// Rejected: to make it again when somebody asks, which made one request in a minute slow; and to make
// it then beside the request, because after a quiet night the first list would be of yesterday.

// rankedLink is a link with its hits of all time.
type rankedLink struct {
	id, hits uint64
	key      index.Key
}

// before reports whether a comes before b in a ranking: it has more hits, or as many and is older.
func (a *rankedLink) before(b *rankedLink) bool {
	return a.hits > b.hits || a.hits == b.hits && a.id < b.id
}

// ranking is the links with the most hits of all time, in descending order, at most a number of them. No
// other link has more than beyond hits.
type ranking struct {
	links  []rankedLink
	beyond uint64
}

// A Ranking is that of a Subset, for TopLinks of the same links.
type Ranking struct{ ranking }

// rankLinks ranks the links of owners, the first MaxScannedLinks. Those of a subset, or of owners who have few links,
// are listed from the store; otherwise it goes over all links in memory.
//
// ranked is when a ranking that was kept was made; zero: it is new.
func (hs *Hits) rankLinks(owners []uint32, of Subset, pause func()) (r ranking, ranked time.Time, err error) {
	if !of.whole() {
		r, err = hs.rankAfter(owners, of, nil, seams.MaxScannedLinks, nil, pause)
		return r, ranked, err
	}
	if r, ranked, ok := hs.rankings.kept(owners, hs.now()); ok {
		return r, ranked, nil
	}
	n := 0
	few := newRanker(nil, seams.MaxScannedLinks)
	err = hs.eachLink(owners, Subset{}, func(id uint64, k index.KeyView) bool {
		few.add(id, hs.index.Hits(id), k.Own)
		n++
		return n <= seams.MaxScannedLinks
	})
	if err != nil || n <= seams.MaxScannedLinks {
		return few.ranking(), ranked, err
	}
	if r, err = hs.rankAfter(owners, Subset{}, nil, seams.MaxScannedLinks, nil, pause); err == nil {
		hs.rankings.keep(owners, r, hs.now())
	}
	return r, ranked, err
}

// eachLink calls fn for the links of owners in the store, or of a subset, until it returns false.
func (hs *Hits) eachLink(owners []uint32, of Subset, fn func(id uint64, k index.KeyView) bool) error {
	if of.Folder != 0 {
		err := hs.store.ListFolder(of.Folder, func(id uint64, k index.KeyView) bool {
			return of.In != nil && !of.In(k.Domain) || fn(id, k)
		})
		if err != nil {
			return fmt.Errorf("listing links of folder %d: %w", of.Folder, err)
		}
		return nil
	}
	more := true
	for _, owner := range owners {
		if !more {
			break
		}
		err := hs.store.ListLinks(owner, of.Tag, func(id uint64, k index.KeyView) bool {
			more = fn(id, k)
			return more
		})
		if err != nil {
			return fmt.Errorf("listing links of owner %d: %w", owner, err)
		}
	}
	return nil
}

// linksAtOnce is how many links are looked at between two calls of pause: some 100 µs.
const linksAtOnce = 4096

// rankAfter ranks the links of owners that come after one, nil: all, and returns the first most of them, but for those
// in without. Those of a subset it lists from the store; else it goes over all links in memory. It calls pause often.
func (hs *Hits) rankAfter(owners []uint32, of Subset, after *rankedLink, most int, without idSet, pause func()) (ranking, error) {
	ranker, seen := newRanker(after, most), 0
	ranker.without = without
	look := func() {
		if seen++; seen%linksAtOnce == 0 {
			pause()
		}
	}
	if !of.whole() {
		err := hs.eachLink(owners, of, func(id uint64, k index.KeyView) bool {
			look()
			ranker.add(id, hs.index.Hits(id), k.Own)
			return true
		})
		return ranker.ranking(), err
	}
	wanted := make(map[uint32]bool, len(owners))
	for _, owner := range owners {
		wanted[owner] = true
	}
	last, lastWanted := uint32(0), wanted[0] // neighbours often have one owner, and a map is slow
	hs.index.Each(func(l index.Link) {
		look()
		if owner := l.Owner(); owner != last {
			last, lastWanted = owner, wanted[owner]
		}
		if lastWanted {
			ranker.add(l.ID(), hs.index.Hits(l.ID()), func() index.Key { return l.Key(nil).Own() })
		}
	})
	return ranker.ranking(), nil
}

// A ranker finds the links of a ranking among many, with memory for twice as many as it has.
type ranker struct {
	after   *rankedLink // no link up to this one is wanted; nil: all are
	most    int
	without idSet        // not wanted
	found   []rankedLink // cut to most when there are twice as many
	last    *rankedLink  // the last of the first most, when it was cut; nil: it was not
	beyond  uint64       // the most hits of a link that was cut off
}

func newRanker(after *rankedLink, most int) *ranker { return &ranker{after: after, most: most} }

// add adds a link, if it has hits and may be in the ranking.
func (r *ranker) add(id, hits uint64, key func() index.Key) {
	x := rankedLink{id: id, hits: hits}
	if hits == 0 || r.after != nil && !r.after.before(&x) || r.without.has(id) {
		return
	}
	if r.last != nil && !x.before(r.last) {
		r.beyond = max(r.beyond, hits)
		return
	}
	x.key = key()
	if r.found = append(r.found, x); len(r.found) == 2*r.most {
		r.cut()
	}
}

func (r *ranker) cut() {
	slices.SortFunc(r.found, func(a, b rankedLink) int {
		return cmp.Or(cmp.Compare(b.hits, a.hits), cmp.Compare(a.id, b.id))
	})
	if len(r.found) > r.most {
		r.beyond = max(r.beyond, r.found[r.most].hits)
		r.found = r.found[:r.most]
		last := r.found[r.most-1]
		r.last = &last
	}
}

// ranking returns the ranking of all links that were added.
func (r *ranker) ranking() ranking {
	r.cut()
	return ranking{links: r.found, beyond: r.beyond}
}

// rankings keeps the rankings of owners with many links, 500 KB each, and refreshRankings makes them
// again while they are used. The zero value is ready for use; any goroutine may call its methods.
type rankings struct {
	mu struct {
		sync.Mutex
		recent []keptRanking // at most maxRankings, the one that was asked for last is the last
	}
	made atomic.Uint64 // rankings of all links in memory
	read atomic.Uint64 // links whose hits in a window were read
}

type keptRanking struct {
	owners []uint32
	ranking
	made, asked time.Time
}

const (
	maxRankings = 16

	// A ranking is made again after a minute, or later if that takes more than a hundredth of the
	// time. While a loop does that, no ranking is as old as rankingAge.
	rankingInterval    = time.Minute
	maxRankingInterval = 5 * time.Minute
	rankingAge         = 2 * maxRankingInterval
	rankingShare       = 100

	// unusedRanking is how long after its last use a ranking is still made again.
	unusedRanking = 24 * time.Hour

	// rankingPause leaves the cores to others. It is taken some 250 times for a million links.
	rankingPause = time.Millisecond
)

// kept returns the ranking of owners, if there is one that is not too old. It must not be changed.
func (k *rankings) kept(owners []uint32, now time.Time) (r ranking, made time.Time, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	at := k.findLocked(owners)
	if at < 0 || now.Sub(k.mu.recent[at].made).Abs() > rankingAge {
		return ranking{}, made, false
	}
	found := k.mu.recent[at]
	found.asked = now
	k.mu.recent = append(slices.Delete(k.mu.recent, at, at+1), found)
	return found.ranking, found.made, true
}

func (k *rankings) findLocked(owners []uint32) int {
	return slices.IndexFunc(k.mu.recent, func(r keptRanking) bool { return slices.Equal(r.owners, owners) })
}

// keep keeps the ranking of owners, which was asked for.
func (k *rankings) keep(owners []uint32, r ranking, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.made.Add(1)
	if at := k.findLocked(owners); at >= 0 {
		k.mu.recent = slices.Delete(k.mu.recent, at, at+1)
	}
	k.mu.recent = append(k.mu.recent, keptRanking{slices.Clone(owners), r, now, now})
	k.mu.recent = slices.Delete(k.mu.recent, 0, max(0, len(k.mu.recent)-maxRankings))
}

// replace replaces the ranking of owners, if it is still kept.
func (k *rankings) replace(owners []uint32, r ranking, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.made.Add(1)
	if at := k.findLocked(owners); at >= 0 {
		k.mu.recent[at].ranking, k.mu.recent[at].made = r, now
	}
}

// used returns the owners whose rankings have been asked for lately, and drops the other rankings.
func (k *rankings) used(now time.Time) (owners [][]uint32) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mu.recent = slices.DeleteFunc(k.mu.recent, func(r keptRanking) bool { return now.Sub(r.asked).Abs() > unusedRanking })
	for i := range k.mu.recent {
		owners = append(owners, k.mu.recent[i].owners)
	}
	return owners
}

// refreshRankings makes rankings again, so that nobody who asks for a list waits for one but the
// first.
func (hs *Hits) refreshRankings(ctx context.Context) {
	for interval := rankingInterval; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(interval):
		}
		start := time.Now()
		hs.RefreshRankings(ctx)
		interval = min(max(rankingInterval, rankingShare*time.Since(start)), maxRankingInterval)
	}
}

// RefreshRankings makes the rankings again that are in use.
func (hs *Hits) RefreshRankings(ctx context.Context) {
	for _, owners := range hs.rankings.used(hs.now()) {
		hs.refreshRanking(ctx, owners)
	}
}

// refreshRanking makes the ranking of owners again, unless ctx ends before.
func (hs *Hits) refreshRanking(ctx context.Context, owners []uint32) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	r, err := hs.rankAfter(owners, Subset{}, nil, seams.MaxScannedLinks, nil, func() {
		pause.Reset(rankingPause)
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
	})
	if err == nil && ctx.Err() == nil {
		hs.rankings.replace(owners, r, hs.now())
	}
}
