package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"shunt/api/account"
	"shunt/api/ops"
	"shunt/engine"
	"shunt/engine/expect"
)

// TestAResetSetsEveryFigureToZero resets a link with a cap, imported hits, and figures of each kind.
func TestAResetSetsEveryFigureToZero(t *testing.T) {
	st := newSite(t, nil)
	st.importText(`{"code":"x","url":"http://a/","hits":5,"max_hits":7,"created_at":"2025-01-01T00:00:00Z","title":"T","tags":["t"]}`)
	st.get("/x", browser, "Referer: https://news.example/")
	st.get("/x", "User-Agent: Googlebot/2.1")
	before := st.call("GET", "/links/x", "")
	r := st.call("POST", "/links/x/reset", "", "If-Match: "+before.header.Get("ETag"))
	expect.That(t, r.status == 200 && r.header.Get("ETag") == `"2"` && field(t, r.body, "hits") == "0" && field(t, r.body, "unique") == "0",
		"got %d %s %s", r.status, r.header.Get("ETag"), r.body)
	for _, kept := range []string{"code", "url", "owner", "created_at", "max_hits", "title", "tags", "state"} {
		expect.Equal(t, field(t, r.body, kept), field(t, before.body, kept), kept)
	}
	for _, query := range []string{"", "?interval=hour", "?from=2025-01-01&include=bots,referrers,countries,devices,browsers"} {
		got := st.call("GET", "/stats/x"+query, "").body
		expect.That(t, field(t, got, "hits") == "0" && field(t, got, "unique") == "0" && !strings.Contains(got, "imported_hits") &&
			!strings.Contains(got, "news.example"), "figures with %q: got %s", query, got)
		bots := field(t, got, "bots")
		expect.That(t, bots == "" || bots == `{"bots":0,"prefetches":0,"heads":0}`, "bots: got %s", bots)
	}
	st.call("POST", "/links/x/reset", "", `If-Match: "1"`).expect(t, "with an old version", problemOf("precondition_failed"))
	for i := range 8 { // the cap admits as many as it did at first
		want := 302
		if i == 7 {
			want = 410
		}
		st.get("/x", browser).expect(t, fmt.Sprintf("redirect %d after the reset", i), want)
	}
	var sum ops.Figures
	if err := json.Unmarshal([]byte(st.call("GET", "/stats", "").body), &sum); err != nil || sum.Hits != 8 || sum.Imported != 5 {
		t.Errorf("the sums of the owner: got %+v, %v, want 1 hit before the reset and 7 after it, and 5 imported", sum, err)
	}
	expect.Equal(t, st.metric(`shunt_link_writes_total{op="reset",result="ok"}`), "1", "resets that were counted")
}

func TestALiveStreamGoesOnAfterAReset(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	st.get("/x")
	caller := account.CallerOf(account.User{ID: 1})
	w, err := st.calls.Watch(caller, "x", ops.Whose{User: caller.User.ID, Every: true})
	expect.NoError(t, err)
	for _, step := range []struct {
		what string
		do   func()
		want string
	}{
		{"at first", func() {}, "1 <nil>"},
		{"after a reset", func() { st.call("POST", "/links/x/reset", "") }, "0 <nil>"},
		{"after a hit", func() { st.get("/x") }, "1 <nil>"},
		{"after a reset at another time", func() { st.passTime(5000); st.call("POST", "/links/x/reset", "") }, "0 <nil>"},
		{"after the code was taken again", func() {
			st.call("DELETE", "/links/x", "")
			st.shorten(`{"url":"http://a/","alias":"x"}`)
		}, "0 " + engine.ErrNotFound.Error()},
	} {
		step.do()
		hits, err := st.calls.Hits(caller, w)
		expect.Equal(t, fmt.Sprint(hits, " ", err), step.want, step.what)
	}
}

