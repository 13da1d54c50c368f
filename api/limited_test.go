package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"shunt/api/account"
	"shunt/api/dashboard/visit"
	"shunt/engine/expect"
)

// everyMemberScope is what the token of a member may have.
var everyMemberScope = append(slices.Clone(memberScopes), account.TokensWrite)

// withMember makes a member who is limited to domains, and returns a token of that member, for all that members may do.
func (st *site) withMember(email string, hosts ...string) string {
	st.t.Helper()
	u := st.person(email, account.RoleMember)
	st.limitTo(u.ID, hosts...)
	c, err := st.accounts.UserByName(email)
	expect.OK(st.t, err)
	return st.issue(account.CallerOf(c), everyMemberScope...)
}

// limitTo limits a user to domains; to none: lifts the limit.
func (st *site) limitTo(user uint32, hosts ...string) {
	st.t.Helper()
	body, _ := json.Marshal(map[string][]string{"domains": hosts})
	st.call("PATCH", fmt.Sprintf("/users/%d", user), string(body)).need(st.t, "a limit to "+fmt.Sprint(hosts), 200)
}

// codesIn returns the domains and codes of links in an answer, in order.
func codesIn(t *testing.T, r reply) (found []string) {
	t.Helper()
	var list struct {
		Data []struct{ Domain, Code string }
	}
	lines := strings.Split(strings.TrimSpace(r.body), "\n")
	if r.header.Get("Content-Type") == "application/x-ndjson" {
		for _, line := range lines[:len(lines)*min(1, len(r.body))] {
			var one struct{ Domain, Code string }
			expect.OK(t, json.Unmarshal([]byte(line), &one), line)
			list.Data = append(list.Data, one)
		}
	} else {
		expect.OK(t, json.Unmarshal([]byte(r.body), &list), r.body)
	}
	for _, l := range list.Data {
		found = append(found, l.Domain+"/"+l.Code)
	}
	slices.Sort(found)
	return found
}

