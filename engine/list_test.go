package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"shunt/engine"
	"shunt/engine/expect"
)

// make makes a link of owner 1.
func (e *testEngine) make(t testing.TB, d engine.Draft) engine.Detail {
	t.Helper()
	if d.Owner == 0 {
		d.Owner = 1
	}
	if d.Target == "" {
		d.Target = "https://example.com/"
	}
	made, _, err := e.Create(context.Background(), d)
	expect.OK(t, err)
	return made
}

// codes reads the list to its end, page by page, and returns its codes and the number of pages.
func (e *testEngine) codes(t testing.TB, q engine.LinkQuery) (codes []string, pages int) {
	t.Helper()
	for {
		page, err := e.ListLinks(context.Background(), q)
		expect.OK(t, err)
		pages++
		for _, l := range page.Links {
			codes = append(codes, l.Code)
		}
		if q.After = page.Next; q.After == nil {
			return codes, pages
		}
	}
}

// TestAPageOfLargeLinksIsShortAndLosesNone: 100 links of 20 KB would be 2 MB.
func TestAPageOfLargeLinksIsShortAndLosesNone(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	large := engine.Draft{Target: "https://example.com/" + strings.Repeat("x", 8100)}
	items := make([]engine.BulkItem, 300)
	for i := range items {
		items[i].Draft = large
		items[i].Draft.Owner = 1
	}
	_, err := e.CreateBulk(context.Background(), items)
	expect.OK(t, err)
	codes, pages := e.codes(t, engine.LinkQuery{ListRange: engine.ListRange{Owners: engine.OneOwner(1)}, Limit: 1000})
	slices.Sort(codes)
	got := len(slices.Compact(codes))
	expect.That(t, got == 300 && pages == 3, "got %d links on %d pages, want 300 on 3", got, pages)
}

func TestAListHasTheHitsAndVisitorsOfEachLink(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	for i := range 3 {
		l := e.create(t, fmt.Sprint("l", i))
		for hit := range 2 * i {
			e.Hit(l, engine.Visit{Visitor: uint64(hit / 2), NowMs: 1000})
		}
		l.Release()
	}
	for _, unique := range []bool{false, true} {
		page, err := e.ListLinks(context.Background(), engine.LinkQuery{ListRange: engine.ListRange{Owners: engine.OneOwner(1)}, Limit: 9, Unique: unique})
		expect.MustThat(t, err == nil && len(page.Links) == 3, "got %d links, %v", len(page.Links), err)
		for i, l := range page.Links {
			hits, visitors := uint64(4-2*i), uint64(2-i)
			if !unique {
				visitors = 0
			}
			expect.That(t, l.Hits == hits && l.Unique == visitors, "unique %v, %s: got %d hits of %d, want %d of %d", unique, l.Code, l.Hits, l.Unique, hits, visitors)
		}
	}
}

// TestAListReadByPagesHasEveryLastingLinkOnce creates, deletes and edits links between pages. A
// lasting link is one that exists throughout.
func TestAListReadByPagesHasEveryLastingLinkOnce(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	run := uint32(0)
	rapid.Check(t, func(rt *rapid.T) {
		run++
		live := map[string]bool{}
		create := func() {
			live[e.make(t, engine.Draft{Owner: run}).Code] = true
		}
		for range rapid.IntRange(0, 12).Draw(rt, "links") {
			create()
		}
		throughout := map[string]bool{}
		for code := range live {
			throughout[code] = true
		}
		q := engine.LinkQuery{ListRange: engine.ListRange{Owners: engine.OneOwner(run)}, Limit: rapid.IntRange(1, 4).Draw(rt, "limit")}
		seen := map[string]bool{}
		for {
			page, err := e.ListLinks(context.Background(), q)
			expect.OK(rt, err)
			for _, l := range page.Links {
				expect.MustThat(rt, !seen[l.Code] && live[l.Code], "%q is listed again, or was deleted", l.Code)
				seen[l.Code] = true
			}
			if q.After = page.Next; q.After == nil {
				break
			}
			for _, code := range slices.Sorted(func(yield func(string) bool) {
				for code := range live {
					if !yield(code) {
						return
					}
				}
			}) {
				switch rapid.IntRange(0, 4).Draw(rt, "what") {
				case 0:
					expect.OK(rt, e.Delete(context.Background(), keyOf(code), engine.Guard{AnyOwner: true}))
					delete(live, code)
					delete(throughout, code)
				case 1:
					_, err := e.Update(context.Background(), keyOf(code), engine.Guard{AnyOwner: true}, func(r *engine.Record) error {
						r.Cold.Title += "x"
						return nil
					})
					expect.OK(rt, err)
				case 2:
					create()
				}
			}
		}
		for code := range throughout {
			expect.MustThat(rt, seen[code], "%q was there throughout and is not listed", code)
		}
	})
}

