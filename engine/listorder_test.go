package engine_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
)

// TestAListIsSortedByTheFiguresThatAreSummedUp compares lists by visitors and by the last hit with what was counted,
// read by pages of every size, both ways round. Hits of the hour that runs are in no figure that a list is sorted by.
func TestAListIsSortedByTheFiguresThatAreSummedUp(t *testing.T) {
	const links = 24
	f := newFigures(t)
	t.Cleanup(f.close)
	visitors, lastHit := make([]map[uint64]bool, links), make([]int64, links)
	first := len(f.links)
	for i := range links {
		f.addLink(fmt.Sprintf("l%02d", i), 1, "sorted")
		visitors[i] = map[uint64]bool{}
	}
	for hour := range 6 {
		f.now = f.now.Truncate(time.Hour).Add(time.Duration(hour+1) * 5 * time.Hour)
		for i := range links {
			if i%5 == 4 || (i*7+hour)%4 != 0 {
				continue // some have no hit, and of others the last one is of any hour
			}
			for n := range i * 11 % links { // neither in the order of ids, nor in that of hits
				for range links - i {
					f.hit(first+i, engine.ClassHit, uint64(n*(hour+1)))
				}
				visitors[i][uint64(n*(hour+1))], lastHit[i] = true, f.now.Unix()/3600
			}
		}
	}
	f.now = f.now.Add(2 * time.Hour)
	expect.OK(t, f.e.Flush())
	f.closeHours()
	for n := range uint64(40) { // now, to a link with few visitors: not yet summed up
		f.hit(first, engine.ClassHit, 1000+n)
	}
	orders := map[string]struct {
		by  engine.Order
		key func(i int) int64
	}{
		"visitors": {engine.ByVisitors, func(i int) int64 { return int64(len(visitors[i])) }},
		"last hit": {engine.ByLastHit, func(i int) int64 { return lastHit[i] }},
	}
	for name, o := range orders {
		want := make([]int, links)
		for i := range want {
			want[i] = i
		}
		slices.SortFunc(want, func(a, b int) int { return cmp.Or(cmp.Compare(o.key(b), o.key(a)), cmp.Compare(b, a)) })
		expect.That(t, o.key(want[0]) > o.key(want[links/2]) && !slices.IsSortedFunc(want, func(a, b int) int { return b - a }), "%s: an order like another: %d", name, want)
		for _, ascending := range []bool{false, true} {
			if ascending {
				slices.Reverse(want)
			}
			codes := make([]string, links)
			for place, i := range want {
				codes[place] = f.links[first+i].code
			}
			wantOrder(t, f.e, engine.LinkQuery{ListRange: engine.ListRange{Owners: engine.OneOwner(1), Tag: "sorted"}, Order: o.by, Ascending: ascending}, codes)
		}
	}
}

// TestAListByFiguresKnowsOfHitsThatWereJustAnswered: what is summed up is as of an hour with all its hits, also of
// those that only the journal has.
func TestAListByFiguresKnowsOfHitsThatWereJustAnswered(t *testing.T) {
	for name, q := range map[string]engine.LinkQuery{"visitors": {Order: engine.ByVisitors}, "last hit": {Order: engine.ByLastHit}, "summed up": {Summed: true}} {
		f := newFigures(t)
		hour := f.now.Truncate(time.Hour)
		f.hit(0, engine.ClassHit, 1)
		f.now = hour.Add(time.Hour)
		q.Owners, q.Limit = engine.OneOwner(1), 10
		page, err := f.e.ListLinks(context.Background(), q)
		expect.OK(t, err)
		expect.Equal(t, time.Unix(int64(page.AsOfHour)*3600, 0).UTC(), hour, name)
		f.close()
	}
}

// wantOrder reads a list by pages of every size.
func wantOrder(t *testing.T, e *engine.Engine, q engine.LinkQuery, want []string) {
	t.Helper()
	of := testEngine{Engine: e}
	for q.Limit = 1; q.Limit <= len(want)+1; q.Limit++ {
		got, _ := of.codes(t, q)
		expect.That(t, slices.Equal(got, want), "order %d, ascending %v, by %d: got %q, want %q", q.Order, q.Ascending, q.Limit, got, want)
	}
}

// TestAListByRelevanceHasTheBestFieldFirst: a link whose code is the words is before one whose code begins so, and so
// on through title, tags, texts and target, whenever they were made; among equal ones the newest is first.
func TestAListByRelevanceHasTheBestFieldFirst(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	drafts := map[string]engine.Draft{
		"target":     {Target: "https://example.com/old/news"},
		"code-news":  {},
		"news":       {},
		"news-old":   {},
		"typed":      {Texts: engine.Texts{Title: "Good old news"}},
		"titled":     {Texts: engine.Texts{Title: "All the news of old"}},
		"tagged":     {Tags: []string{"old news"}},
		"old-news-2": {},
		"noted":      {Texts: engine.Texts{Note: "old news"}},
		"apart":      {Texts: engine.Texts{Title: "News, and old ones"}},
		"other":      {Texts: engine.Texts{Title: "nothing of this"}},
	}
	// The words in one field, as they were typed or not: the best field counts.
	ranked := map[string][][]string{
		"news":     {{"news"}, {"news-old"}, {"titled", "apart", "typed"}, {"code-news", "old-news-2"}, {"tagged"}, {"noted"}, {"target"}},
		"old news": {{"typed"}, {"old-news-2", "news-old"}, {"apart", "titled"}, {"tagged"}, {"noted"}, {"target"}},
		"old-news": {{"old-news-2"}},
	}
	made := []string{"news", "target", "apart", "news-old", "typed", "code-news", "noted", "titled", "tagged", "old-news-2", "other"}
	for _, code := range made {
		d := drafts[code]
		d.Alias = code
		e.make(t, d)
	}
	for typed, groups := range ranked {
		var want []string
		for _, equal := range groups {
			slices.SortFunc(equal, func(a, b string) int { return slices.Index(made, b) - slices.Index(made, a) })
			want = append(want, equal...)
		}
		for _, ascending := range []bool{false, true} {
			if ascending {
				slices.Reverse(want)
			}
			wantOrder(t, e.Engine, engine.LinkQuery{ListRange: engine.ListRange{Owners: engine.OneOwner(1), Words: wordsOf(typed)}, Order: engine.ByRelevance, Ascending: ascending}, want)
		}
	}
}