// TestATokenOfADomainUsesNothingOfOthers gives one user links in three domains, and asks for them with a token for b.
func TestATokenOfADomainUsesNothingOfOthers(t *testing.T) {
	st := newSite(t, nil)
	st.withThree() // of the admin
	st.call("POST", "/shorten", `{"url":"https://only.example/","alias":"only-a","domain":"a.test","tags":["tag"]}`).need(t, "", 201)
	st.get("/x")
	r := st.call("POST", "/tokens", `{"name":"n","domains":["WWW.b.test"]}`)
	r.need(t, "a token by an alias", 201)
	var made struct {
		Token   string
		Domains []string
	}
	expect.OK(t, json.Unmarshal([]byte(r.body), &made))
	expect.Slices(t, made.Domains, []string{"b.test"}, "hosts of the token")
	token := st.secret(made.Token)
	child := st.callAs(token, "POST", "/tokens", `{"name":"child"}`)
	child.need(t, "a child", 201)
	expect.OK(t, json.Unmarshal([]byte(child.body), &made))
	expect.Slices(t, made.Domains, []string{"b.test"}, "hosts of the child")
	for name, token := range map[string]string{"the token": token, "its child": st.secret(made.Token)} {
		for _, c := range []struct {
			request, body string
			status        int
			code          string
		}{
			{"POST /shorten", `{"url":"https://u.example/","domain":"a.test"}`, 403, "forbidden"},
			{"POST /shorten", `{"url":"https://u.example/","domain":"127.0.0.1"}`, 403, "forbidden"},
			{"POST /shorten", `{"url":"https://u.example/","domain":"none.test"}`, 422, "invalid"},
			{"GET /links/only-a", "", 404, "not_found"},
			{"GET /links/only-a?domain=a.test", "", 403, "forbidden"},
			{"GET /links/none?domain=a.test", "", 403, "forbidden"},
			{"GET /links/x?domain=127.0.0.1", "", 403, "forbidden"},
			{"GET /links/x?domain=none.test", "", 422, "invalid"},
			{"PATCH /links/only-a", `{"title":"t"}`, 404, "not_found"},
			{"PATCH /links/only-a?domain=a.test", `{"title":"t"}`, 403, "forbidden"},
			{"DELETE /links/only-a", "", 404, "not_found"},
			{"DELETE /links/only-a?domain=a.test", "", 403, "forbidden"},
			{"POST /links/only-a/restore", "", 404, "not_found"},
			{"POST /links/only-a/restore?domain=a.test", "", 403, "forbidden"},
			{"GET /links?state=deleted&domain=a.test", "", 403, "forbidden"},
			{"DELETE /links/only-a?purge=true&domain=a.test", "", 403, "forbidden"},
			{"POST /links/only-a/reset", "", 404, "not_found"},
			{"POST /links/only-a/reset?domain=a.test", "", 403, "forbidden"},
			{"GET /links?domain=a.test", "", 403, "forbidden"},
			{"GET /export?domain=a.test", "", 403, "forbidden"},
			{"GET /stats?domain=a.test", "", 403, "forbidden"},
			{"GET /stats?codes=only-a,x", "", 422, "invalid"},
			{"GET /stats?codes=only-a,x&domain=a.test", "", 403, "forbidden"},
			{"GET /stats/only-a", "", 404, "not_found"},
			{"GET /stats/only-a?domain=a.test", "", 403, "forbidden"},
			{"GET /stats/only-a/live", "", 404, "not_found"},
			{"GET /stats/only-a/live?domain=a.test", "", 403, "forbidden"},
			{"GET /tags?domain=a.test", "", 403, "forbidden"},
			{"PATCH /tags/tag", `{"name":"t"}`, 404, "not_found"},
			{"PATCH /tags/tag?domain=a.test", `{"name":"t"}`, 403, "forbidden"},
			{"DELETE /tags/tag?domain=a.test", "", 403, "forbidden"},
			{"GET /audit", "", 403, "forbidden"},
			{"GET /audit?domain=a.test", "", 403, "forbidden"},
			{"GET /misses", "", 403, "forbidden"},
			{"POST /import", `[{"code":"i","url":"https://i.example/","domain":"a.test"}]`, 403, "forbidden"},
			{"GET /domains/a.test", "", 404, "not_found"},
			{"POST /tokens", `{"name":"n","domains":["a.test"]}`, 422, "invalid"},
			{"POST /tokens", `{"name":"n","domains":["b.test","none.test"]}`, 422, "invalid"},
			{"POST /tokens", `{"name":"n","domains":[]}`, 422, "invalid"},
			{"POST /tokens", `{"name":"n","scopes":["admin"]}`, 422, "invalid"},
		} {
			method, path, _ := strings.Cut(c.request, " ")
			r := st.callAs(token, method, path, c.body)
			expect.That(t, r.status == c.status && r.problem() == c.code, "%s: %s %s: got %d %s, want %d %s", name, c.request, c.body, r.status, r.body, c.status, c.code)
		}
		for request, want := range map[string][]string{
			"/links": {"b.test/x"}, "/links?q=x": {"b.test/x"}, "/links?q=only-a": nil, "/links?q=https%3A%2F%2Fa.test%2Fonly-a": nil,
			"/export": {"b.test/x"}, "/links?domain=b.test": {"b.test/x"}, "/links?tag=tag": nil, "/links?sort=hits&total=true": {"b.test/x"},
		} {
			expect.Slices(t, codesIn(t, st.callAs(token, "GET", request, "")), want, name+": "+request)
		}
		expect.Contains(t, st.callAs(token, "GET", "/stats?top=10", "").body, `"hits":0,`, `"top":[]`)
		expect.That(t, strings.Contains(st.callAs(token, "GET", "/links/x", "").body, "https://b.example/"), "%s: a link without a domain is not that of the only one", name)
		st.callAs(token, "GET", "/me", "").expect(t, name, 200)
		expect.Contains(t, st.callAs(token, "GET", "/me", "").body, `"domains":["b.test"]`)
		expect.Slices(t, hostsIn(t, st.callAs(token, "GET", "/domains", "")), []string{"b.test"}, "domains")
		made := st.callAs(token, "POST", "/shorten", `{"url":"https://new.example/"}`)
		made.need(t, "a link without a domain", 201)
		expect.Contains(t, made.body, `"domain":"b.test"`)
		expect.That(t, strings.HasSuffix(made.header.Get("Location"), "?domain=b.test"), "Location: got %s", made.header.Get("Location"))
		st.callAs(token, "DELETE", strings.TrimPrefix(made.header.Get("Location"), "/api/v1"), "").need(t, "", 204)
	}
	expect.Slices(t, codesIn(t, st.call("GET", "/export?owner=all&domain=a.test", "")), []string{"a.test/only-a", "a.test/x"}, "links of a")
	expect.Slices(t, codesIn(t, st.call("GET", "/export?owner=all&domain=127.0.0.1", "")), []string{"/x"}, "links of the default domain")
	bulk := st.callAs(token, "POST", "/shorten/bulk", `[{"url":"https://n.example/","alias":"in-bulk"},{"url":"https://n.example/","domain":"a.test"},{"url":"https://n.example/","domain":"none.test"}]`)
	bulk.need(t, "a bulk", 200)
	for _, want := range []string{`"created":1`, `"failed":2`, `"https://b.test/in-bulk"`, `"status":403`, `"status":422`} {
		expect.Contains(t, strings.ReplaceAll(bulk.body, "http://b.test:8080", "https://b.test"), want)
	}
}

