package api

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"shunt/api/account"
	"shunt/api/ops"
	"shunt/engine/expect"
)

// audited returns the entries that a list has on its first page, the newest first.
func (st *site) audited(query string) ops.AuditPage {
	st.t.Helper()
	var page ops.AuditPage
	r := st.call("GET", "/audit"+query, "")
	err := json.Unmarshal([]byte(r.body), &page)
	expect.MustThat(st.t, r.status == 200 && err == nil, "GET /audit%s: got %+v, %v", query, r, err)
	return page
}

// shownEntry returns an entry without its place and time, as a line of a test's table.
func shownEntry(e *ops.AuditEntry) string {
	texts := []string{e.Action, "by", e.Actor.Email, e.Actor.Via, e.Code}
	if e.LastCode != "" {
		texts = append(texts, "to "+e.LastCode)
	}
	if e.User != 0 {
		texts = append(texts, fmt.Sprint("user ", e.User))
	}
	if len(e.Before) > 0 {
		texts = append(texts, "before "+string(e.Before))
	}
	if len(e.After) > 0 {
		texts = append(texts, "after "+string(e.After))
	}
	if e.Counts != nil {
		texts = append(texts, fmt.Sprint(*e.Counts))
	}
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), " ")
}

// Each line is a request and the entry that it leaves; without an entry it changes nothing that
// anybody asks about.
func TestEachChangeHasAnEntryAndNothingElseHas(t *testing.T) {
	st := newSite(t, nil)
	st.person("ann@example.com", account.RoleMember)
	for i, c := range []struct{ method, path, body, want string }{
		{"POST", "/shorten", `{"url":"https://a.example/","alias":"one","title":"T"}`,
			`link.created by admin token one after {"url":"https://a.example/","owner":1,"title":"T"}`},
		{"POST", "/shorten", `{"url":"https://a.example/","alias":"one","title":"T"}`, ""}, // the same link
		{"POST", "/shorten", `{"url":"https://b.example/","alias":"one"}`, ""},             // taken
		{"PATCH", "/links/one", `{"url":"https://b.example/","max_hits":7,"tags":["x"]}`,
			`link.edited by admin token one before {"url":"https://a.example/","max_hits":null,"tags":[]} after {"url":"https://b.example/","max_hits":7,"tags":["x"]}`},
		{"PATCH", "/links/one", `{"url":"not one"}`, ""},
		{"GET", "/links/one", "", ""},
		{"PATCH", "/links/one", `{"owner":2}`, `link.edited by admin token one before {"owner":1} after {"owner":2}`},
		{"PATCH", "/links/one?owner=all", `{"owner":9}`, ""},
		{"PATCH", "/links/one?owner=2", `{"owner":1}`, `link.edited by admin token one before {"owner":2} after {"owner":1}`},
		{"POST", "/links/one/reset", "", `link.reset by admin token one before {} after {}`},
		{"POST", "/links/none/reset", "", ""},
		{"DELETE", "/links/one", "", `link.deleted by admin token one before {"url":"https://b.example/","owner":1,"max_hits":7,"title":"T","tags":["x"]}`},
		{"DELETE", "/links/one", "", ""},
		{"POST", "/links/one/restore", "", `link.restored by admin token one after {"url":"https://b.example/","owner":1,"max_hits":7,"title":"T","tags":["x"]}`},
		{"POST", "/links/one/restore", "", ""},
		{"DELETE", "/links/one?purge=true", "", `link.purged by admin token one before {"url":"https://b.example/","owner":1,"max_hits":7,"title":"T","tags":["x"]}`},
		{"DELETE", "/links/one?purge=true", "", ""},
		{"POST", "/links/one/restore", "", ""},
		{"POST", "/shorten", `{"url":"https://b.example/","alias":"one"}`, `link.created by admin token one after {"url":"https://b.example/","owner":1}`},
		{"DELETE", "/links/one", "", `link.deleted by admin token one before {"url":"https://b.example/","owner":1}`},
		{"DELETE", "/links/one?purge=true", "", `link.purged by admin token one before {"url":"https://b.example/","owner":1}`},
		{"POST", "/shorten/bulk", `[{"url":"https://a.example/","alias":"b2"},{"url":"https://a.example/","alias":"a2"},{"url":"x"}]`,
			"links.created by admin token a2 to b2 {2 0 1}"},
		{"POST", "/import", `[{"code":"k","url":"https://a.example/"},{"code":"a2","url":"https://c.example/"}]`,
			"links.imported by admin token k to k {1 0 1}"},
		{"POST", "/users", `{"email":"bob@example.com","password":"` + st.secret("password of bob") + `"}`,
			`user.added by admin token user 3 after {"email":"bob@example.com","role":"member","password":"changed"}`},
		{"POST", "/users", `{"email":"bob@example.com"}`, ""},
		{"PATCH", "/users/3", `{"role":"admin","password":"` + st.secret("new one of bob") + `"}`,
			`user.edited by admin token user 3 before {"role":"member"} after {"role":"admin","password":"changed"}`},
		{"PATCH", "/users/3", `{}`, ""},
		{"DELETE", "/users/3", "", `user.deleted by admin token user 3 before {"email":"bob@example.com","role":"admin"} after {"password":"changed"}`},
		{"POST", "/tokens", `{"name":"laptop","scopes":["links:read"]}`,
			`token.issued by admin token user 1 after {"name":"laptop","scopes":"links:read"}`},
		{"POST", "/tokens", `{"name":""}`, ""},
		{"DELETE", "/tokens/nothing", "", ""},
	} {
		before := st.audited("?limit=1").Data
		id := fmt.Sprintf("request-%d", i)
		r := st.call(c.method, c.path, c.body, "X-Request-Id: "+id)
		if _, text, found := strings.Cut(r.body, `"token":"`); found {
			st.secret(text[:42])
		}
		newest := st.audited("?limit=1").Data[0]
		switch {
		case c.want == "" && newest.ID != before[0].ID:
			t.Errorf("%s %s %s: %d left the entry %s", c.method, c.path, c.body, r.status, shownEntry(&newest))
		case c.want != "" && (shownEntry(&newest) != c.want || newest.RequestID != id || !newest.At.Equal(time.UnixMilli(st.now.Load()))):
			t.Errorf("%s %s %s: %d left\n     %s %+v\nwant %s", c.method, c.path, c.body, r.status, shownEntry(&newest), newest, c.want)
		}
	}
	st.wantNothingSecretIn("the audit log", st.call("GET", "/audit?limit=1000", "").body)
	page := st.audited("?code=one&limit=1000")
	expect.Equal(t, len(page.Data), 11, "of the code entries")
	page = st.audited("?code=b2")
	expect.That(t, len(page.Data) == 1 && page.Data[0].Action == "links.created", "of a code of a bulk: got %+v", page.Data)
	expect.Equal(t, len(st.audited("?code=aa2").Data), 0, "of a code between those of a bulk: entries")
}

