package ops

import (
	"cmp"
	"context"
	"math"
	"slices"

	"shunt/api/account"
	"shunt/engine"
)

// A Filter chooses hits by one of the lists of figures: those with some of its values.
type Filter struct {
	List string                  // referrers, countries, devices or browsers
	Has  func(value string) bool // reports whether a value, as answers name it, is one of them
}

// Filtered are figures of the hits that a filter chooses. Each list is kept by itself, so there are no visitors of
// these hits, and no other list.
type Filtered struct {
	Figures                // of all hits, but Series is of those that are chosen, without visitors
	Chosen  uint64         // hits; it may be too low where there were more referrers than are kept
	Values  []ValueFigures // that were chosen, with the most hits first
	Links   []FilteredLink // with the most chosen hits first; nil: the figures are of one link, or none were wanted
	Beyond  uint64         // a link that is not in Links has at most that many chosen hits
}

// A FilteredLink is a link with its hits, and those of them that a filter chooses.
type FilteredLink struct {
	Code, Host   string // as of a Link
	Hits, Chosen uint64
}

// Links are not kept by their values, so the most-hit ones are read: of filterScan links, those with the most chosen
// hits are in the list, up to filterShown.
const (
	filterScan  = 50
	filterShown = 10
)

// FilteredFigures returns, for each of queries, which one page shows and which are of the same links, figures of the
// hits of a link, or of all links of an owner or a folder (with code ""), that f chooses, in turn with other costly
// work. Only the first have Links. The handler must take a place with BeginHeavy before.
func (c *Calls) FilteredFigures(caller account.Caller, code string, queries []FiguresQuery, f Filter) (several []Filtered, err error) {
	if err := c.mayFilter(caller, code, &queries[0]); err != nil {
		return nil, err
	}
	err = c.inSteps(caller, func(pause func() error) (err error) {
		for i := range queries {
			queries[i].Pause = pause
			queries[i].count(f)
			queries[i].useDays(c.o.Engine)
		}
		if code == "" {
			several, err = c.filteredLinks(caller.Domains, queries, f)
			return err
		}
		for i := 0; i < len(queries) && err == nil; i++ {
			var found Filtered
			found, err = c.filteredLink(code, &queries[i], f)
			several = append(several, found)
		}
		return err
	})
	return several, err
}

// mayFilter reports whether the caller may see the hits of a link, or of all links that q is about.
func (c *Calls) mayFilter(caller account.Caller, code string, q *FiguresQuery) (err error) {
	if code == "" {
		return c.maySumAll(caller, q)
	}
	_, err = c.Find(caller, code, q.Whose)
	return err
}

// count has q count the hits that f chooses.
func (q *FiguresQuery) count(f Filter) {
	d := f.dimension()
	q.include.list(f.List)
	q.Parts = q.include.parts()
	q.Counted = func(x *engine.Dimensions) (hits uint64) {
		for _, v := range x[d] {
			if f.Has(namedValue(d, v.Value)) {
				hits += v.Hits
			}
		}
		return hits
	}
}

func (f *Filter) dimension() engine.Dimension {
	return engine.Dimension(slices.Index(listNames[:], f.List))
}

// filteredLink returns the figures of one link.
func (c *Calls) filteredLink(code string, q *FiguresQuery, f Filter) (found Filtered, err error) {
	r, err := c.o.Engine.LinkReport(context.Background(), q.Whose.key(code), q.Query)
	if err == nil {
		found = q.filtered(&r, f)
	}
	return found, err
}

// filteredLinks returns the figures of all links of an owner, of those with a tag, or of a folder, and, for the
// first query, which links have the most chosen hits.
func (c *Calls) filteredLinks(may account.Domains, queries []FiguresQuery, f Filter) (several []Filtered, err error) {
	reports, about, err := c.ownerReports(may, queries)
	if err != nil {
		return nil, err
	}
	for i := range queries {
		several = append(several, queries[i].filtered(&reports[i], f))
	}
	first, q := &several[0], &queries[0]
	first.Links = []FilteredLink{}
	if first.Chosen == 0 {
		return several, nil
	}
	asked := q.Query
	asked.From, asked.To, asked.Ranking = reports[0].From, reports[0].To, reports[0].Ranking
	top, err := c.o.Engine.TopLinks(context.Background(), about.owners, about.of, asked, filterScan)
	if err != nil {
		return nil, err
	}
	first.rank(&top, c.HostIn)
	return several, nil
}

// A subject is which links figures are of.
type subject struct {
	owners []uint32
	of     engine.Subset
}

// subjectOf returns which links q is about. Of a folder they are those of the domains that are in may.
func (c *Calls) subjectOf(may account.Domains, q *FiguresQuery) (about subject, err error) {
	if q.folder == 0 {
		about.of.Tag = q.tag
		about.owners, err = c.figureOwners(may, q.Whose)
		return about, err
	}
	about.of.Folder = q.folder
	about.of.In = func(n engine.Domain) bool { return may.Has(n) && (q.Whose.Every || n == q.Whose.Domain) }
	return about, nil
}

// ownerReports returns the reports of queries, which are of the same links, and which these are.
func (c *Calls) ownerReports(may account.Domains, queries []FiguresQuery) (reports []engine.Report, about subject, err error) {
	if about, err = c.subjectOf(may, &queries[0]); err != nil {
		return nil, about, err
	}
	asked := make([]engine.Query, len(queries))
	for i := range queries {
		asked[i] = queries[i].Query
		asked[i].Rank = queries[i].top > 0 || queries[i].Counted != nil
	}
	reports, err = c.o.Engine.OwnerReports(context.Background(), about.owners, about.of, asked)
	return reports, about, err
}

// rank puts the most-hit links with the most chosen hits into the list; host returns the host of a domain.
func (found *Filtered) rank(top *engine.TopLinks, host func(engine.Domain) string) {
	found.Beyond, found.TopRanked = top.Beyond, top.Ranked
	if len(top.Links) == filterScan {
		found.Beyond = max(found.Beyond, top.Links[filterScan-1].Hits)
	}
	for _, l := range top.Links {
		if l.Counted > 0 {
			found.Links = append(found.Links, FilteredLink{l.Code, host(l.Domain), l.Hits, l.Counted})
		}
	}
	slices.SortStableFunc(found.Links, func(a, b FilteredLink) int { return cmp.Compare(b.Chosen, a.Chosen) })
	if len(found.Links) > filterShown {
		found.Beyond = max(found.Beyond, found.Links[filterShown].Chosen)
		found.Links = found.Links[:filterShown]
	}
	found.Beyond = min(found.Beyond, found.Chosen)
}

// filtered returns the figures of a report.
func (q *FiguresQuery) filtered(r *engine.Report, f Filter) Filtered {
	d, found := f.dimension(), Filtered{Figures: q.answer(r), Chosen: min(r.Counted, r.Hits)}
	for _, v := range shownValues(d, r.Dimensions[d], math.MaxUint64) {
		if v.Value != OtherValues && f.Has(v.Value) {
			found.Values = append(found.Values, v)
		}
	}
	return found
}
