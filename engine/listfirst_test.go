package engine_test

import (
	"fmt"
	"slices"
	"testing"

	"shunt/engine"
	"shunt/engine/expect"
)

// TestLinksWithTheCodeComeFirstFromEveryDomain: all with the code, in the order of the domains, or else of each domain
// the only one that differs by case; by pages of every size, also of fewer links than come first.
func TestLinksWithTheCodeComeFirstFromEveryDomain(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	make := func(d engine.Domain, code, title string) {
		e.make(t, engine.Draft{Owner: engine.OwnerIn(d, 1), Domain: d, Alias: code, Texts: engine.Texts{Title: title}, Target: fmt.Sprintf("https://example.com/%d/%s", d, code)})
	}
	for _, d := range []engine.Domain{1, 2, engine.DefaultDomain} {
		make(d, "news", "")
		make(d, "other", "news")
	}
	make(3, "News", "")
	make(4, "NEWS", "")
	make(engine.DefaultDomain, "Sale", "")
	make(1, "SALE", "")
	make(2, "SALE", "")
	make(3, "sale-2", "")
	all := engine.ListRange{AnyOwner: true}
	for _, c := range []struct {
		code  string
		in    []engine.Domain
		first []string // of those with the words, in their order
		of    engine.ListRange
	}{
		{"news", []engine.Domain{2, 0, 1, 3, 4}, []string{"2/news", "0/news", "1/news"}, all},
		{"news", []engine.Domain{1}, []string{"1/news"}, all},
		{"news", []engine.Domain{3, 4, 1}, []string{"1/news"}, all},
		{"news", []engine.Domain{2, 1}, []string{"1/news"}, engine.ListRange{Owners: engine.OneOwner(engine.OwnerIn(1, 1))}},
		{"news", []engine.Domain{3, 4}, []string{"3/News", "4/NEWS"}, all},
		{"sale", []engine.Domain{2, 1, 0}, []string{"2/SALE", "1/SALE", "0/Sale"}, all},
		{"sale", []engine.Domain{}, nil, all},
	} {
		q := engine.LinkQuery{ListRange: c.of, Code: engine.Key{Domain: engine.DefaultDomain, Code: c.code}, CodeIn: c.in, Total: true}
		q.Words = wordsOf(c.code)
		for _, q.Order = range []engine.Order{engine.ByID, engine.ByCreation, engine.ByVisitors, engine.ByRelevance} {
			for _, q.Ascending = range []bool{false, true} {
				rest := q
				rest.Code, rest.Limit = engine.Key{}, 100
				want := slices.Clone(c.first)
				for _, key := range e.keys(t, rest) {
					if !slices.Contains(c.first, key) {
						want = append(want, key)
					}
				}
				for q.Limit = 1; q.Limit <= len(want)+1; q.Limit++ {
					expect.MustSlices(t, e.keys(t, q), want, "%s in %d, order %d, ascending %v, by %d", c.code, c.in, q.Order, q.Ascending, q.Limit)
				}
			}
		}
	}
}

// keys reads a list to its end, and returns the domain and code of each link.
func (e *testEngine) keys(t *testing.T, q engine.LinkQuery) (keys []string) {
	t.Helper()
	for {
		page, err := e.ListLinks(t.Context(), q)
		expect.OK(t, err)
		expect.That(t, len(page.Links) <= q.Limit, "%d links on a page of %d", len(page.Links), q.Limit)
		for _, l := range page.Links {
			keys = append(keys, fmt.Sprintf("%d/%s", l.Domain, l.Code))
		}
		if q.After = page.Next; q.After == nil {
			expect.That(t, page.Total == uint64(len(keys)), "%d links in all, and %d were listed", page.Total, len(keys))
			return keys
		}
	}
}

// TestNoMoreThanSomeLinksComeFirst: a code of a thousand domains has most of its links in their places, each once.
func TestNoMoreThanSomeLinksComeFirst(t *testing.T) {
	const domains = 90
	e := newTestEngine(t, engine.Options{})
	var in []engine.Domain
	for d := range engine.Domain(domains) {
		e.make(t, engine.Draft{Owner: engine.OwnerIn(d, 1), Domain: d, Alias: "x"})
		in = append(in, d)
	}
	q := engine.LinkQuery{ListRange: engine.ListRange{AnyOwner: true, Words: wordsOf("x")}, Code: engine.Key{Domain: engine.DefaultDomain, Code: "x"}, CodeIn: in, Total: true}
	for _, q.Limit = range []int{1, 7, 63, 64, 65, 89, 90, 91} {
		got := e.keys(t, q)
		for i := range domains {
			want := i
			if i >= 64 { // newest first
				want = domains - 1 - (i - 64)
			}
			expect.MustEqual(t, got[i], fmt.Sprintf("%d/x", want), "link %d by %d", i, q.Limit)
		}
	}
}