// TestAFolderHasItsLinksWhoeverOwnsThem lists two folders, in each order and by words, and compares them with the links
// that were put there; some are taken out, moved, given away, reset or deleted.
func TestAFolderHasItsLinksWhoeverOwnsThem(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	base := uint32(1)
	rapid.Check(t, func(rt *rapid.T) {
		base += 2 // folders of its own
		want := map[string]uint32{}
		owners := rapid.SampledFrom([]uint32{1, 2, engine.OwnerIn(3, 1)})
		folders := rapid.SampledFrom([]uint32{0, base, base + 1})
		domainOf := map[string]engine.Domain{}
		for i := range rapid.IntRange(0, 20).Draw(rt, "links") {
			owner, folder := owners.Draw(rt, "owner"), folders.Draw(rt, "in")
			d := e.make(t, engine.Draft{Owner: owner, Domain: engine.DomainOf(owner), Folder: folder, Texts: engine.Texts{Title: fmt.Sprint("word", i%2)}})
			want[d.Code], domainOf[d.Code] = folder, d.Domain
			k := engine.Key{Domain: d.Domain, Code: d.Code}
			var err error
			switch rapid.IntRange(0, 6).Draw(rt, "then") {
			case 0:
				folder = folders.Draw(rt, "to")
				_, err = e.Update(context.Background(), k, engine.Guard{AnyOwner: true}, func(r *engine.Record) error { r.Cold.Folder = folder; return nil })
				want[d.Code] = folder
			case 1:
				_, err = e.Give(context.Background(), k, engine.Guard{AnyOwner: true}, engine.OwnerIn(d.Domain, 9), func(*engine.Record) error { return nil })
			case 2:
				_, err = e.Reset(context.Background(), k, engine.Guard{AnyOwner: true})
			case 3:
				err = e.Delete(context.Background(), k, engine.Guard{AnyOwner: true})
				delete(want, d.Code)
			}
			expect.OK(rt, err)
		}
		for _, folder := range []uint32{base, base + 1} {
			for name, q := range map[string]engine.LinkQuery{
				"all": {}, "oldest first": {Ascending: true}, "by hits": {Order: engine.ByHits}, "by visitors": {Order: engine.ByVisitors}, "counted": {Total: true},
				"by words": {ListRange: engine.ListRange{Words: wordsOf("word1")}}, "of one domain": {ListRange: engine.ListRange{Owners: []engine.OwnerRange{engine.AllIn(3)}}},
				"of one domain, by hits": {ListRange: engine.ListRange{Owners: []engine.OwnerRange{engine.AllIn(3)}}, Order: engine.ByHits},
			} {
				q.Folder, q.AnyOwner, q.Limit = folder, q.Owners == nil, rapid.IntRange(1, 9).Draw(rt, "limit")
				got, _ := e.codes(t, q)
				var expected []string
				for code, in := range want {
					if in == folder && (q.AnyOwner || domainOf[code] == 3) {
						expected = append(expected, code)
					}
				}
				if name == "by words" {
					expected = slices.DeleteFunc(expected, func(code string) bool {
						d, err := e.Read(engine.Key{Domain: domainOf[code], Code: code})
						return err != nil || d.Title != "word1"
					})
				}
				slices.Sort(got)
				slices.Sort(expected)
				expect.MustThat(rt, slices.Equal(got, expected), "%s: got %q, want %q", name, got, expected)
			}
		}
	})
}

// TestAFolderAdmitsTheChangesOfItsMembers tries to change a link of somebody else.
func TestAFolderAdmitsTheChangesOfItsMembers(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	d := e.make(t, engine.Draft{Owner: 1, Folder: 7})
	nothing := func(*engine.Record) error { return nil }
	in := func(folder uint32) func(uint32) bool { return func(of uint32) bool { return of == folder } }
	for name, c := range map[string]struct {
		guard engine.Guard
		want  error
	}{
		"a stranger":                 {engine.Guard{Owner: 2}, engine.ErrNotFound},
		"a member of another folder": {engine.Guard{Owner: 2, InFolder: in(8)}, engine.ErrNotFound},
		"a member":                   {engine.Guard{Owner: 2, InFolder: in(7)}, nil},
		"a member, of its version":   {engine.Guard{Owner: 2, InFolder: in(7), Version: 9}, engine.ErrVersion},
		"the owner":                  {engine.Guard{Owner: 1, InFolder: in(8)}, nil},
	} {
		_, err := e.Update(context.Background(), keyOf(d.Code), c.guard, nothing)
		expect.Error(t, err, c.want, name)
	}
	owner, folder, err := e.FolderOf(keyOf(d.Code))
	expect.That(t, err == nil && owner == 1 && folder == 7, "got %d, %d, %v", owner, folder, err)
	_, err = e.Update(context.Background(), keyOf(d.Code), engine.Guard{Owner: 1}, func(r *engine.Record) error { r.Cold.Folder = 0; return nil })
	expect.OK(t, err)
	anything := engine.Guard{Owner: 2, InFolder: func(uint32) bool { return true }}
	expect.Error(t, e.Delete(context.Background(), keyOf(d.Code), anything), engine.ErrNotFound, "of no folder")
}