func hostsIn(t *testing.T, r reply) (hosts []string) {
	t.Helper()
	var list struct{ Data []struct{ Host string } }
	expect.OK(t, json.Unmarshal([]byte(r.body), &list), r.body)
	for _, d := range list.Data {
		hosts = append(hosts, d.Host)
	}
	return hosts
}

// TestWithSeveralDomainsALinkNamesItsOwn has a member of a and b, and one of b and the default domain.
func TestWithSeveralDomainsALinkNamesItsOwn(t *testing.T) {
	st := newSite(t, nil)
	st.withThree()
	ab, b0 := st.withMember("ab@example.com", "b.test", "a.test", "www.b.test"), st.withMember("b0@example.com", "127.0.0.1", "b.test")
	for name, token := range map[string]string{"a and b": ab, "b and the default one": b0} {
		for _, body := range []string{`{"url":"https://u.example/"}`, `{"url":"https://u.example/","domain":null}`} {
			r := st.callAs(token, "POST", "/shorten", body)
			expect.That(t, r.status == 422 && r.fields() == "domain:required", "%s: %s: got %d %s", name, body, r.status, r.body)
		}
	}
	st.callAs(ab, "POST", "/shorten", `{"url":"https://u.example/","alias":"mine","domain":"b.test"}`).need(t, "in b", 201)
	st.callAs(b0, "POST", "/shorten", `{"url":"https://u.example/","alias":"mine","domain":"b.test"}`).need(t, "in b, where it is taken", 409)
	st.callAs(ab, "POST", "/shorten", `{"url":"https://u.example/","alias":"mine","domain":"a.test","tags":["of a"]}`).need(t, "in a", 201)
	st.callAs(b0, "POST", "/shorten", `{"url":"https://u.example/","alias":"mine","domain":"127.0.0.1","tags":["of 0"]}`).need(t, "in the default one", 201)
	expect.Slices(t, codesIn(t, st.callAs(ab, "GET", "/links", "")), []string{"a.test/mine", "b.test/mine"}, "links in a and b")
	expect.Slices(t, codesIn(t, st.callAs(ab, "GET", "/links?domain=a.test", "")), []string{"a.test/mine"}, "links in a")
	expect.Slices(t, codesIn(t, st.callAs(b0, "GET", "/links", "")), []string{"/mine"}, "links in b and the default one")
	st.callAs(b0, "GET", "/links/mine", "").need(t, "a link without a domain is that of the default one, if it is among them", 200)
	for _, request := range []string{"GET /links/mine", "GET /stats/mine", "GET /tags", "DELETE /tags/x", "GET /stats?codes=mine,x", "GET /stats/mine/live"} {
		method, path, _ := strings.Cut(request, " ")
		r := st.callAs(ab, method, path, "")
		expect.That(t, r.status == 422 && r.fields() == "domain:required", "%s: got %d %s", request, r.status, r.body)
	}
	st.callAs(ab, "GET", "/tags?domain=a.test", "").expect(t, "tags", 200, bodyOf("{\"data\":[{\"name\":\"of a\",\"links\":1}],\"next_cursor\":null}\n"))
}

