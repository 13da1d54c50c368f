package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/engine/index"
)

// countedListing counts the records that are read from a listing.
type countedListing struct {
	engine.Listing
	gate *gate
}

func (l countedListing) ReadRecord(k engine.Key) (engine.Record, error) {
	l.gate.listed.Add(1)
	return l.Listing.ReadRecord(k)
}

func (l countedListing) ReadRecordOf(id uint64) (engine.Record, error) {
	l.gate.listed.Add(1)
	return l.Listing.ReadRecordOf(id)
}

func (l countedListing) CountTags(s *engine.TagScan, rows int, fn func(engine.TagCount) bool) (bool, error) {
	l.gate.tagRows.Add(int64(rows))
	return l.Listing.CountTags(s, rows, fn)
}

func (l countedListing) Reusable(owner uint32, hash uint64, limit int, fn func(*engine.Record) bool) error {
	return l.Listing.Reusable(owner, hash, limit, func(rec *engine.Record) bool {
		l.gate.listed.Add(1)
		return fn(rec)
	})
}

func (g *gate) Listing(ctx context.Context) (engine.Listing, error) {
	g.listings.Add(1)
	l, err := g.Store.Listing(ctx)
	if err != nil {
		return nil, err
	}
	return countedListing{l, g}, nil
}

func isDisabled(l index.Link) bool { return l.Flags().Disabled() }

// fill makes links of an owner; the first and every disabledth after it are disabled.
func (e *testEngine) fill(t testing.TB, owner uint32, links, disabledth int) {
	t.Helper()
	for made := 0; made < links; {
		items := make([]engine.BulkItem, min(1000, links-made))
		for i := range items {
			items[i].Draft = engine.Draft{Owner: owner, Target: "https://example.com/", Disabled: made%disabledth == 0, Texts: engine.Texts{Title: fmt.Sprintf("title-%d", made%7)}}
			made++
		}
		_, err := e.CreateBulk(context.Background(), items)
		expect.OK(t, err)
	}
}

func TestASelectionReadsOnlyTheRecordsOfItsLinks(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	e.fill(t, 1, 3000, 500)
	for name, c := range map[string]struct {
		q    engine.LinkQuery
		want int
	}{
		"of an owner":     {engine.LinkQuery{ListRange: engine.ListRange{Owners: engine.OneOwner(1)}, Limit: 1000}, 6},
		"of all owners":   {engine.LinkQuery{ListRange: engine.ListRange{AnyOwner: true}, Limit: 1000}, 6},
		"with words":      {engine.LinkQuery{ListRange: engine.ListRange{Owners: engine.OneOwner(1), Words: wordsOf("title-3")}, Limit: 1000}, 1}, // 500 % 7
		"by pages of two": {engine.LinkQuery{ListRange: engine.ListRange{Owners: engine.OneOwner(1)}, Limit: 2}, 6},
	} {
		c.q.Select = isDisabled
		before := e.gate.listed.Load()
		codes, _ := e.codes(t, c.q)
		read := e.gate.listed.Load() - before
		expect.That(t, len(codes) == c.want && read == int64(c.want), "%s: got %d links and %d records read, want %d of both", name, len(codes), read, c.want)
		inTurns, _ := e.inTurns(t, c.q)
		expect.Slices(t, inTurns, codes, "%s: got %d links in turns, want %d", name, len(inTurns), len(codes))
	}
}

