package api

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"shunt/api/account"
	"shunt/engine/expect"
)

// Bad input: each is refused with its status and problem code, and nothing is created or counted.

// unchanged runs fn and checks that it has created and counted nothing.
func (st *site) unchanged(t *testing.T, fn func()) {
	t.Helper()
	before := st.counted()
	fn()
	after := st.counted()
	expect.That(t, after == before, "something was created or counted: %s became %s", before, after)
}

// Cases are in testdata; -rewrite writes what is answered now.
func TestABadBodyCreatesAndChangesNothing(t *testing.T) {
	datadriven.RunTest(t, "testdata/bodies.txt", func(t *testing.T, d *datadriven.TestData) string {
		st := newSite(t, nil)
		if d.Cmd == "PATCH" {
			st.shorten(fullLink)
			st.now.Add(1000) // a change would show in updated_at
		}
		before := st.call("GET", "/links", "").body
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			name, body, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
			body = strings.TrimPrefix(body, " ")
			st.unchanged(t, func() {
				r := st.call(d.Cmd, d.CmdArgs[0].Key, spelledOut(body), "Content-Type: application/json")
				out.WriteString(strings.TrimSpace(fmt.Sprintf("%s: %d %s %s", name, r.status, r.problem(), r.fields())) + "\n")
			})
			st.call("GET", "/links", "").expect(t, "after "+name, bodyOf(before))
		}
		return out.String()
	})
}

var shortHand = regexp.MustCompile(`<(?:0x([0-9a-f]{2})|([^<>]+)\*(\d+))>`)

// spelledOut returns the text that a case has in short.
func spelledOut(text string) string {
	return shortHand.ReplaceAllStringFunc(text, func(short string) string {
		m := shortHand.FindStringSubmatch(short)
		if m[1] != "" {
			b, _ := strconv.ParseUint(m[1], 16, 8)
			return string([]byte{byte(b)})
		}
		n, _ := strconv.Atoi(m[3])
		return strings.Repeat(m[2], n)
	})
}

func TestABodyMustBeJSONAndOfBoundedSize(t *testing.T) {
	st := newSite(t, nil)
	post := func(body string, lines ...string) reply {
		lines = append(lines, "Authorization: Bearer "+st.token)
		return send(t, st.publicAt, "POST", requestText("POST", "/api/v1/shorten", body, lines...))
	}
	const good = `{"url":"http://a/"}`
	for name, c := range map[string]struct {
		r      reply
		status int
		code   string
	}{
		"no content type":       {post(good), 415, "unsupported_media_type"},
		"form":                  {post(good, "Content-Type: application/x-www-form-urlencoded"), 422, "invalid"},
		"text":                  {post(good, "Content-Type: text/json"), 415, "unsupported_media_type"},
		"multipart":             {post(good, "Content-Type: multipart/form-data; boundary=x"), 400, "bad_request"},
		"latin-1":               {post(good, "Content-Type: application/json; charset=iso-8859-1"), 415, "unsupported_media_type"},
		"no body":               {post("", "Content-Type: application/json", "Content-Length: 0"), 400, "malformed_json"},
		"one byte over 64 KiB":  {post(good+strings.Repeat(" ", 64<<10-len(good)+1), "Content-Type: application/json"), 413, "body_too_large"},
		"far more than 64 KiB":  {post(strings.Repeat(" ", 1<<20), "Content-Type: application/json"), 413, "body_too_large"},
		"length that is a lie":  {send(t, st.publicAt, "POST", "POST /api/v1/shorten HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999\r\n\r\n{"), 413, "body_too_large"},
		"length that overflows": {send(t, st.publicAt, "POST", "POST /api/v1/shorten HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999\r\n\r\n{"), 400, "bad_request"},
		"chunks over 64 KiB": {send(t, st.publicAt, "POST", "POST /api/v1/shorten HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"+
			strings.Repeat("4000\r\n"+strings.Repeat(" ", 0x4000)+"\r\n", 5)+"0\r\n\r\n"), 413, "body_too_large"},
	} {
		expect.That(t, c.r.status == c.status && c.r.problem() == c.code, "%s: got %d %s, want %d %s", name, c.r.status, c.r.body, c.status, c.code)
	}
	expect.Equal(t, st.counted(), "0 links, 0 redirects", "something was created")
	for name, r := range map[string]reply{
		"parameters":     post(good, "Content-Type: Application/JSON ; charset=\"UTF-8\""),
		"exactly 64 KiB": post(good+strings.Repeat(" ", 64<<10-len(good)), "Content-Type: application/json"),
	} {
		r.expect(t, name, 201)
	}
}

