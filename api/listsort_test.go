package api

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"shunt/api/ops"
	"shunt/engine"
	"shunt/engine/expect"
)

// TestAListSortedByFiguresSaysAsOfWhen: nothing is rolled up yet, so all figures are as of the present hour's
// beginning.
func TestAListSortedByFiguresSaysAsOfWhen(t *testing.T) {
	st := newSite(t, nil)
	st.now.Store(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixMilli())
	for i := range 3 {
		st.shorten(fmt.Sprintf(`{"url":"https://a.example/","alias":"l%d"}`, i))
	}
	for sort, dated := range map[string]bool{"visitors": true, "last_hit": true, "hits": false, "created": false, "": false} {
		var page struct {
			Data  []struct{ Code string }
			AsOf  *time.Time `json:"as_of"`
			Total *uint64
		}
		r := st.call("GET", "/links?total=true&order=desc&sort="+sort, "")
		r.need(t, sort, 200)
		expect.OK(t, json.Unmarshal([]byte(r.body), &page))
		expect.That(t, len(page.Data) == 3 && page.Data[0].Code == "l2" && page.Total != nil && *page.Total == 3, "%q: got %s", sort, r.body)
		expect.That(t, (page.AsOf != nil) == dated && (!dated || page.AsOf.Equal(time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC))), "%q: got as_of %v", sort, page.AsOf)
	}
}

// TestAListIsInTheOrderThatWasAskedFor reads a list in each order, both ways round, page by page, once the hours with
// hits are rolled up.
func TestAListIsInTheOrderThatWasAskedFor(t *testing.T) {
	st := newSiteOn(t, func(o *engine.Options) { o.FlushInterval = 20 * time.Millisecond }, nil)
	for _, fields := range []string{
		`{"url":"https://c.example/word","alias":"one"}`, `{"url":"https://a.example/","alias":"words"}`,
		`{"url":"https://b.example/","alias":"three","title":"A word"}`, `{"url":"https://d.example/","alias":"four","tags":["word"]}`,
	} {
		st.shorten(fields)
		st.passTime(1000)
	}
	st.call("PATCH", "/links/words", `{"note":"changed"}`).need(t, "an edit", 200)
	for _, c := range []struct {
		code           string
		hits, visitors int
	}{{"one", 9, 1}, {"three", 1, 3}, {"four", 2, 2}, {"words", 1, 1}} { // the last hit of each is an hour later
		for n := range c.visitors {
			st.hit(c.code, c.hits, engine.Visit{Visitor: uint64(n+1) << 40})
		}
		expect.OK(t, st.engine.FlushRecorded(t.Context())) // a hit that is folded after its hour would be summed up in the next one
		st.passTime(time.Hour.Milliseconds())
	}
	wantOf := map[string]string{
		"created": "four three words one", "updated": "words four three one", "hits": "one four three words", "relevance": "words three four one",
		"visitors": "three four words one", "last_hit": "words four three one",
	}
	expect.Equal(t, len(wantOf), len(ops.Orders()), "orders")
	summedUp := time.UnixMilli(st.now.Load()).Truncate(time.Hour)
	for asOf, began := (time.Time{}), time.Now(); !asOf.Equal(summedUp); time.Sleep(5 * time.Millisecond) {
		_, asOf = st.pageOf("/links?sort=visitors")
		expect.MustThat(t, time.Since(began) < 30*time.Second, "figures are as of %v, want %v", asOf, summedUp)
	}
	for sort, want := range wantOf {
		codes := strings.Fields(want)
		for _, order := range []string{"desc", "asc"} {
			for limit := 1; limit <= 4; limit++ {
				expect.Slices(t, st.listed(fmt.Sprintf("/links?q=word&sort=%s&order=%s&limit=%d", sort, order, limit)), codes, "%s, %s, by %d", sort, order, limit)
			}
			slices.Reverse(codes)
		}
	}
}

// listed reads a list to its end.
func (st *site) listed(path string) (codes []string) {
	for cursor := ""; ; {
		page, _ := st.pageOf(path + cursor)
		for _, l := range page.Data {
			codes = append(codes, l.Code)
		}
		if page.Next == nil {
			return codes
		}
		cursor = "&cursor=" + url.QueryEscape(*page.Next)
	}
}

type listedPage struct {
	Data []struct{ Code string }
	Next *string    `json:"next_cursor"`
	AsOf *time.Time `json:"as_of"`
}

func (st *site) pageOf(path string) (page listedPage, asOf time.Time) {
	r := st.call("GET", path, "")
	r.need(st.t, path, 200)
	expect.OK(st.t, json.Unmarshal([]byte(r.body), &page))
	if page.AsOf != nil {
		asOf = *page.AsOf
	}
	return page, asOf
}
