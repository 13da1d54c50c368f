package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"shunt/api/account"
	"shunt/api/domain"
	"shunt/engine/expect"
)

// reused asks for a link to reuse and returns its code. made: the answer must be a new link.
func (st *site) reused(token, what, body string, made bool) string {
	st.t.Helper()
	r, want := st.callAs(token, "POST", "/shorten", body), 200
	if made {
		want = 201
	}
	var o linkObject
	expect.MustThat(st.t, r.status == want && json.Unmarshal([]byte(r.body), &o) == nil, "%s: got %d %s, want %d", what, r.status, r.body, want)
	return o.Code
}

const askToReuse = `{"url":"https://a.example/","title":"t","reuse":true}`

func TestConcurrentRequestsToReuseMakeOneLink(t *testing.T) {
	st := newSite(t, nil)
	var all sync.WaitGroup
	var mu sync.Mutex
	statuses, codes := map[int]int{}, map[string]bool{}
	for i := range 64 {
		all.Go(func() {
			key := fmt.Sprint("Idempotency-Key: ", i)
			r := st.callAs(st.token, "POST", "/shorten", askToReuse, []string{key, "X-Nothing: 1"}[i%2])
			var o linkObject
			_ = json.Unmarshal([]byte(r.body), &o)
			mu.Lock()
			defer mu.Unlock()
			statuses[r.status]++
			codes[o.Code] = true
		})
	}
	all.Wait()
	expect.That(t, statuses[201] == 1 && statuses[200] == 63 && len(codes) == 1, "got %v, codes %v", statuses, codes)
}

func TestALinkThatNoLongerFitsIsNotReused(t *testing.T) {
	for name, c := range map[string]struct {
		patch, ask string
		reused     bool
	}{
		"the same":                    {"", askToReuse, true},
		"fewer fields":                {"", `{"url":"https://a.example/","reuse":true}`, true},
		"as it is typed":              {"", `{"url":" https://A.example/","title":"t","reuse":true}`, true},
		"all defaults":                {"", `{"url":"https://a.example/","reuse":true,"redirect_status":null,"query":null,"forward_query":null,"alias":null,"domain":null,"tags":null,"note":null,"max_hits":null,"starts_at":null,"expires_at":null,"expired_url":null,"rules":null,"split":null,"disabled":null,"forward_path":null}`, true},
		"defaults that are sent":      {"", `{"url":"https://a.example/","title":"t","reuse":true,"redirect_status":302,"query":"none","tags":[],"note":"","disabled":false}`, true},
		"no title is asked for":       {"", `{"url":"https://a.example/","title":"","reuse":true}`, false},
		"another title":               {"", `{"url":"https://a.example/","title":"u","reuse":true}`, false},
		"another status":              {"", `{"url":"https://a.example/","redirect_status":301,"reuse":true}`, false},
		"a tag":                       {"", `{"url":"https://a.example/","tags":["t"],"reuse":true}`, false},
		"a rule":                      {"", `{"url":"https://a.example/","rules":[{"url":"https://b.example/","conditions":[{"type":"device","match_value":"ios"}]}],"reuse":true}`, false},
		"an end":                      {"", `{"url":"https://a.example/","expires_at":"2037-01-01T00:00:00Z","reuse":true}`, false},
		"another target":              {"", `{"url":"https://a.example/x","reuse":true}`, false},
		"without reuse":               {"", `{"url":"https://a.example/","title":"t"}`, false},
		"without reuse, and false":    {"", `{"url":"https://a.example/","title":"t","reuse":false}`, false},
		"without reuse, and null":     {"", `{"url":"https://a.example/","title":"t","reuse":null}`, false},
		"after another note":          {`{"note":"n"}`, askToReuse, true},
		"after another title":         {`{"title":"u"}`, askToReuse, false},
		"after another target":        {`{"url":"https://b.example/"}`, askToReuse, false},
		"the target after that":       {`{"url":"https://b.example/"}`, `{"url":"https://b.example/","reuse":true}`, true},
		"after it was disabled":       {`{"disabled":true}`, askToReuse, false},
		"after it was to start later": {`{"starts_at":"2037-01-01"}`, askToReuse, false},
	} {
		t.Run(name, func(t *testing.T) {
			st := newSite(t, nil)
			code := st.reused(st.token, "the first", askToReuse, true)
			if c.patch != "" {
				st.call("PATCH", "/links/"+code, c.patch).need(t, c.patch, 200)
			}
			got := st.reused(st.token, c.ask, c.ask, !c.reused)
			expect.That(t, (got == code) == c.reused, "got %q after %q", got, code)
		})
	}
}