func TestATakenAliasIsRefused(t *testing.T) {
	st := newSite(t, nil)
	other := st.member("ann@example.com", account.LinksWrite)
	st.shorten(`{"url":"http://a/","alias":"Promo"}`)
	st.shorten(`{"url":"http://a/","alias":"gone"}`)
	st.call("DELETE", "/links/gone", "")
	for name, c := range map[string]struct{ token, alias, url string }{
		"same owner, another target": {st.token, "Promo", "http://b/"},
		"another owner, same target": {other, "Promo", "http://a/"},
		"differs only by case":       {st.token, "pROMO", "http://a/"},
		"deleted by another user":    {other, "gone", "http://a/"},
	} {
		t.Run(name, func(t *testing.T) {
			st.unchanged(t, func() {
				st.callAs(c.token, "POST", "/shorten", fmt.Sprintf(`{"url":%q,"alias":%q}`, c.url, c.alias)).expect(t, "", 409, problemOf("alias_taken"))
			})
		})
	}
	st.call("POST", "/shorten", `{"url":"http://c/","alias":"gone"}`).expect(t, "its former owner takes a deleted code again", 201)
}

// TestADeletedCodeStaysTaken90DaysForOthersOnly looks at the last moment and at the one after it.
func TestADeletedCodeStaysTaken90DaysForOthersOnly(t *testing.T) {
	st := newSite(t, nil)
	other := st.member("ann@example.com", account.LinksWrite)
	const ninetyDaysMs = 90 * 24 * 3600_000
	st.shorten(`{"url":"http://a/","alias":"mine"}`)
	st.get("/mine")
	st.wantStats("mine", 1, 1)
	want := func(r reply, status int, problem string) {
		t.Helper()
		r.expect(t, "", status, problemOf(problem))
	}
	want(st.call("DELETE", "/links/mine", ""), 204, "")
	expect.Equal(t, st.get("/mine").status, 404, "a deleted link")
	want(st.call("GET", "/stats/mine", ""), 404, "not_found")
	take := `{"url":"http://b/","alias":"mine"}`
	want(st.callAs(other, "POST", "/shorten", take), 409, "alias_taken")
	want(st.call("POST", "/shorten", take), 201, "") // the former owner may at once
	st.wantStats("mine", 0, 0)
	want(st.call("DELETE", "/links/mine", ""), 204, "")
	st.now.Add(ninetyDaysMs)
	want(st.callAs(other, "POST", "/shorten", take), 409, "alias_taken")
	want(st.callAs(other, "POST", "/shorten", `{"url":"http://b/","alias":"Mine"}`), 409, "alias_taken")
	st.now.Add(1)
	want(st.callAs(other, "POST", "/shorten", take), 201, "")
	want(st.call("POST", "/shorten", take), 409, "alias_taken")
}

func TestARepeatedAliasGivesTheLinkIfSentFieldsAgree(t *testing.T) {
	st := newSite(t, nil)
	const whole = `{"url":"http://A/","alias":"x","redirect_status":307,"expires_at":"2030-01-01T00:00:00.5Z","max_hits":7,"title":"T","tags":["b","a"],"forward_query":true}`
	st.shorten(whole)
	for name, body := range map[string]string{
		"the same again":    whole,
		"fewer fields":      `{"url":"http://a/","alias":"x"}`,
		"nulls are absent":  `{"url":"http://a/","alias":"x","title":null,"max_hits":null}`,
		"another time zone": `{"url":"http://a/","alias":"x","expires_at":"2030-01-01T01:00:00.500+01:00"}`,
	} {
		st.call("POST", "/shorten", body).expect(t, name, 200, header("Location", "/api/v1/links/x"), header("ETag", `"1"`), `"title":"T"`)
	}
	for _, field := range []string{
		`"url":"http://b/"`, `"redirect_status":302`, `"expires_at":"2030-01-01T00:00:00Z"`, `"max_hits":8`, `"title":""`,
		`"tags":["a","b"]`, `"tags":[]`, `"forward_query":false`,
	} {
		body := `{"alias":"x",` + field + `}`
		if !strings.Contains(field, "url") {
			body = `{"alias":"x","url":"http://a/",` + field + `}`
		}
		st.call("POST", "/shorten", body).expect(t, field, problemOf("alias_taken"))
	}
	expect.Equal(t, st.counted(), "1 links, 0 redirects")
}

