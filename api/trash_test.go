package api

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"shunt/api/account"
	"shunt/api/ops"
	"shunt/engine"
	"shunt/engine/expect"
)

const dayMs = 24 * 3600_000

// trashOf returns the codes in a list of the trash, and checks what its links say.
func (st *site) trashOf(token, query string) (codes []string) {
	st.t.Helper()
	r := st.callAs(token, "GET", "/links?state=deleted"+query, "")
	r.need(st.t, query, 200)
	var page struct {
		Data []struct {
			Code      string    `json:"code"`
			State     string    `json:"state"`
			DeletedAt time.Time `json:"deleted_at"`
		} `json:"data"`
	}
	expect.OK(st.t, json.Unmarshal([]byte(r.body), &page))
	for _, l := range page.Data {
		expect.That(st.t, l.State == "deleted" && !l.DeletedAt.IsZero(), "in the trash: %+v", l)
		codes = append(codes, l.Code)
	}
	return codes
}

// TestADeletedLinkIsRestoredWithAllItHas follows a link with every kind of field and figure.
func TestADeletedLinkIsRestoredWithAllItHas(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"https://a.example/","alias":"x","title":"T","note":"N","tags":["t"],"max_hits":5,"expires_at":"2037-01-01T00:00:00Z","forward_query":true,` +
		`"redirect_status":307,"password":"` + st.secret("the password of x") + `","card":{"title":"C"},"split":[{"url":"https://b.example/","weight":1},{"url":"https://c.example/","weight":1}]}`)
	st.shorten(`{"url":"https://a.example/","alias":"plain"}`)
	st.get("/plain", browser, "Referer: https://news.example/")
	st.get("/plain", "User-Agent: Googlebot/2.1")
	for _, code := range []string{"x", "plain"} {
		before, figures := st.call("GET", "/links/"+code, ""), st.call("GET", "/stats/"+code+"?include=bots,referrers", "").body
		r := st.call("DELETE", "/links/"+code, "", "If-Match: "+before.header.Get("ETag"))
		r.need(t, "delete", 204)
		st.get("/"+code, browser).expect(t, "deleted", 404)
		st.call("GET", "/links/"+code, "").expect(t, "deleted", problemOf("not_found"))
		for _, list := range []string{"/links", "/export"} {
			expect.That(t, !strings.Contains(st.call("GET", list, "").body, `"`+code+`"`), "%s has %s", list, code)
		}
		expect.Slices(t, st.trashOf(st.token, ""), []string{code}, "the trash")
		st.call("POST", "/links/"+code+"/restore", "", `If-Match: "7"`).expect(t, "of another version", problemOf("precondition_failed"))
		st.passTime(1000)
		after := st.call("POST", "/links/"+code+"/restore", "", `If-Match: "7", `+before.header.Get("ETag"))
		after.need(t, "restore", 200)
		expect.Equal(t, after.header.Get("ETag"), `"3"`, "the version")
		for _, name := range []string{"url", "title", "note", "tags", "max_hits", "expires_at", "query", "redirect_status", "has_password", "card", "split", "hits", "unique", "owner", "created_at", "state", "deleted_at"} {
			expect.Equal(t, field(t, after.body, name), field(t, before.body, name), "%s of %s", name, code)
		}
		expect.Equal(t, st.call("GET", "/stats/"+code+"?include=bots,referrers", "").body, figures, "figures of %s", code)
		expect.Slices(t, st.trashOf(st.token, ""), nil, "the trash")
		st.call("POST", "/links/"+code+"/restore", "").expect(t, "again", 409, problemOf("alias_taken"))
	}
	st.get("/plain", browser).expect(t, "it redirects again", 302)
	st.get("/x", browser).expect(t, "it asks for its password again", 401)
	expect.Equal(t, field(t, st.call("GET", "/stats", "").body, "hits"), "2", "hits of the owner")
	expect.Contains(t, st.call("GET", "/links?tag=t", "").body, `"code":"x"`)
	expect.Contains(t, st.call("GET", "/links?q=news", "").body, `"data":[]`)
	expect.Equal(t, st.metric(`shunt_link_writes_total{op="restore",result="ok"}`), "2", "restores that were counted")
}

// TestTheTrashIsItsOwners also asks for what a list of the trash does not have.
func TestTheTrashIsItsOwners(t *testing.T) {
	st := newSite(t, nil)
	ann, bob := st.member("ann@example.com"), st.member("bob@example.com") // 2 and 3
	for i, token := range []string{ann, bob, ann} {
		code := fmt.Sprint("code", i)
		st.callAs(token, "POST", "/shorten", `{"url":"http://a/","alias":"`+code+`"}`).need(t, "", 201)
		st.passTime(1000)
		st.callAs(token, "DELETE", "/links/"+code, "").need(t, "", 204)
	}
	for _, c := range []struct{ token, query, want string }{
		{ann, "", "code2 code0"}, {bob, "", "code1"}, {st.token, "", ""}, {st.token, "&owner=all", "code2 code1 code0"}, {st.token, "&owner=2", "code2 code0"}, {st.token, "&owner=9", ""},
		{ann, "&limit=1", "code2"}, {ann, "&domain=127.0.0.1", "code2 code0"}, {ann, "&q=&tag=&sort=&order=&total=&never_hit=", "code2 code0"},
	} {
		expect.Equal(t, strings.Join(st.trashOf(c.token, c.query), " "), c.want, "%s", c.query)
	}
	for query, want := range map[string]string{
		"q=a": "q:conflict", "tag=a": "tag:conflict", "sort=hits": "sort:conflict", "order=asc": "order:conflict", "total=true": "total:conflict", "never_hit=true": "never_hit:conflict",
		"include=unique": "include:conflict", "created_from=2026-01-01": "created_from:conflict", "created_to=2026-01-01": "created_to:conflict", "limit=0": "limit:range", "limit=1001": "limit:range",
		"cursor=x": "cursor:invalid", "trash=true": "trash:unknown", "state=Deleted": "state:duplicate", "domain=none.test": "domain:unknown", "tag=%ff": "tag:characters",
	} {
		st.callAs(ann, "GET", "/links?state=deleted&"+query, "").expect(t, query, 422, fieldsOf(want))
	}
	st.callAs(ann, "GET", "/links?state=deleted&owner=all", "").expect(t, "of others", problemOf("forbidden"))
	st.callAs(ann, "GET", "/export?state=deleted", "").expect(t, "an export", 422, fieldsOf("state:range"))
	for _, call := range []string{"POST /links/code1/restore", "DELETE /links/code1?purge=true"} {
		method, path, _ := strings.Cut(call, " ")
		st.callAs(ann, method, path, "").expect(t, call, problemOf("not_found"))
		st.callAs(ann, method, path+map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")]+"owner=3", "").expect(t, call, problemOf("forbidden"))
	}
	for query, want := range map[string]string{"purge=yes": "purge:range", "purge=true&purge=true": "purge:duplicate", "purged=true": "purged:unknown", "state=deleted": "state:unknown"} {
		st.callAs(ann, "DELETE", "/links/code0?"+query, "").expect(t, query, 422, fieldsOf(want))
	}
	st.callAs(ann, "POST", "/links/code0/restore?purge=true", "").expect(t, "a parameter", 422, fieldsOf("purge:unknown"))
	for _, code := range []string{"none", "a%2F%2Fb", "%00", strings.Repeat("a", 65), "%ff"} {
		st.callAs(ann, "POST", "/links/"+code+"/restore", "").expect(t, code, problemOf("not_found"))
		st.callAs(ann, "DELETE", "/links/"+code+"?purge=true", "").expect(t, code, problemOf("not_found"))
	}
	st.callAs(st.token, "POST", "/links/code1/restore?owner=3", "").need(t, "by an admin", 200)
	expect.Equal(t, field(t, st.callAs(bob, "GET", "/links/code1", "").body, "owner"), "3", "whose it is")
	st.callAs(ann, "DELETE", "/links/code0?purge=false", "").expect(t, "it is in the trash already", problemOf("not_found"))
	st.callAs(ann, "DELETE", "/links/code0?purge=true", "", `If-Match: "9"`).expect(t, "of another version", problemOf("precondition_failed"))
	st.callAs(ann, "DELETE", "/links/code0?purge=true", "", `If-Match: "9", "8", x`).expect(t, "of none of several versions", problemOf("precondition_failed"))
	st.callAs(bob, "DELETE", "/links/code0?purge=true", "", `If-Match: "9", "1"`).expect(t, "somebody else's", problemOf("not_found"))
	st.callAs(ann, "DELETE", "/links/code0?purge=true", "", `If-Match: "9", "1"`).need(t, "purge of one of two versions", 204)
	st.callAs(ann, "DELETE", "/links/code0?purge=true", "", `If-Match: "9", "1"`).expect(t, "once more", problemOf("not_found"))
	expect.Slices(t, st.trashOf(ann, ""), []string{"code2"}, "after a purge")
	st.callAs(ann, "POST", "/links/code2/restore", "").need(t, "", 200)
	st.callAs(ann, "DELETE", "/links/code2?purge=true", "", `If-Match: "1", "2"`).expect(t, "a link that is not in the trash", problemOf("precondition_failed"))
	st.callAs(ann, "DELETE", "/links/code2?purge=true", "", `If-Match: "1", "3"`).need(t, "the same, of one of two versions", 204)
	expect.Slices(t, st.trashOf(ann, ""), nil, "after a purge without the trash")
}

// A line of the trash is no line of an export: it would be imported as a link that works.
func TestALineOfTheTrashIsNotImported(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	st.call("DELETE", "/links/x", "").need(t, "", 204)
	var page struct{ Data []json.RawMessage }
	expect.OK(t, json.Unmarshal([]byte(st.call("GET", "/links?state=deleted", "").body), &page))
	itemOf(st.call("POST", "/import", "["+string(page.Data[0])+"]")).expect(t, "the line", fieldsOf("deleted_at:unknown"))
	for _, method := range []string{"POST /shorten", "PATCH /links/y"} {
		st.call("POST", "/shorten", `{"url":"http://a/","alias":"y"}`)
		m, path, _ := strings.Cut(method, " ")
		st.call(m, path, `{"url":"http://a/","deleted_at":"2026-01-01T00:00:00Z"}`).expect(t, method, 422, fieldsOf("deleted_at:unknown"))
	}
	expect.Slices(t, st.trashOf(st.token, ""), []string{"x"}, "the trash")
}

// TestTheTrashIsListedInPages has deletions come between two pages.
func TestTheTrashIsListedInPages(t *testing.T) {
	st := newSite(t, nil)
	remove := func(code string) {
		st.shorten(`{"url":"http://a/","alias":"` + code + `"}`)
		st.passTime(1000)
		st.call("DELETE", "/links/"+code, "").need(t, "", 204)
	}
	for i := range 5 {
		remove(fmt.Sprint("code", i))
	}
	var got []string
	for cursor := ""; ; {
		r := st.call("GET", "/links?state=deleted&limit=2&cursor="+url.QueryEscape(cursor), "")
		r.need(t, "", 200)
		var page struct {
			Data []struct{ Code string }
			Next *string `json:"next_cursor"`
		}
		expect.OK(t, json.Unmarshal([]byte(r.body), &page))
		for _, l := range page.Data {
			got = append(got, l.Code)
		}
		if page.Next == nil {
			break
		}
		cursor = *page.Next
		remove("late" + fmt.Sprint(len(got)))
		st.call("GET", "/links?cursor="+url.QueryEscape(cursor), "").expect(t, "its cursor at another list", 422, fieldsOf("cursor:invalid"))
		st.call("GET", "/links?state=deleted&owner=all&cursor="+url.QueryEscape(cursor), "").expect(t, "its cursor at another trash", 422, fieldsOf("cursor:invalid"))
	}
	expect.Slices(t, got, []string{"code4", "code3", "code2", "code1", "code0"})
}

func TestACodeThatIsTakenAgainPurgesTheLinkInTheTrash(t *testing.T) {
	st := newSite(t, nil)
	ann := st.member("ann@example.com")
	for name, take := range map[string]func() reply{
		"by its owner": func() reply { return st.callAs(ann, "POST", "/shorten", `{"url":"http://b/","alias":"x"}`) },
		"by an admin":  func() reply { return st.call("POST", "/shorten", `{"url":"http://b/","alias":"x"}`) },
		"in a bulk": func() reply {
			return itemOf(st.callAs(ann, "POST", "/shorten/bulk", `[{"url":"http://b/","alias":"x"}]`))
		},
		"by an import":  func() reply { return itemOf(st.call("POST", "/import?owner=2", `[{"url":"http://b/","code":"x"}]`)) },
		"in other case": func() reply { return st.callAs(ann, "POST", "/shorten", `{"url":"http://b/","alias":"X"}`) },
	} {
		st.callAs(ann, "POST", "/shorten", `{"url":"http://a/","alias":"x","title":"old"}`).need(t, name, 201)
		st.get("/x", browser)
		st.callAs(ann, "DELETE", "/links/x", "").need(t, name, 204)
		r := take()
		expect.Equal(t, r.status, 201, name)
		read := st.call("GET", map[bool]string{true: "/links/X?owner=all", false: "/links/x?owner=all"}[name == "in other case"], "")
		expect.Contains(t, read.body, `"hits":0,"unique":0}`, name)
		want := 409
		if name == "by an admin" {
			want = 404 // the link is not ann's, and nobody tells her that it is there
		}
		st.callAs(ann, "POST", "/links/x/restore", "").expect(t, name, want)
		if code := "x"; name == "in other case" {
			code = "X"
			expect.Slices(t, st.trashOf(ann, ""), []string{"x"}, name)
			st.call("DELETE", "/links/"+code+"?owner=all&purge=true", "").need(t, name, 204)
			st.callAs(ann, "POST", "/links/x/restore", "").need(t, "after the other was purged", 200)
			st.callAs(ann, "DELETE", "/links/x", "").need(t, name, 204)
		} else {
			expect.Slices(t, st.trashOf(ann, ""), nil, name)
			st.call("DELETE", "/links/x?owner=all&purge=true", "").need(t, name, 204)
		}
		if name == "by an admin" { // who has it now, and holds the code for 90 days
			st.passTime(91 * dayMs)
		}
	}
}

// TestTheTrashGoesWithItsUser deletes a user, one whose links are kept, one who is refused, and a domain.
func TestTheTrashGoesWithItsUser(t *testing.T) {
	st := newSite(t, nil)
	gone := func(token, live string) {
		st.callAs(token, "POST", "/shorten", `{"url":"http://a/","alias":"`+live+`"}`).need(t, live, 201)
		for i := range 70 { // more than are purged at once
			code := fmt.Sprint(live, i)
			st.callAs(token, "POST", "/shorten", `{"url":"http://a/","alias":"`+code+`"}`).need(t, code, 201)
			st.callAs(token, "DELETE", "/links/"+code, "").need(t, code, 204)
		}
	}
	ann, bob := st.member("ann@example.com"), st.member("bob@example.com") // 2 and 3
	gone(ann, "a")
	gone(bob, "b")
	st.call("DELETE", "/users/2", "").expect(t, "with a link", 422)
	expect.Equal(t, len(st.trashOf(ann, "&limit=1000")), 70, "after a refusal, links in the trash")
	st.callAs(ann, "DELETE", "/links/a", "").need(t, "", 204)
	st.call("DELETE", "/users/2", "").need(t, "without a link", 204)
	st.call("DELETE", "/users/3?links=keep", "").need(t, "whose links are kept", 204)
	expect.Slices(t, st.trashOf(st.token, "&owner=all"), nil, "what is left")
	st.call("POST", "/links/a/restore?owner=all", "").expect(t, "a link of a user who is gone", 404)
	st.call("DELETE", "/links/b?owner=3", "").need(t, "a link that was kept", 204)
	expect.Slices(t, st.trashOf(st.token, "&owner=3"), []string{"b"}, "of a number without a user")
	st.call("POST", "/links/b/restore?owner=3", "").need(t, "a link that was kept", 200)

	st.call("POST", "/domains", `{"host":"b.test"}`).need(t, "", 201)
	st.shorten(`{"url":"http://a/","alias":"x","domain":"b.test"}`)
	st.call("DELETE", "/domains/b.test", "").expect(t, "with a link", 409)
	st.call("DELETE", "/links/x?domain=b.test", "").need(t, "", 204)
	expect.Slices(t, st.trashOf(st.token, "&domain=b.test"), []string{"x"}, "of the domain")
	st.call("DELETE", "/domains/b.test", "").need(t, "without one", 204)
	expect.Slices(t, st.trashOf(st.token, "&owner=all"), nil, "what is left")
}

// TestUsersAreDeletedWhileTheirLinksAreDeletedAndRestored races both; see the engine's test of the same.
func TestUsersAreDeletedWhileTheirLinksAreDeletedAndRestored(t *testing.T) {
	st := newSite(t, nil)
	for id := 2; id < 12; id++ {
		ann := st.member(fmt.Sprintf("ann%d@example.com", id))
		code := fmt.Sprint("x", id)
		st.callAs(ann, "POST", "/shorten", `{"url":"http://a/","alias":"`+code+`"}`).need(t, "", 201)
		var racers sync.WaitGroup
		racers.Go(func() {
			for range 5 {
				st.callAs(ann, "DELETE", "/links/"+code, "")
				st.call("POST", "/links/"+code+"/restore?owner=all", "")
			}
			st.callAs(ann, "DELETE", "/links/"+code, "")
		})
		for deleted := false; !deleted; {
			r := st.call("DELETE", fmt.Sprintf("/users/%d", id), "")
			deleted = r.status == 204
			expect.MustThat(t, deleted || r.status == 422 || r.status == 503, "got %d %s", r.status, r.body)
			if !deleted {
				st.call("DELETE", "/links/"+code+"?owner=all", "")
			}
		}
		racers.Wait()
		for _, query := range []string{"", "?state=deleted"} {
			r := st.call("GET", "/links"+query+map[bool]string{true: "?", false: "&"}[query == ""]+fmt.Sprintf("owner=%d", id), "")
			expect.Contains(t, r.body, `"data":[]`, "links of user %d, who is gone", id)
		}
	}
}

// TestDomainsOfATokenBoundItsTrash has a user who may use two domains, and is then limited to one.
func TestDomainsOfATokenBoundItsTrash(t *testing.T) {
	st := newSite(t, nil)
	st.withThree()
	u := st.person("eve@example.com", account.RoleMember)
	token := st.issue(account.CallerOf(u), everyMemberScope...)
	for _, host := range []string{"127.0.0.1", "a.test", "b.test"} {
		st.callAs(token, "POST", "/shorten", `{"url":"http://a/","alias":"eve","domain":"`+host+`"}`).need(t, host, 201)
		st.passTime(1000)
		st.callAs(token, "DELETE", "/links/eve?domain="+host, "").need(t, host, 204)
	}
	hosts := func() (hosts []string) {
		r := st.callAs(token, "GET", "/links?state=deleted", "")
		r.need(t, "", 200)
		var page struct{ Data []struct{ Domain string } }
		expect.OK(t, json.Unmarshal([]byte(r.body), &page))
		for _, l := range page.Data {
			hosts = append(hosts, l.Domain)
		}
		return hosts
	}
	expect.Slices(t, hosts(), []string{"b.test", "a.test", ""}, "of all domains")
	st.limitTo(u.ID, "b.test")
	expect.Slices(t, hosts(), []string{"b.test"}, "limited to one")
	st.callAs(token, "POST", "/links/eve/restore?domain=a.test", "").expect(t, "elsewhere", problemOf("forbidden"))
	st.callAs(token, "POST", "/links/eve/restore?domain=b.test", "").need(t, "there", 200)
}

// TestAfter30DaysNothingOfALinkIsLeftButItsCode restarts the server in between.
func TestAfter30DaysNothingOfALinkIsLeftButItsCode(t *testing.T) {
	st := newSite(t, nil)
	ann := st.member("ann@example.com")
	st.callAs(ann, "POST", "/shorten", `{"url":"http://a/","alias":"x"}`).need(t, "", 201)
	st.callAs(ann, "DELETE", "/links/x", "").need(t, "", 204)
	st.passTime(30*dayMs + 1)
	expect.Slices(t, st.trashOf(ann, ""), nil, "the trash")
	st.callAs(ann, "POST", "/links/x/restore", "").expect(t, "restore", problemOf("not_found"))
	bob := st.member("bob@example.com")
	st.callAs(bob, "POST", "/shorten", `{"url":"http://a/","alias":"x"}`).expect(t, "by another", problemOf("alias_taken"))
	r := st.callAs(ann, "POST", "/shorten", `{"url":"http://a/","alias":"x"}`)
	r.need(t, "by the former owner", 201)
	expect.Equal(t, field(t, r.body, "hits"), "0", "hits")
}

// TestAStreamEndsAtOnceWhenItsLinkIsGone watches a link that is deleted and restored, and one that is given away.
func TestAStreamEndsAtOnceWhenItsLinkIsGone(t *testing.T) {
	st := newSite(t, nil)
	ann := st.person("ann@example.com", account.RoleMember)
	token := st.issue(account.CallerOf(ann), everyMemberScope...)
	st.callAs(token, "POST", "/shorten", `{"url":"http://a/","alias":"x"}`).need(t, "", 201)
	st.get("/x", browser)
	caller := account.CallerOf(ann)
	w, err := st.calls.Watch(caller, "x", ops.Whose{User: ann.ID, Every: true})
	expect.NoError(t, err)
	want := func(what, want string) {
		t.Helper()
		hits, err := st.calls.Hits(caller, w)
		expect.Equal(t, fmt.Sprint(hits, " ", err), want, what)
	}
	want("at first", "1 <nil>")
	st.callAs(token, "DELETE", "/links/x", "").need(t, "", 204)
	want("deleted", "0 "+engine.ErrNotFound.Error())
	st.callAs(token, "POST", "/links/x/restore", "").need(t, "", 200)
	want("restored", "1 <nil>")
	st.call("PATCH", fmt.Sprintf("/links/x?owner=%d", ann.ID), `{"owner":1}`).need(t, "", 200)
	want("given away", "0 "+engine.ErrNotFound.Error())
}