func TestALinkThatDoesNotRedirectIsNotReused(t *testing.T) {
	var f *blockList
	st := newSite(t, func(o *Options) { f = blocking(t, o, "") })
	capped := `{"url":"https://capped.example/","max_hits":1,"reuse":true}`
	ending := `{"url":"https://ending.example/","expires_at":"2026-01-02T04:00:00Z","reuse":true}`
	one, two := st.reused(st.token, "capped", capped, true), st.reused(st.token, "ending", ending, true)
	expect.Equal(t, st.reused(st.token, "capped", capped, false), one)
	st.get("/"+one).expect(t, "the only hit", 302)
	expect.That(t, st.reused(st.token, "exhausted", capped, true) != one, "an exhausted link is reused")
	expect.Equal(t, st.reused(st.token, "ending", ending, false), two)
	st.now.Add(3600_000)
	st.reused(st.token, "expired", `{"url":"https://ending.example/","reuse":true}`, true)
	off := `{"url":"https://off.example/","disabled":true,"reuse":true}`
	st.reused(st.token, "disabled from the beginning", off, true)
	st.reused(st.token, "and again", off, true)
	gone := st.reused(st.token, "to be deleted", askToReuse, true)
	st.call("DELETE", "/links/"+gone, "").need(t, "delete", 204)
	after := st.reused(st.token, "deleted", askToReuse, true)
	f.write(t, "a.example\n")
	st.call("POST", "/shorten", askToReuse).expect(t, "blocked", 403, problemOf("blocked"))
	f.write(t, "")
	expect.Equal(t, st.reused(st.token, "no longer blocked", askToReuse, false), after)
}

func TestWhatCannotBeReusedIsRefused(t *testing.T) {
	st := newSite(t, nil)
	code := st.reused(st.token, "the first", askToReuse, true)
	st.unchanged(t, func() {
		for body, want := range map[string]string{
			`{"url":"https://a.example/","alias":"x","reuse":true}`:  "reuse:conflict",
			`{"reuse":true,"url":"https://a.example/","alias":"x"}`:  "reuse:conflict",
			`{"url":"https://a.example/","reuse":"yes"}`:             "reuse:type",
			`{"url":"https://a.example/","reuse":1}`:                 "reuse:type",
			`{"reuse":true}`:                                         "url:required",
			`{"url":"https://a.example/","reuse":true,"max_hits":0}`: "max_hits:range",
		} {
			st.call("POST", "/shorten", body).expect(t, body, 422, fieldsOf(want))
		}
		st.call("PATCH", "/links/"+code, `{"reuse":false}`).expect(t, "a patch", 422, fieldsOf("reuse:unknown"))
		st.call("PATCH", "/links/"+code, `{"reuse":null}`).expect(t, "a patch", 422, fieldsOf("reuse:unknown"))
	})
	outcome, _ := st.importText(`{"code":"x","url":"https://a.example/","reuse":true}`, `{"code":"y","url":"https://i.example/","title":"t"}`)
	expect.Equal(t, outcome, "1 0 1: 422 201", "an import")
	st.reused(st.token, "after an import", `{"url":"https://i.example/","reuse":true}`, true)
	st.shorten(`{"url":"https://n.example/","alias":"x","reuse":false}`)
	expect.That(t, !strings.Contains(st.call("GET", "/links/"+code, "").body, "reuse"), "a link object has the field")
}