// TestALimitIsInForceAtOnce limits a user who has links in three domains, with a token, a limited token, and a session.
func TestALimitIsInForceAtOnce(t *testing.T) {
	st := newSite(t, nil)
	st.withThree()
	ann := st.person("ann@example.com", account.RoleMember)
	free := st.issue(account.CallerOf(ann), everyMemberScope...)
	cookie := st.logIn("ann@example.com")
	r := st.callAs(free, "POST", "/tokens", `{"name":"of both","domains":["a.test","b.test"]}`)
	r.need(t, "", 201)
	var both struct{ ID, Token string }
	expect.OK(t, json.Unmarshal([]byte(r.body), &both))
	st.secret(both.Token)
	key, bulkKey := "Idempotency-Key: k", "Idempotency-Key: of-the-bulk"
	bulk := `[{"url":"https://u.example/","alias":"bulk","domain":"a.test"}]`
	for _, host := range []string{"127.0.0.1", "a.test", "b.test"} {
		st.callAs(free, "POST", "/shorten", fmt.Sprintf(`{"url":"https://u.example/","alias":"mine","domain":%q}`, host)).need(t, host, 201)
	}
	st.callAs(free, "POST", "/shorten", `{"url":"https://u.example/","alias":"once","domain":"a.test"}`, key).need(t, "", 201)
	st.callAs(free, "POST", "/shorten/bulk", bulk, bulkKey).need(t, "", 200)
	in := func(host string) map[string]int {
		got := make(map[string]int)
		for name, token := range map[string]string{"free": free, "both": both.Token} {
			got[name] = st.callAs(token, "GET", "/links/mine?domain="+host, "").status
		}
		got["session"] = st.as([]string{cookie, ownPage}, "GET", "/links/mine?domain="+host, "").status
		return got
	}
	wants := func(what string, want map[string][3]int) {
		t.Helper()
		for i, host := range []string{"127.0.0.1", "a.test", "b.test"} {
			for name, status := range in(host) {
				expect.Equal(t, status, want[name][i], "%s: %s in %s", what, name, host)
			}
		}
	}
	wants("without a limit", map[string][3]int{"free": {200, 200, 200}, "both": {403, 200, 200}, "session": {200, 200, 200}})
	st.limitTo(ann.ID, "b.test", "127.0.0.1")
	wants("limited", map[string][3]int{"free": {200, 403, 200}, "both": {403, 403, 200}, "session": {200, 403, 200}})
	st.callAs(free, "POST", "/shorten", `{"url":"https://u.example/","alias":"once","domain":"a.test"}`, key).expect(t, "a repeat", 403)
	repeat := st.callAs(free, "POST", "/shorten/bulk", bulk, bulkKey)
	expect.That(t, repeat.status == 200 && !strings.Contains(repeat.body, "u.example") && strings.Contains(repeat.body, `"status":403`), "a repeated bulk: got %s", repeat.body)
	expect.That(t, !strings.Contains(st.callAs(free, "GET", "/tokens", "").body, "a.test"), "tokens show a domain that they may not use any more")
	st.call("PATCH", fmt.Sprintf("/users/%d", ann.ID), `{"email":null,"domains":null}`).need(t, "no limit", 200)
	wants("without a limit again", map[string][3]int{"free": {200, 200, 200}, "both": {403, 200, 200}, "session": {200, 200, 200}})
	for body, field := range map[string]string{
		`{"domains":[]}`: "domains:required", `{"domains":["none.test"]}`: "domains[0]:unknown", `{"domains":"b.test"}`: "domains:type",
		`{"domains":["b.test"],"role":"admin"}`: "domains:conflict",
	} {
		r := st.call("PATCH", fmt.Sprintf("/users/%d", ann.ID), body)
		expect.That(t, r.status == 422 && r.fields() == field, "%s: got %d %s", body, r.status, r.body)
	}
	audit := st.call("GET", "/audit", "").body
	for _, want := range []string{`"after":{"domains":"127.0.0.1:8080, b.test"}`, `"before":{"domains":"127.0.0.1:8080, b.test"}`, `"domains":"a.test, b.test"`} {
		expect.Contains(t, audit, want)
	}
}

