package api

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"shunt/api/account"
	"shunt/engine/expect"
)

// list requests a page.
func (st *site) list(token, query string) (listAnswer, reply) {
	st.t.Helper()
	r := st.callAs(token, "GET", "/links?"+query, "")
	var page listAnswer
	if r.status == 200 {
		expect.OK(st.t, json.Unmarshal([]byte(r.body), &page))
	}
	return page, r
}

func (p *listAnswer) codes() string {
	codes := make([]string, len(p.Data))
	for i, o := range p.Data {
		codes[i] = o.Code
	}
	return strings.Join(codes, " ")
}

func TestLinksAreListedByPagesNewestFirst(t *testing.T) {
	st := newSite(t, nil)
	for i := range 5 {
		st.shorten(fmt.Sprintf(`{"url":"https://a.example/","alias":"l%d","title":"T%d","tags":["t%d"]}`, i, i, i%2))
	}
	first, r := st.list(st.token, "limit=2&cursor=&q=&tag=&state=")
	expect.MustThat(t, first.codes() == "l4 l3" && first.NextCursor != nil, "got %+v", r)
	one := st.call("GET", "/links/l4", "")
	var raw struct{ Data []json.RawMessage }
	expect.OK(t, json.Unmarshal([]byte(r.body), &raw))
	listed := string(raw.Data[0])
	one.expect(t, fmt.Sprintf("a listed link is %s, and read by itself", listed), strings.TrimSuffix(listed, "}"))
	st.shorten(`{"url":"https://a.example/","alias":"new"}`)
	st.call("DELETE", "/links/l3", "") // the last link of the page
	second, _ := st.list(st.token, "limit=2&cursor="+*first.NextCursor)
	last, _ := st.list(st.token, "limit=1000&cursor="+*second.NextCursor)
	if second.codes() != "l2 l1" || last.codes() != "l0" || last.NextCursor != nil {
		t.Errorf("got %q, %q and %v", second.codes(), last.codes(), last.NextCursor)
	}
	for query, want := range map[string]string{"tag=t1": "l1", "q=t2": "l2", "q=L&tag=t0": "l4 l2 l0", "q=nothing": "", "q=A.EX&limit=1": "new"} {
		page, _ := st.list(st.token, query)
		expect.Equal(t, page.codes(), want, query)
	}
}

func TestUniqueIsListedOnRequest(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"https://a.example/","alias":"x"}`)
	for _, agent := range []string{"a", "b", "b"} {
		st.get("/x", "User-Agent: "+agent)
	}
	with, _ := st.list(st.token, "include=unique")
	without, r := st.list(st.token, "")
	o := with.Data[0]
	expect.That(t, o.Hits == 3 && o.Unique != nil && *o.Unique == 2, "got %+v", o)
	expect.That(t, without.Data[0].Hits == 3 && !strings.Contains(r.body, "unique"), "got %s", r.body)
}

func TestACursorGivesNoAccessToOtherUsersLinks(t *testing.T) {
	st := newSite(t, nil)
	ann, bob := st.member("ann@example.com"), st.member("bob@example.com")
	for i := range 3 {
		for _, token := range []string{ann, bob} {
			st.callAs(token, "POST", "/shorten", fmt.Sprintf(`{"url":"https://a.example/%d"}`, i))
		}
	}
	page, _ := st.list(ann, "limit=1")
	all, _ := st.list(st.token, "limit=1&owner=all")
	for name, c := range map[string]struct{ token, query string }{
		"another's cursor":       {bob, "cursor=" + *page.NextCursor},
		"that of all owners":     {bob, "cursor=" + *all.NextCursor},
		"that of another tag":    {ann, "tag=x&cursor=" + *page.NextCursor},
		"that of another prefix": {ann, "q=x&cursor=" + *page.NextCursor},
		"that of another state":  {ann, "state=active&cursor=" + *page.NextCursor},
		"a malformed one":        {ann, "cursor=AAAA"},
		"one of another version": {ann, "cursor=AA" + (*page.NextCursor)[2:]},
	} {
		_, r := st.list(c.token, c.query)
		r.expect(t, name, 422, fieldsOf("cursor:invalid"))
	}
	_, r := st.list(ann, "owner=all&cursor="+*all.NextCursor)
	r.expect(t, "a member with the cursor of all owners", 403)
	rest, _ := st.list(st.token, "owner=all&cursor="+*all.NextCursor)
	mine, _ := st.list(ann, "limit=1&cursor="+*page.NextCursor)
	expect.That(t, len(mine.Data) == 1 && len(rest.Data) == 5, "ann's goes on with %d links, all go on with %d", len(mine.Data), len(rest.Data))
}

func TestBadListParametersAreNamed(t *testing.T) {
	st := newSite(t, nil)
	member := st.member("ann@example.com")
	for query, want := range map[string]string{
		"limit=0": "limit:range", "limit=1001": "limit:range", "limit=-1": "limit:range", "limit=": "limit:range", "limit=1&limit=2": "limit:duplicate",
		"include=hits": "include:range", "include=": "include:range", "x=1": "x:unknown", "owner=0": "owner:range",
		"q=" + strings.Repeat("x", 8193): "q:too_long", "q=" + strings.Repeat("x+", 17): "q:too_long", "q=%00": "q:characters", "q=%ff": "q:characters",
		"tag=" + strings.Repeat("x", 65): "tag:too_long", "tag=%ff": "tag:characters", "limit=x&cursor=y": "limit:range",
		"state=dead": "state:range", "state=Active": "state:range", "state=active,expired": "state:range", "state=active&state=expired": "state:duplicate",
		"sort=size": "sort:range", "order=up": "order:range", "created_from=soon": "created_from:format", "created_to=2026-13-01": "created_to:format",
		"never_hit=1": "never_hit:range", "total=yes": "total:range",
	} {
		_, r := st.list(st.token, query)
		r.expect(t, query, 422, fieldsOf(want))
	}
	_, r := st.list(member, "owner=1&limit=x")
	r.expect(t, "owner without the scope", 403)
	long := strings.Repeat("x", 8192)
	_, r = st.list(member, "q="+url.QueryEscape(long))
	r.expect(t, "8,192 bytes of q", 200)
	_, r = st.list(st.member("no@example.com", account.StatsRead), "")
	r.expect(t, "without links:read", 403)
}
