package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
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

func (g *gate) Listing(ctx context.Context) (engine.Listing, error) {
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
			items[i].Draft = engine.Draft{Owner: owner, Target: "https://example.com/", Disabled: made%disabledth == 0, Title: fmt.Sprintf("title %d", made%7)}
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
		"of an owner":     {engine.LinkQuery{ListRange: engine.ListRange{Owner: 1}, Limit: 1000}, 6},
		"of all owners":   {engine.LinkQuery{ListRange: engine.ListRange{AnyOwner: true}, Limit: 1000}, 6},
		"with a prefix":   {engine.LinkQuery{ListRange: engine.ListRange{Owner: 1}, Prefix: "title 3", Limit: 1000}, 1}, // 500 % 7
		"by pages of two": {engine.LinkQuery{ListRange: engine.ListRange{Owner: 1}, Limit: 2}, 6},
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

// TestASelectionEndsAtTheRowsOfAPage has one link that is selected, the oldest of 10,001.
func TestASelectionEndsAtTheRowsOfAPage(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	e.fill(t, 1, 10_001, 20_000)
	asked, turns := 0, 0
	q := engine.LinkQuery{ListRange: engine.ListRange{Owner: 1}, Limit: 50, Select: func(l index.Link) bool {
		asked++
		return isDisabled(l)
	}}
	step := func(step func() error) error {
		before := asked
		err := step()
		if turns++; asked-before > 500 {
			t.Errorf("a turn judged %d links, want 500 at most", asked-before)
		}
		return err
	}
	first, err := e.ListLinksInTurns(context.Background(), q, step)
	expect.MustThat(t, err == nil && len(first.Links) == 0 && first.Next != 0 && asked == 10_000 && turns == 20,
		"got %d links, next %d, %d judged in %d turns, %v, want none, more, 10,000 in 20", len(first.Links), first.Next, asked, turns, err)
	q.Below = first.Next
	last, err := e.ListLinksInTurns(context.Background(), q, step)
	expect.That(t, err == nil && len(last.Links) == 1 && last.Next == 0, "got %d links, next %d, %v, want the oldest alone", len(last.Links), last.Next, err)
}

func TestASelectionLeavesOutLinksThatAreGone(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	for _, code := range []string{"stays", "deleted", "again"} {
		e.make(t, engine.Draft{Alias: code, Disabled: true})
	}
	list, err := e.OpenList(context.Background())
	expect.OK(t, err)
	defer list.Close()
	for _, code := range []string{"deleted", "again"} {
		expect.OK(t, e.Delete(context.Background(), keyOf(code), engine.Guard{AnyOwner: true}))
	}
	e.make(t, engine.Draft{Alias: "again", Disabled: true}) // another link
	for _, any := range []bool{false, true} {
		page, err := list.Page(context.Background(), engine.LinkQuery{ListRange: engine.ListRange{Owner: 1, AnyOwner: any}, Limit: 9, Select: isDisabled})
		expect.That(t, err == nil && len(page.Links) == 1 && page.Links[0].Code == "stays",
			"of all owners %v: got %d links, %v, want the one that stays", any, len(page.Links), err)
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
		q := engine.LinkQuery{ListRange: engine.ListRange{Owner: 1, AnyOwner: round%2 == 1}, Limit: 1 + round%40, Select: isDisabled}
		codes, _ := e.inTurns(t, q)
		expect.Equal(t, len(slices.Compact(slices.Sorted(slices.Values(codes)))), len(codes), "a link is listed twice: %q", codes)
		kept := slices.DeleteFunc(codes, func(code string) bool { return !slices.Contains(stay, code) })
		expect.Slices(t, kept, stay, "got %s, want %s", strings.Join(kept, " "), strings.Join(stay, " "))
	}
	stop()
	editors.Wait()
}