func TestInvalidCodesCountNothing(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"abc"}`)
	expect.Lines(t, "testdata/targets.txt", func(t *testing.T, _, target string) (status string) {
		st.unchanged(t, func() {
			r := st.get(target, browser)
			r.expect(t, target, header("Location", ""))
			status = strconv.Itoa(r.status)
		})
		return status
	})
	st.unchanged(t, func() {
		st.get("/"+strings.Repeat("a", 8_000), browser).expect(t, "a very long one", 404, header("Location", ""))
	})
	for _, target := range []string{"/abc", "/abc/", "/abc?x=%00", "http://any.example/abc", "HTTPS://any.example:80/abc/?x", "/abc#x", "/%61bc"} {
		st.get(target, browser).expect(t, target, 302)
	}
	st.wantStats("abc", 7, 1)
}

func TestMalformedRequestsAreRefusedAndTheConnectionClosed(t *testing.T) {
	const marker = "SesameOpen" // in every request, and nowhere else
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x","redirect_status":307}`)
	refused := func(t *testing.T, _, raw string) (status string) {
		st.unchanged(t, func() {
			method, _, _ := strings.Cut(raw, " ")
			r := send(t, st.publicAt, method, raw)
			expect.That(t, r.problem() != "" && strings.Contains(raw, marker), "%q: got %s, want a problem", raw, r.body)
			r.expect(t, raw, closed)
			status = strconv.Itoa(r.status)
		})
		return status
	}
	expect.Lines(t, "testdata/malformed.txt", refused)
	large := "GET /x HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat(marker, 17<<10/len(marker)) + "\r\n\r\n"
	expect.Equal(t, refused(t, "", large), "431", "a header that is too large")
	log := st.log.String()
	expect.That(t, !strings.Contains(log, marker), "the log holds bytes of requests: %s", log)
}

func TestMalformedRequestsAreCountedOnEveryWayIn(t *testing.T) {
	st := newSite(t, nil)
	const framing = "DELETE /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
	send(t, st.publicAt, "DELETE", framing)
	send(t, st.localAt, "DELETE", framing)
	send(t, st.publicAt, "GET", "GET /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc")
	send(t, st.publicAt, "POST", "POST /x HTTP/1.1\r\nHost : a\r\n\r\n")
	send(t, st.localAt, "GET", "\x16\x03\x01\r\n\r\n")
	expect.Equal(t, st.metric(`shunt_http_requests_total{code="400",method="other",route="malformed"}`), "5")
}

// A 307 or 308 link redirects any method and ignores the body, but fasthttp reads the body before
// the handler runs, up to http1.MaxBodyBytes. So a client that sends more gets 413, and nothing is
// counted.
func TestABodyOver64KiBIsTooLargeForEveryLink(t *testing.T) {
	st := newSite(t, nil)
	for _, status := range []int{307, 308} {
		code := fmt.Sprintf("s%d", status)
		st.shorten(fmt.Sprintf(`{"url":"http://a/","alias":%q,"redirect_status":%d}`, code, status))
		post := func(size int) reply {
			return send(t, st.publicAt, "POST", requestText("POST", "/"+code, strings.Repeat("x", size), browser))
		}
		post(64<<10).expect(t, "64 KiB to a", status)
		post(64<<10+1).expect(t, "a byte more to a", 413, problemOf("body_too_large"), header("Location", ""))
		st.wantStats(code, 1, 1)
	}
}

// The clock of a site stands at 03:04:05 on 2 January 2026.
func TestAnExpiryIsATimeOrTheEndOfADay(t *testing.T) {
	st := newSite(t, nil)
	for text, want := range map[string]string{
		"2026-01-02": "2026-01-02T23:59:59Z", "2028-02-29": "2028-02-29T23:59:59Z", "2026-01-02t03:04:06z": "2026-01-02T03:04:06Z",
		"2026-01-02T03:05Z": "2026-01-02T03:05:00Z", "2026-01-02T05:05+02:00": "2026-01-02T03:05:00Z", "9999-12-31": "9999-12-31T23:59:59Z",
	} {
		for _, call := range []func() reply{
			func() reply { return st.call("POST", "/shorten", `{"url":"http://a/","expires_at":"`+text+`"}`) },
			func() reply {
				return st.call("PATCH", "/links/"+st.shorten(`{"url":"http://a/"}`).Code, `{"expires_at":"`+text+`"}`)
			},
			func() reply { return st.call("POST", "/tokens", `{"name":"x","expires_at":"`+text+`"}`) },
		} {
			r := call()
			expect.That(t, r.status/100 == 2 && strings.Contains(r.body, `"expires_at":"`+want+`"`), "%s: got %d %s, want %s", text, r.status, r.body, want)
		}
	}
	st.call("POST", "/shorten", `{"url":"http://a/","expires_at":"2026-01-01"}`).expect(t, "yesterday", 422, fieldsOf("expires_at:past"))
}