// TestARemovedDomainLiftsNoLimit removes the domains to which a user and a token are limited.
func TestARemovedDomainLiftsNoLimit(t *testing.T) {
	st := newSite(t, nil)
	st.withThree()
	ann := st.person("ann@example.com", account.RoleMember)
	free := st.issue(account.CallerOf(ann), everyMemberScope...)
	for _, host := range []string{"127.0.0.1", "a.test"} {
		st.callAs(free, "POST", "/shorten", fmt.Sprintf(`{"url":"https://u.example/","alias":"mine","domain":%q}`, host)).need(t, host, 201)
	}
	st.limitTo(ann.ID, "a.test", "b.test")
	var made struct{ Token string }
	expect.OK(t, json.Unmarshal([]byte(st.callAs(free, "POST", "/tokens", `{"name":"n","domains":["b.test"]}`).body), &made))
	ofB := st.secret(made.Token)
	remove := func(host, code string) {
		t.Helper()
		for _, code := range strings.Fields(code) {
			st.call("DELETE", "/links/"+code+"?owner=all&domain="+host, "").need(t, code, 204)
		}
		st.call("DELETE", "/domains/"+host, "").need(t, "removing "+host, 204)
	}
	user := func() string { return st.call("GET", "/users", "").body }
	remove("b.test", "x")
	expect.Contains(t, user(), `"domains":["a.test"]`)
	made2 := st.callAs(free, "POST", "/shorten", `{"url":"https://u.example/"}`)
	made2.need(t, "the only domain that is left is the default of creates", 201)
	expect.Contains(t, made2.body, `"domain":"a.test"`)
	mayNothing := func(what, token string) {
		t.Helper()
		st.callAs(token, "POST", "/shorten", `{"url":"https://u.example/"}`).expect(t, what, 403)
		st.callAs(token, "POST", "/shorten", `{"url":"https://u.example/","domain":"127.0.0.1"}`).expect(t, what, 403)
		st.callAs(token, "GET", "/links/mine", "").expect(t, what, 404)
		expect.Slices(t, codesIn(t, st.callAs(token, "GET", "/links", "")), nil, what+": links")
		expect.Slices(t, codesIn(t, st.callAs(token, "GET", "/export", "")), nil, what+": export")
		expect.Contains(t, st.callAs(token, "GET", "/stats", "").body, `"hits":0,`)
		expect.Contains(t, st.callAs(token, "GET", "/tags", "").body, `{"data":[],`)
		st.callAs(token, "GET", "/stats?codes=mine,x", "").expect(t, what, 422)
		st.callAs(token, "GET", "/stats/mine", "").expect(t, what, 404)
		expect.Contains(t, st.callAs(token, "GET", "/me", "").body, `"domains":[]`)
		expect.Slices(t, hostsIn(t, st.callAs(token, "GET", "/domains", "")), nil, what+": domains")
	}
	mayNothing("a token of a removed domain", ofB)
	st.get("/mine")
	var ids []string
	for _, code := range codesIn(t, st.callAs(free, "GET", "/links", "")) {
		ids = append(ids, strings.TrimPrefix(code, "a.test/"))
	}
	remove("a.test", strings.Join(append(ids, "x"), " "))
	mayNothing("a user without a domain", free)
	mayNothing("a token of a removed domain", ofB)
	expect.Contains(t, user(), `"domains":[]`)
	st.call("POST", "/domains", `{"host":"b.test"}`).need(t, "a new domain of the same name", 201)
	mayNothing("with a new domain of the same name", free)
	st.limitTo(ann.ID, "b.test")
	made2 = st.callAs(free, "POST", "/shorten", `{"url":"https://u.example/"}`)
	expect.Contains(t, made2.body, `"domain":"b.test"`)
}