func TestEntriesSayHowTheActorWasKnown(t *testing.T) {
	st := newSite(t, nil)
	ann := st.person("ann@example.com", account.RoleMember)
	st.as([]string{st.logIn("ann@example.com"), ownPage}, "POST", "/shorten", `{"url":"https://a.example/","alias":"page"}`)
	expect.Equal(t, st.audited("?code=page").Data[0].Actor, ops.AuditActor{User: ann.ID, Email: "ann@example.com", Via: "session"}, "by a session")
	local := send(t, st.localAt, "POST", requestText("POST", "/api/v1/shorten", `{"url":"https://a.example/","alias":"local"}`, "Content-Type: application/json"))
	if e := st.audited("?code=local").Data; local.status != 201 || len(e) != 1 || e[0].Actor != (ops.AuditActor{Via: "local"}) {
		t.Errorf("by a local command: got %+v, %+v", local, e)
	}
	token := st.issue(account.CallerOf(ann), account.LinksWrite)
	me := st.callAs(token, "GET", "/me", "").body
	st.callAs(token, "POST", "/shorten", `{"url":"https://a.example/","alias":"token"}`)
	e := st.audited("?code=token").Data[0]
	expect.That(t, e.Actor.User == ann.ID && e.Actor.Via == "token" && strings.Contains(me, e.Actor.TokenID) && len(e.Actor.TokenID) == 16,
		"by a token: got %+v", e.Actor)
	for _, actor := range []string{"ann@example.com", "ANN@example.com", fmt.Sprint(ann.ID)} {
		if page := st.audited("?actor=" + actor); len(page.Data) != 3 { // page, her token, token
			t.Errorf("of the actor %s: got %+v", actor, page.Data)
		}
	}
	page := st.audited("?actor=" + e.Actor.TokenID)
	expect.That(t, len(page.Data) == 1 && page.Data[0].ID == e.ID, "of her token: got %+v", page.Data)
}

func TestTheAuditLogKeepsANetworkOnlyIfToldTo(t *testing.T) {
	for kept, want := range map[bool][2]string{false: {"", ""}, true: {"192.0.2.0/24", "2001:db8:7::/48"}} {
		st := newSite(t, func(o *Options) { o.AuditClients, o.AllowHTTP = kept, true })
		for i, addr := range []string{"192.0.2.77", "2001:db8:7:8::9"} {
			code := fmt.Sprintf("n%d", i)
			body := `{"url":"https://a.example/","alias":"` + code + `"}`
			r := send(t, st.from(addr), "POST", requestText("POST", "/api/v1/shorten", body, "Authorization: Bearer "+st.token, "Content-Type: application/json"))
			r.need(t, "", 201)
			e := st.audited("?code=" + code).Data
			expect.That(t, len(e) == 1 && e[0].Network == want[i], "kept %t, from %s: got %+v, want %q", kept, addr, e, want[i])
		}
		all := st.call("GET", "/audit", "").body
		expect.That(t, !strings.Contains(all, "192.0.2.77") && !strings.Contains(all, "7:8::9"), "kept %t: got a whole address: %s", kept, all)
	}
}

