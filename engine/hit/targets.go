package hit

import (
	"context"
	"errors"
	"maps"
	"slices"

	"shunt/engine/index"
	"shunt/engine/internal/errs"
	"shunt/engine/tally"
)

// Once a link has several targets, each of its hits has the number of one of them, its own url included: then it counts
// for the link and, under tally.TargetID, for the target. So each target has hits, visitors and breakdowns of its own,
// which go the way of those of links. Hits without a number are those of a link with one target, which costs nothing.
// Their hits are what the targets lack of the link; of their visitors nothing is known.

// TargetHits are the figures of one target of a link.
type TargetHits struct {
	Target       uint8  // its number; 0: the hits without one, if there are any
	Hits, Unique uint64 // Unique is 0 for Target 0
}

// bucket is the part of a Tally that a bucket of a series, or a target, shows.
type bucket struct {
	hits     uint64
	visitors tally.Sketch
}

// targetSums adds up figures by the number of a target.
type targetSums map[uint8]*bucket

func (s targetSums) add(target uint8, t *tally.Tally) {
	b := s[target]
	if b == nil {
		b = new(bucket)
		s[target] = b
	}
	b.hits += t.Hits
	b.visitors.Unite(t.Visitors)
}

// list returns the figures of the targets with hits, of a link with hits in all, by number: together they have as many.
func (s targetSums) list(hits uint64) []TargetHits {
	all := []TargetHits{}
	for _, n := range slices.Sorted(maps.Keys(s)) {
		if b := s[n]; b.hits > 0 {
			all = append(all, TargetHits{n, b.hits, min(b.visitors.Count(), b.hits)})
			hits -= min(hits, b.hits)
		}
	}
	if hits > 0 {
		all = slices.Insert(all, 0, TargetHits{Hits: hits})
	}
	return all
}

// talliesOf returns the ids of the tallies of a link and of all targets that it could have, by number.
func talliesOf(link uint64) []uint64 {
	ids := make([]uint64, tally.NumTargets)
	for n := range ids {
		ids[n] = tally.TargetID(link, uint8(n))
	}
	return ids
}

// talliesIn returns the ids of the tallies of a link and of those of its targets that view has.
func talliesIn(view View, link uint64) ([]uint64, error) {
	ids := []uint64{link}
	numbers, err := view.Targets(link)
	for _, n := range numbers {
		ids = append(ids, tally.TargetID(link, n))
	}
	return ids, err
}

// TargetsHit returns the numbers of the targets of a link that were ever hit, ascending. Errors: ErrNotFound if k has
// no live link, ErrLoading.
func (hs *Hits) TargetsHit(ctx context.Context, k index.Key) ([]uint8, error) {
	if !hs.links.Ready() {
		return nil, errs.ErrLoading
	}
	l, ok := hs.index.Resolve(k.View())
	if !ok {
		return nil, errs.ErrNotFound
	}
	id := l.ID()
	l.Release()
	if err := hs.FoldNow(ctx); err != nil {
		return nil, err
	}
	sums, _, _, err := hs.targetLives(ctx, id, 0)
	return slices.Sorted(maps.Keys(sums)), err
}

// targetLives is life, and the figures over all time of the targets of the link: all of one moment.
func (hs *Hits) targetLives(ctx context.Context, id uint64, wanted tally.Parts) (
	sums targetSums, whole tally.Tally, durableHits uint64, err error,
) {
	view, beyond, err := openView(ctx, hs, func(p *pair) []tally.Tally {
		tallies := make([]tally.Tally, tally.NumTargets)
		for n, of := range talliesOf(id) {
			p.links.AddTo(of, wanted, hs.journal.Referrers, &tallies[n])
		}
		return tallies
	})
	if err != nil {
		return nil, whole, 0, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	stored, err := talliesIn(view, id)
	if err != nil {
		return nil, whole, 0, err
	}
	sums = make(targetSums)
	add := func(target uint8, t *tally.Tally) {
		if target == 0 {
			whole.Add(t)
		} else if t.Hits > 0 {
			sums.add(target, t)
		}
	}
	for _, of := range stored {
		t, err := view.ReadLife(of, wanted)
		if err != nil {
			return nil, whole, 0, err
		}
		_, target := tally.SplitID(of)
		add(target, &t)
	}
	durableHits = whole.Hits
	for i := range beyond {
		for n := range beyond[i] {
			add(uint8(n), &beyond[i][n])
		}
	}
	return sums, whole, durableHits, nil
}