// TestAnExportEndsWhenItsCallerIsLimited limits a user whose export or stream is under way.
func TestAnExportEndsWhenItsCallerIsLimited(t *testing.T) {
	st := newSite(t, nil)
	st.withThree()
	u := st.person("ann@example.com", account.RoleMember)
	caller, err := st.accounts.Authenticate(st.issue(account.CallerOf(u), everyMemberScope...))
	expect.OK(t, err)
	all, err := st.calls.ParseList(caller, visit.Parameters())
	expect.OK(t, err)
	one, err := st.calls.ParseWhose(caller, visit.Parameters("domain", "b.test"))
	expect.OK(t, err)
	ofAll, ofB := st.calls.Recheck(caller, all.Whose, account.LinksRead), st.calls.Recheck(caller, one, account.LinksRead)
	expect.That(t, ofAll() == nil && ofB() == nil, "got %v and %v before", ofAll(), ofB())
	st.limitTo(u.ID, "b.test")
	expect.That(t, ofAll() == account.ErrUnauthorized && ofB() == nil, "limited to b: got %v for all, %v for b", ofAll(), ofB())
	st.limitTo(u.ID, "a.test")
	expect.Error(t, ofB(), account.ErrUnauthorized, "limited to a, for b")
}

// TestALinkIsGivenOnlyToWhoMayUseItsDomain has an admin give links to a user who is limited to b.test.
func TestALinkIsGivenOnlyToWhoMayUseItsDomain(t *testing.T) {
	st := newSite(t, nil)
	st.withThree()
	bob, eve := st.person("bob@example.com", account.RoleMember), st.person("eve@example.com", account.RoleMember)
	st.limitTo(bob.ID, "b.test")
	give := func(host string) reply {
		return st.call("PATCH", "/links/x?owner=all&domain="+host, fmt.Sprintf(`{"owner":%d}`, bob.ID))
	}
	for _, host := range []string{"127.0.0.1", "a.test"} {
		give(host).expect(t, host, 422, fieldsOf("owner:conflict"))
	}
	give("b.test").expect(t, "of his domain", 200)
	line := func(host string) string {
		return fmt.Sprintf(`{"code":"in","url":"https://i.example/","domain":%q}`, host)
	}
	r := st.call("POST", fmt.Sprintf("/import?owner=%d", bob.ID), "["+line("a.test")+","+line("b.test")+"]")
	expect.Contains(t, r.body, `"failed":1,`)
	expect.Contains(t, r.body, `{"field":"owner","code":"conflict","message":"is a user who may not use the domain of the link"}`)
	expect.Slices(t, codesIn(t, st.call("GET", fmt.Sprintf("/links?owner=%d", bob.ID), "")), []string{"b.test/in", "b.test/x"}, "his links")
	remove := fmt.Sprintf("/users/%d?move_links_to=%d", eve.ID, bob.ID)
	st.call("DELETE", remove, "").expect(t, "the links of a user who may use all domains", 422, fieldsOf("move_links_to:conflict"))
	st.limitTo(eve.ID, "b.test")
	st.call("DELETE", remove, "").expect(t, "the links of a user who may use the same", 204)
}