func TestPagesOfTheAuditLogHaveEachEntryOnce(t *testing.T) {
	st := newSite(t, nil)
	start := time.UnixMilli(st.now.Load()).UTC()
	for i := range 60 {
		st.now.Store(start.Add(time.Duration(i) * time.Minute).UnixMilli())
		st.shorten(fmt.Sprintf(`{"url":"https://a.example/","alias":"p%02d"}`, i))
	}
	walk := func(query string) (codes []string) {
		cursor := ""
		for {
			page := st.audited("?cursor=" + cursor + query)
			for _, e := range page.Data {
				codes = append(codes, e.Code)
			}
			if page.NextCursor == nil {
				return codes
			}
			cursor = *page.NextCursor
		}
	}
	var want []string
	for i := 59; i >= 0; i-- {
		want = append(want, fmt.Sprintf("p%02d", i))
	}
	at := func(minute int) string {
		return url.QueryEscape(start.Add(time.Duration(minute) * time.Minute).Format(time.RFC3339))
	}
	for query, want := range map[string][]string{
		"&limit=7": append(slices.Clone(want), "", ""), "&limit=31&from=" + at(1): want[:59], "&from=" + at(10) + "&to=" + at(20): want[40:50],
		"&limit=1&code=p30": {"p30"}, "&to=" + at(0): nil, "&from=" + at(60): nil, "&actor=nobody": nil,
		"&limit=1000&from=0001-01-01&to=9999-12-31&actor=admin": append(slices.Clone(want), ""), "&to=1960-01-01": nil, "&from=9999-01-01": nil,
	} {
		expect.Slices(t, walk(query), want, query)
	}
}

func TestABadQueryOfTheAuditLogIsRefused(t *testing.T) {
	st := newSite(t, nil)
	for query, want := range map[string]string{
		"cursor=x": "cursor:invalid", "cursor=0": "cursor:invalid", "cursor=18446744073709551616": "cursor:invalid", "cursor=-1": "cursor:invalid",
		"limit=0": "limit:range", "limit=1001": "limit:range", "limit=x": "limit:range", "from=yesterday": "from:format", "to=2026-13-01": "to:format",
		"from=2026-02-01&to=2026-01-01": "from:reversed", "code=a%2F%2Fb": "code:invalid", "actor=" + strings.Repeat("a", 255): "actor:too_long",
		"actor=%FF": "actor:characters", "x=1": "x:unknown", "owner=all": "owner:unknown", "owner=2": "owner:unknown", "limit=1&limit=2": "limit:duplicate",
	} {
		st.call("GET", "/audit?"+query, "").expect(t, query, 422, fieldsOf(want))
	}
}

// Codes are random, so the codes of each bulk span almost all others. A link's history has the one that made it, also
// if the link was reset or its code was taken again, on whatever page that stands.
func TestTheHistoryOfALinkHasItsOwnBulkOnly(t *testing.T) {
	st := newSite(t, nil)
	bulk := func(codes ...string) {
		t.Helper()
		var items []string
		for _, code := range codes {
			items = append(items, fmt.Sprintf(`{"url":"https://a.example/","alias":%q}`, code))
		}
		st.call("POST", "/shorten/bulk", "["+strings.Join(items, ",")+"]").need(t, "bulk", 200)
		st.now.Add(60_000)
	}
	spanning := func(name string) { bulk("a"+name, "z"+name) }
	spanning("1")
	bulk("b", "m", "y")
	spanning("2")
	st.call("POST", "/links/m/reset", "").need(t, "reset", 200)
	spanning("3")
	st.call("DELETE", "/links/m", "").need(t, "delete", 204)
	st.call("POST", "/links/m/restore", "").need(t, "restore", 200)
	spanning("3b")
	st.call("DELETE", "/links/m", "").need(t, "delete again", 204)
	spanning("4")
	bulk("c", "m", "x")
	spanning("5")
	st.call("PATCH", "/links/m", `{"title":"T"}`).need(t, "edit", 200)
	want := []string{"link.edited m", "links.created c", "link.deleted m", "link.restored m", "link.deleted m", "link.reset m", "links.created b"}
	for _, limit := range []int{1, 2, 3, 100} {
		var got []string
		for cursor, more := "", true; more; {
			page := st.audited(fmt.Sprintf("?code=m&limit=%d&cursor=%s", limit, cursor))
			for _, e := range page.Data {
				got = append(got, e.Action+" "+e.Code)
			}
			if more = page.NextCursor != nil; more {
				cursor = *page.NextCursor
			}
		}
		expect.Slices(t, got, want, "limit %d", limit)
	}
	expect.Equal(t, len(st.audited("?code=none").Data), 0, "entries of a code that no link ever had")
}