// TestASelectionHasEveryLinkThatStaysSelected edits links while lists are read: every third link is
// disabled all the time, and others go to and fro.
func TestASelectionHasEveryLinkThatStaysSelected(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	var stay []string
	for i := range 90 {
		d := e.make(t, engine.Draft{Alias: fmt.Sprint("l", i), Disabled: i%3 == 0})
		if i%3 == 0 {
			stay = append(stay, d.Code)
		}
	}
	slices.Reverse(stay)
	ctx, stop := context.WithCancel(context.Background())
	var editors sync.WaitGroup
	for w := range 3 {
		editors.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				_, err := e.Update(context.Background(), keyOf(fmt.Sprint("l", (3*n+w)%90)), engine.Guard{AnyOwner: true}, func(r *engine.Record) error {
					r.Cold.Title += "x"
					if w > 0 {
						r.SetDisabled(!r.Hot.Flags.Disabled())
					}
					if len(r.Cold.Title) > 9 {
						r.Cold.Title = ""
					}
					return nil
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for round := range 60 {
		q := engine.LinkQuery{ListRange: engine.ListRange{Owners: engine.OneOwner(1), AnyOwner: round%2 == 1}, Limit: 1 + round%40, Select: isDisabled}
		codes, _ := e.inTurns(t, q)
		expect.Equal(t, len(slices.Compact(slices.Sorted(slices.Values(codes)))), len(codes), "a link is listed twice: %q", codes)
		kept := slices.DeleteFunc(codes, func(code string) bool { return !slices.Contains(stay, code) })
		expect.Slices(t, kept, stay, "got %s, want %s", strings.Join(kept, " "), strings.Join(stay, " "))
	}
	stop()
	editors.Wait()
}

// TestASelectionAmongManyLinksIsMadeInMemory lists links of an owner who has too many to read the rows of all, while
// others write: what was made, deleted or given away since the list was opened is not listed, of which the rows of that
// moment still have some.
func TestASelectionAmongManyLinksIsMadeInMemory(t *testing.T) {
	expect.Long(t)
	e := newTestEngine(t, engine.Options{})
	e.fill(t, 1, 40_000, 400)
	foreign := e.make(t, engine.Draft{Owner: 2, Disabled: true})
	q := engine.LinkQuery{ListRange: engine.ListRange{Owners: engine.OneOwner(1)}, Limit: 200, Total: true, Select: isDisabled}
	want, _ := e.codes(t, q)
	expect.MustEqual(t, len(want), 100)
	turns := 0
	page, err := e.ListLinksInTurns(context.Background(), q, func(step func() error) error {
		if turns++; turns == 2 {
			any, keep := engine.Guard{AnyOwner: true}, func(*engine.Record) error { return nil }
			e.make(t, engine.Draft{Owner: 1, Disabled: true})
			expect.OK(t, e.Delete(context.Background(), keyOf(want[3]), any))
			expect.OK(t, expect.Err(e.Give(context.Background(), keyOf(want[5]), any, 2, keep)))
			expect.OK(t, expect.Err(e.Give(context.Background(), foreign.Key, any, 1, keep)))
		}
		return step()
	})
	expect.OK(t, err)
	want = slices.Delete(slices.Delete(want, 5, 6), 3, 4)
	var got []string
	for _, l := range page.Links {
		got = append(got, l.Code)
	}
	expect.Slices(t, got, want)
	expect.Equal(t, page.Total, 100, "as many as memory has")
}

// TestAPageThatRowsHaveIsNotLookedForInMemory lists links in a state that most have: the page is found in the first
// rows.
func TestAPageThatRowsHaveIsNotLookedForInMemory(t *testing.T) {
	expect.Long(t)
	e := newTestEngine(t, engine.Options{})
	e.fill(t, 1, 40_000, 400)
	var judged atomic.Int64
	isActive := func(l *engine.LinkEntry) engine.Choice {
		if judged.Add(1); l.Flags.Disabled() {
			return engine.Unwanted
		}
		return engine.Wanted
	}
	page, err := e.ListLinks(context.Background(), engine.LinkQuery{ListRange: engine.ListRange{Owners: engine.OneOwner(1)}, Limit: 50, Judge: isActive})
	expect.OK(t, err)
	expect.Equal(t, len(page.Links), 50, "links")
	expect.That(t, judged.Load() < 20_000, "%d of 40,000 links were judged", judged.Load())
}

// TestALargeOwnersListsAreThoseOfAPlainScan compares orders and choices that memory answers with the rows of the links.
func TestALargeOwnersListsAreThoseOfAPlainScan(t *testing.T) {
	expect.Long(t)
	e := newTestEngine(t, engine.Options{})
	e.fill(t, 2, 500, 3)
	e.fill(t, 1, 20_000, 7)
	all, _ := e.codes(t, engine.LinkQuery{ListRange: engine.ListRange{Owners: engine.OneOwner(1)}, Limit: 1000})
	hits := map[string]int{}
	for i := range 300 {
		code := all[i*i%len(all)]
		l, _ := e.Resolve(keyOf(code).View())
		if !l.Flags().Disabled() {
			e.Hit(l, engine.Visit{Visitor: 1, NowMs: 1000})
			hits[code]++
		}
		l.Release()
	}
	none := func(hits uint64) bool { return hits == 0 }
	byHits := slices.Clone(all)
	slices.SortStableFunc(byHits, func(a, b string) int { return hits[b] - hits[a] })
	reversed := slices.Clone(all)
	slices.Reverse(reversed)
	for name, c := range map[string]struct {
		q    engine.LinkQuery
		want []string
	}{
		"oldest first": {engine.LinkQuery{Ascending: true}, reversed},
		"by hits":      {engine.LinkQuery{Order: engine.ByHits}, byHits},
		"never hit":    {engine.LinkQuery{WantHits: none, Total: true}, slices.DeleteFunc(slices.Clone(all), func(code string) bool { return hits[code] > 0 })},
	} {
		c.q.Owners, c.q.Limit = engine.OneOwner(1), 1000
		got, _ := e.inTurns(t, c.q)
		expect.Slices(t, got, c.want, name)
	}
}