func TestAWindowSaysWhatWasImported(t *testing.T) {
	st := newSite(t, nil)
	st.passTime(30 * 24 * time.Hour.Milliseconds())
	at := time.UnixMilli(st.now.Load()).UTC()
	st.importText(`{"code":"x","url":"http://a/","hits":5,"created_at":"2025-01-01T00:00:00Z","tags":["t"]}`,
		`{"code":"y","url":"http://a/","hits":3,"tags":["u"]}`, `{"code":"none","url":"http://a/"}`)
	st.get("/x")
	st.passTime(3 * time.Hour.Milliseconds())
	hour := func(hours int) string {
		return at.Truncate(time.Hour).Add(time.Duration(hours) * time.Hour).Format(time.RFC3339)
	}
	for query, want := range map[string]string{
		"/stats/x":                                     "",
		"/stats/x?include=bots":                        "", // of its whole life: hits has them
		"/stats/x?from=2025-01-01":                     "5",
		"/stats/x?interval=hour":                       "5",
		"/stats/x?interval=day&to=" + hour(-24):        "5", // wholly before
		"/stats/x?from=" + hour(0):                     "5", // in its hour
		"/stats/x?from=" + hour(1):                     "",
		"/stats/none?interval=day":                     "",
		"/stats":                                       "8",
		"/stats?from=" + hour(0):                       "8",
		"/stats?from=" + hour(1):                       "",
		"/stats?tag=t":                                 "5",
		"/stats?tag=t&from=" + hour(1):                 "",
		"/stats?tag=none":                              "",
		"/stats?owner=all":                             "8",
		"/stats?interval=day&owner=all&top=5&tag=u":    "3",
		"/stats?interval=day&from=" + at.String()[:10]: "8",
	} {
		r := st.call("GET", query, "")
		got := field(t, r.body, "imported_hits")
		expect.That(t, r.status == 200 && got == want, "%s: got %d %s, want %q", query, r.status, r.body, want)
	}
	st.call("DELETE", "/links/y", "")
	expect.Equal(t, field(t, st.call("GET", "/stats", "").body, "imported_hits"), "8", "after a link was deleted as before")
}

// TestAnAdminGivesALinkAway follows a link with a hit from one owner to another.
func TestAnAdminGivesALinkAway(t *testing.T) {
	st := newSite(t, nil)
	ann, bob := st.member("ann@example.com"), st.member("bob@example.com") // 2 and 3
	st.callAs(ann, "POST", "/shorten", `{"url":"http://a/","alias":"x","tags":["t"]}`).need(t, "", 201)
	st.get("/x")
	for _, c := range []struct{ who, path, body, want string }{
		{ann, "/links/x", `{"owner":3}`, "403 forbidden"},
		{ann, "/links/x", `{"owner":2}`, "200 "}, // as it is
		{st.issue(account.CallerOf(account.User{ID: 1, Role: account.RoleAdmin}), account.LinksWrite), "/links/x", `{"owner":3}`, "403 forbidden"},
		{st.token, "/links/x", `{"owner":3}`, "404 not_found"}, // it is not the admin's own
		{st.token, "/links/x?owner=all", `{"owner":9}`, "422 owner:unknown"},
		{st.token, "/links/x?owner=all", `{"owner":0}`, "422 owner:unknown"},
		{st.token, "/links/x?owner=all", `{"owner":4294967296}`, "422 owner:unknown"},
		{st.token, "/links/x?owner=all", `{"owner":"bob"}`, "422 owner:type"},
		{st.token, "/links/x?owner=all", `{"owner":null}`, "422 owner:required"},
		{st.token, "/links/x?owner=all", `{"owner":2}`, "200 "},
	} {
		r := st.callAs(c.who, "PATCH", c.path, c.body)
		if got := fmt.Sprint(r.status, " ", r.problem()); r.status == 422 {
			if got = fmt.Sprint(r.status, " ", r.fields()); got != c.want {
				t.Errorf("PATCH %s %s: got %s, want %s", c.path, c.body, got, c.want)
			}
		} else if got != c.want {
			t.Errorf("PATCH %s %s: got %s, want %s", c.path, c.body, got, c.want)
		}
	}
	r := st.call("PATCH", "/links/x?owner=2", `{"owner":3,"title":"given"}`)
	expect.That(t, r.status == 200 && field(t, r.body, "owner") == "3" && field(t, r.body, "title") == `"given"` && r.header.Get("ETag") == `"2"`,
		"got %d %s %s", r.status, r.header.Get("ETag"), r.body)
	st.get("/x")
	for _, c := range []struct{ who, path, has string }{
		{ann, "/links/x", `"not_found"`}, {bob, "/links/x", `"hits":2`},
		{ann, "/links", `"data":[]`}, {bob, "/links", `"code":"x"`},
		{ann, "/links?tag=t", `"data":[]`}, {bob, "/links?tag=t", `"code":"x"`},
		{ann, "/stats", `"hits":1`}, {bob, "/stats", `"hits":1`}, // each has what was counted in its time
		{bob, "/stats/x?interval=day", `"hits":2`},
	} {
		st.callAs(c.who, "GET", c.path, "").expect(t, "GET "+c.path, c.has)
	}
	st.call("DELETE", "/users/2", "").expect(t, "the former owner is deleted", 204)
	st.call("DELETE", "/users/3", "").expect(t, "the new owner is deleted", fieldsOf("links:required"))
}