func TestEqualItemsOfABulkAreOneLink(t *testing.T) {
	st := newSite(t, nil)
	code := st.reused(st.token, "before", askToReuse, true)
	other := `{"url":"https://a.example/","title":"u","reuse":true}`
	alias := `{"url":"https://a.example/","alias":"x","reuse":true}`
	body := "[" + strings.Join([]string{askToReuse, other, other, alias, `{"url":"https://a.example/","title":"u"}`}, ",") + "]"
	got, answer, r := st.bulk("application/json", body, "Idempotency-Key: k")
	expect.MustEqual(t, got, "2 2 1: 200 201 200 422 201", "%s", r.body)
	expect.That(t, answer.Results[0].Link.Code == code && answer.Results[1].Link.Code == answer.Results[2].Link.Code, "%s", r.body)
	again, _, _ := st.bulk("application/json", body, "Idempotency-Key: k")
	expect.Equal(t, again, got, "under its key")
	again, _, r = st.bulk("application/json", body)
	expect.Equal(t, again, "1 3 1: 200 200 200 422 201", "%s", r.body)
}

func TestAKeyGivesARequestToReuseItsFirstAnswer(t *testing.T) {
	st := newSite(t, nil)
	first, other := st.repeatable("a", askToReuse), st.repeatable("b", askToReuse)
	expect.That(t, first.status == 201 && other.status == 200 && first.header.Get("Location") == other.header.Get("Location"), "got %+v and %+v", first, other)
	var o linkObject
	expect.OK(t, json.Unmarshal([]byte(first.body), &o))
	st.call("DELETE", "/links/"+o.Code, "").need(t, "delete", 204)
	wantSame(t, "the first again", st.repeatable("a", askToReuse), first)
	wantSame(t, "the other again", st.repeatable("b", askToReuse), other)
	st.repeatable("b", `{"url":"https://a.example/"}`).expect(t, "another body", 422)
	st.repeatable("c", askToReuse).expect(t, "another key", 201)
}

func TestLinksOfOtherUsersAndDomainsAreNotReused(t *testing.T) {
	st := newSite(t, nil)
	st.addDomain(domain.Domain{Host: "a.test"})
	st.addDomain(domain.Domain{Host: "b.test", Settings: domain.Settings{RedirectStatus: 301}})
	in := func(host, more string) string {
		return fmt.Sprintf(`{"url":"https://a.example/","domain":%q,"reuse":true%s}`, host, more)
	}
	def := st.reused(st.token, "default", in("127.0.0.1", ""), true)
	inA := st.reused(st.token, "a", in("a.test", ""), true)
	inB := st.reused(st.token, "b", in("b.test", `,"redirect_status":null`), true)
	expect.Equal(t, st.reused(st.token, "no domain", `{"url":"https://a.example/","reuse":true}`, false), def)
	expect.Equal(t, st.reused(st.token, "a", in("a.test", ""), false), inA)
	expect.Equal(t, st.reused(st.token, "b", in("b.test", `,"redirect_status":null`), false), inB)
	ann := st.member("ann@example.org", account.LinksWrite)
	hers := st.reused(ann, "another user", in("a.test", ""), true)
	expect.That(t, hers != inA, "the link of another user")

	limited := st.withMember("ben@example.org", "a.test")
	his := st.reused(limited, "limited", `{"url":"https://a.example/","reuse":true}`, true)
	expect.Equal(t, st.reused(limited, "limited", in("a.test", ""), false), his)
	st.callAs(limited, "POST", "/shorten", in("b.test", "")).expect(t, "a domain that the token may not use", 403)
	st.callAs(limited, "POST", "/shorten", in("nobody.test", "")).expect(t, "an unknown domain", 422)
}

// TestAGivenLinkIsReusedByItsNewOwner gives a link away, and back.
func TestAGivenLinkIsReusedByItsNewOwner(t *testing.T) {
	st := newSite(t, nil)
	u := st.person("ann@example.org", account.RoleMember)
	ann := st.issue(account.CallerOf(u), account.AllScopes[0], account.LinksWrite)
	code := st.reused(st.token, "the first", askToReuse, true)
	st.call("PATCH", "/links/"+code, fmt.Sprintf(`{"owner":%d}`, u.ID)).need(t, "given", 200)
	expect.Equal(t, st.reused(ann, "its new owner", askToReuse, false), code)
	expect.That(t, st.reused(st.token, "its former owner", askToReuse, true) != code, "the former owner reuses it")
}
