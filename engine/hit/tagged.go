package hit

import (
	"context"
	"errors"
	"math"
	"slices"

	"shunt/engine/index"
	"shunt/engine/internal/seams"
	"shunt/engine/tally"
)

// Figures of a tag or a folder are read from the rows of its links, of which there may be a million: once for all
// windows of a page (sums.go).
//
// Rejected: rows of tags and folders like those of owners. A hit would count for each tag of its link, a link may have
// 32, and a tag that is given to a link or taken off, or a link that is moved, would move its figures of years.

// A subsetReading reads the figures of some links of owners, for several readings. It pauses like the first.
type subsetReading struct {
	hits     *Hits
	owners   []uint32
	of       Subset
	query    *Query
	readings []*reading
	ranker   *ranker // nil: no ranking was asked for
	imports  bool    // some link may have brought hits along that a window should mention
}

func (hs *Hits) readSubset(ctx context.Context, owners []uint32, of Subset, readings []*reading) (err error) {
	t := subsetReading{hits: hs, owners: owners, of: of, query: readings[0].query, readings: readings}
	first := uint32(math.MaxUint32)
	for _, r := range readings {
		first = min(first, r.window.from)
		if r.query.Rank {
			t.ranker = newRanker(nil, seams.MaxScannedLinks)
		}
	}
	if t.imports, err = hs.store.HasImports(first); err != nil {
		return err
	}
	for _, c := range cut(readings, hs.store.Zone()) {
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
	if c.each {
		var wanted tally.Parts
		for _, parts := range c.wanted {
			wanted |= parts
		}
		err = t.hits.readSpans(ctx, t.query, linkSource(links.ids...), c.spans, wanted, func(_, j int, x *tally.Tally, durable bool) { c.add(j, x, durable) })
	} else {
		all := linkSource(links.ids...)
		err = t.hits.sumSpans(ctx, t.query, &all, c)
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