// TestAUserIsDeletedAndAnotherGetsTheLinks moves more links than are moved at once.
func TestAUserIsDeletedAndAnotherGetsTheLinks(t *testing.T) {
	const links = 150
	st := newSite(t, nil)
	ann, bob := st.member("ann@example.com"), st.member("bob@example.com") // 2 and 3
	items := make([]string, links)
	for i := range items {
		items[i] = fmt.Sprintf(`{"url":"http://a/","alias":"a%d"}`, i)
	}
	st.callAs(ann, "POST", "/shorten/bulk", "["+strings.Join(items, ",")+"]")
	for query, want := range map[string]string{
		"": "links:required", "?move_links_to=2": "move_links_to:range", "?move_links_to=9": "move_links_to:unknown",
		"?move_links_to=0": "move_links_to:range", "?move_links_to=x": "move_links_to:range", "?move_links_to=3&links=keep": "move_links_to:range",
		"?move_links_to=3&move_links_to=3": "move_links_to:duplicate", "?move=3": "move:unknown",
	} {
		st.call("DELETE", "/users/2"+query, "").expect(t, fmt.Sprintf("with %q", query), 422, fieldsOf(want))
	}
	st.call("DELETE", "/users/1?move_links_to=3", "").expect(t, "the last admin", 422)
	st.call("DELETE", "/users/9?move_links_to=3", "").expect(t, "nobody", 404)
	r := st.callAs(ann, "GET", "/links?limit=1000", "")
	expect.Equal(t, strings.Count(r.body, `"owner":2`), links, "after refusals, ann has %s", r.body)
	st.call("DELETE", "/users/2?move_links_to=3", "").expect(t, "", 204)
	r = st.callAs(bob, "GET", "/links?limit=1000", "")
	expect.Equal(t, strings.Count(r.body, `"owner":3`), links, "bob has %s", r.body)
}

// TestAnAdminTakesAnAliasOfADeletedLink: for 90 days nobody else may, and afterwards the former owner may not.
func TestAnAdminTakesAnAliasOfADeletedLink(t *testing.T) {
	st := newSite(t, nil)
	ann, bob := st.member("ann@example.com"), st.member("bob@example.com") // 2 and 3
	weak := st.issue(account.CallerOf(account.User{ID: 1, Role: account.RoleAdmin}), account.LinksWrite)
	for i, take := range []func(alias string) reply{
		func(alias string) reply {
			return st.call("POST", "/shorten", `{"url":"http://b/","alias":"`+alias+`"}`)
		},
		func(alias string) reply {
			return itemOf(st.call("POST", "/shorten/bulk", `[{"url":"http://b/","alias":"`+alias+`"}]`))
		},
		func(alias string) reply {
			return itemOf(st.call("POST", "/import?owner=3", `[{"url":"http://b/","code":"`+alias+`"}]`))
		},
	} {
		for _, alias := range []string{fmt.Sprint("same", i), fmt.Sprint("CASE", i)} {
			st.callAs(ann, "POST", "/shorten", `{"url":"http://a/","alias":"`+strings.ToLower(alias)+`"}`)
			if i == 2 && strings.HasPrefix(alias, "CASE") { // imports may differ by case from a live link
			} else if r := take(alias); r.status != 409 {
				t.Errorf("way %d, %s, which is live: got %d %s", i, alias, r.status, r.body)
			}
			st.callAs(ann, "DELETE", "/links/"+strings.ToLower(alias), "")
			for _, who := range []string{bob, weak} {
				r := st.callAs(who, "POST", "/shorten", `{"url":"http://b/","alias":"`+alias+`"}`)
				r.expect(t, fmt.Sprintf("way %d, %s by somebody else", i, alias), problemOf("alias_taken"))
			}
			r := take(alias)
			expect.That(t, r.status == 201 || r.status == 200, "way %d, %s: got %d %s", i, alias, r.status, r.body)
			r = st.callAs(ann, "POST", "/shorten", `{"url":"http://a/","alias":"`+alias+`"}`)
			r.expect(t, fmt.Sprintf("way %d, %s by its former owner", i, alias), problemOf("alias_taken"))
		}
	}
}

// TestARepeatedBulkShowsNothingOfALinkThatWasGivenAway also repeats it after a reset.
func TestARepeatedBulkShowsNothingOfALinkThatWasGivenAway(t *testing.T) {
	st := newSite(t, nil)
	ann := st.member("ann@example.com")
	st.callAs(ann, "POST", "/shorten", `{"url":"http://a/","alias":"x"}`)
	bulk := func() string {
		return st.callAs(ann, "POST", "/shorten/bulk", `[{"url":"http://a/","alias":"x"}]`, "Idempotency-Key: k").body
	}
	first := bulk()
	st.passTime(1000)
	st.callAs(ann, "POST", "/links/x/reset", "")
	again := bulk()
	expect.That(t, strings.Contains(first, `"status":200`) && strings.Contains(again, `"status":200`), "after a reset: got %s, and first %s", again, first)
	st.call("PATCH", "/links/x?owner=2", `{"owner":1,"url":"https://secret.example/"}`)
	again = bulk()
	expect.That(t, strings.Contains(again, `"gone"`) && !strings.Contains(again, "secret"), "after it was given away: got %s", again)
}
