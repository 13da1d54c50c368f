package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
)

// repeatable sends a POST /shorten with an Idempotency-Key.
func (st *site) repeatable(key, body string) reply {
	st.t.Helper()
	return st.call("POST", "/shorten", body, "Idempotency-Key: "+key)
}

// wantSame checks that two replies are the same answer.
func wantSame(t *testing.T, what string, got, want reply) {
	t.Helper()
	for _, name := range []string{"ETag", "Location", "Content-Type"} {
		got.expect(t, fmt.Sprintf("%s: got %s", what, name), header(name, want.header.Get(name)))
	}
	got.expect(t, what, want.status, bodyOf(want.body))
}

func TestARepeatGetsTheFirstSuccessAgain(t *testing.T) {
	expect.Long(t)
	t.Parallel()
	for name, body := range map[string]string{
		"a drawn code": `{"url":"http://a/"}`,
		"an alias":     `{"url":"http://a/","alias":"x"}`,
		"every field":  fullLink,
		"a link that is there, found by some of its fields": `{"url":"http://there/","alias":"there"}`,
		"an expiry that passes":                             `{"url":"http://a/","alias":"x","expires_at":"2026-01-02T04:00:00Z"}`,
	} {
		for then, change := range map[string]func(st *site, code string){
			"nothing happened": func(*site, string) {},
			"time passed":      func(st *site, _ string) { st.now.Add((time.Hour / 4).Milliseconds()) },
			"it was edited": func(st *site, code string) {
				st.call("PATCH", "/links/"+code, `{"url":"http://b/","title":"other","tags":["z"],"redirect_status":308,"expires_at":null,"max_hits":null}`)
			},
			"it was deleted": func(st *site, code string) { st.call("DELETE", "/links/"+code, "") },
			"it was deleted and its code taken again": func(st *site, code string) {
				st.call("DELETE", "/links/"+code, "")
				st.call("POST", "/shorten", `{"url":"http://again/","alias":"`+code+`"}`)
			},
		} {
			t.Run(name+", and "+then, func(t *testing.T) {
				st := newSite(t, nil)
				st.shorten(`{"url":"http://there/","alias":"there","title":"with a title","tags":["t"]}`)
				first := st.repeatable("key", body)
				var o linkObject
				err := json.Unmarshal([]byte(first.body), &o)
				expect.MustThat(t, err == nil && first.status/100 == 2, "the first: got %d %s, %v", first.status, first.body, err)
				change(st, o.Code)
				st.unchanged(t, func() {
					wantSame(t, "the repeat", st.repeatable("key", body), first)
				})
			})
		}
	}
}

func TestARepeatHasHitsAndStateOfTheFirstAnswer(t *testing.T) {
	for status, hitsBefore := range map[int]int{201: 0, 200: 2} {
		st := newSite(t, nil)
		body := `{"url":"http://a/","alias":"x","max_hits":3,"expires_at":"2026-01-02T04:00:00Z"}`
		if hitsBefore > 0 { // so that the first request finds the link
			st.shorten(body)
		}
		for range hitsBefore {
			st.get("/x")
		}
		first := st.repeatable("key", body)
		first.expect(t, "the first", status, fmt.Sprintf(`"hits":%d}`, hitsBefore))
		for range 3 {
			st.get("/x")
		}
		wantSame(t, "after more hits", st.repeatable("key", body), first)
		st.now.Add(time.Hour.Milliseconds()) // a new request with this expiry would be refused
		wantSame(t, "after its expiry", st.repeatable("key", body), first)
	}
}

func TestAKeyIsForOneBody(t *testing.T) {
	st := newSite(t, nil)
	first := st.repeatable("key", `{"url":"http://a/"}`)
	for name, body := range map[string]string{
		"another url": `{"url":"http://b/"}`, "an extra space": `{"url":"http://a/" }`, "not JSON": `{`, "nothing valid": `{}`,
	} {
		st.unchanged(t, func() {
			st.repeatable("key", body).expect(t, name, 422, problemOf("idempotency_mismatch"))
		})
	}
	wantSame(t, "the repeat", st.repeatable("key", `{"url":"http://a/"}`), first)
}

func TestAKeyBelongsToOneToken(t *testing.T) {
	st := newSite(t, nil)
	const body = `{"url":"http://a/"}`
	ann := st.member("ann@example.com")
	u, err := st.accounts.UserByName("ann@example.com")
	expect.OK(t, err)
	local := func(lines ...string) reply {
		return send(t, st.localAt, "POST", requestText("POST", "/api/v1/shorten", body, append(lines, "Content-Type: application/json", "Idempotency-Key: k")...))
	}
	senders := map[string]func() reply{
		"the admin's token":    func() reply { return st.repeatable("k", body) },
		"a member's token":     func() reply { return st.callAs(ann, "POST", "/shorten", body, "Idempotency-Key: k") },
		"a local command":      func() reply { return local() },
		"the member's command": func() reply { return local("Shunt-User: " + u.Name) },
	}
	codes := map[string]string{}
	for name, call := range senders {
		first := call()
		other, seen := codes[first.body]
		expect.That(t, !seen && first.status == 201, "%s: got %d %s, as %s", name, first.status, first.body, other)
		codes[first.body] = name
		wantSame(t, name, call(), first)
	}
}

func TestAMalformedKeyIsRefused(t *testing.T) {
	st := newSite(t, nil)
	const body = `{"url":"http://a/"}`
	for name, lines := range map[string][]string{
		"empty":           {"Idempotency-Key: "},
		"256 bytes":       {"Idempotency-Key: " + strings.Repeat("k", 256)},
		"a space inside":  {"Idempotency-Key: a b"},
		"a tab inside":    {"Idempotency-Key: a\tb"},
		"not ASCII":       {"Idempotency-Key: clé"},
		"two keys":        {"Idempotency-Key: a", "Idempotency-Key: b"},
		"twice, the same": {"Idempotency-Key: a", "idempotency-key: a"},
	} {
		st.unchanged(t, func() {
			st.call("POST", "/shorten", body, lines...).expect(t, name, 400, problemOf("bad_request"))
		})
	}
	for _, key := range []string{"k", strings.Repeat("k", 255), `"quoted"`, "!~"} {
		wantSame(t, key, st.repeatable(key, body), st.repeatable(key, body))
	}
}

func TestAFailureIsNotRemembered(t *testing.T) {
	st := newSite(t, nil)
	st.callAs(st.member("ann@example.com"), "POST", "/shorten", `{"url":"http://a/","alias":"taken"}`)
	for name, c := range map[string]struct {
		body   string
		status int
	}{
		"malformed": {`{`, 400}, "invalid": {`{"url":"ftp://a/"}`, 422}, "taken": {`{"url":"http://a/","alias":"taken"}`, 409},
	} {
		for range 2 {
			st.repeatable(name, c.body).expect(t, name, c.status)
		}
		st.repeatable(name, `{"url":"http://b/"}`).expect(t, "another body after "+name, 201)
	}
}

func TestSixtyFourRacingRepeatsMakeOneLink(t *testing.T) {
	st := newSite(t, nil)
	before := st.engine.Metrics().Links
	for round, body := range []string{`{"url":"http://a/"}`, `{"url":"http://a/","alias":"x"}`} {
		var answers [64]reply
		var racing sync.WaitGroup
		for i := range answers {
			racing.Go(func() { answers[i] = st.repeatable(fmt.Sprint("key", round), body) })
		}
		racing.Wait()
		for _, r := range answers {
			wantSame(t, body, r, answers[0])
		}
		expect.That(t, answers[0].status == 201 && st.engine.Metrics().Links == before+uint64(round)+1,
			"%s: got %d %s and %d links", body, answers[0].status, answers[0].body, st.engine.Metrics().Links)
	}
}

func TestAKeyIsForgottenAfterADay(t *testing.T) {
	st := newSite(t, nil)
	const body = `{"url":"http://a/"}`
	first := st.repeatable("key", body)
	st.now.Add((24 * time.Hour).Milliseconds() - 1)
	wantSame(t, "a millisecond before", st.repeatable("key", body), first)
	st.now.Add(1)
	second := st.repeatable("key", body)
	expect.That(t, second.status == 201 && second.body != first.body, "after a day: got %d %s, want a new link", second.status, second.body)
	wantSame(t, "a repeat of the new one", st.repeatable("key", body), second)
}

func TestTheKeysOfATokenAreBounded(t *testing.T) {
	st := newSiteOn(t, func(o *engine.Options) { o.MaxReceipts = 3 }, nil)
	const body = `{"url":"http://a/"}`
	var first reply
	for i := range 3 {
		first = st.repeatable(fmt.Sprint(i), body)
	}
	st.repeatable("bad", `{}`) // takes no room
	st.unchanged(t, func() {
		st.repeatable("3", body).expect(t, "a fourth key", 429, problemOf("rate_limited"), header("Retry-After", "300"))
		wantSame(t, "a repeat meanwhile", st.repeatable("2", body), first)
	})
	st.call("POST", "/shorten", body).expect(t, "without a key", 201)
	st.callAs(st.member("ann@example.com"), "POST", "/shorten", body, "Idempotency-Key: 3").expect(t, "another token", 201)
	st.now.Add((24 * time.Hour).Milliseconds())
	r := st.repeatable("2", body)
	expect.That(t, r.status == 201 && r.body != first.body, "a key whose time is over takes no room: got %d %s, want a new link", r.status, r.body)
}
