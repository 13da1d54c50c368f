package api

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/valyala/fasthttp"

	"shunt/api/accesslog"
	"shunt/api/account"
	"shunt/api/cluster"
	"shunt/api/domain"
	foreign "shunt/api/doors"
	"shunt/api/limit"
	"shunt/api/rate"
	"shunt/engine/expect"
)

// This file tests the doors for clients of other shorteners (package doors). Other tests call the three readers of
// requests doors.

// openAll opens all doors.
func openAll(o *Options) { o.Doors = foreign.Names() }

// A doorSite is a site with open doors, and what its tests send.
type doorSite struct {
	*site
	words map[string]string // by what stands for them in cases
	drawn []string          // codes, in the order in which they were first seen
}

func newDoorSite(t *testing.T) *doorSite {
	t.Helper()
	st := newSite(t, func(o *Options) {
		openAll(o)
		blocking(t, o, "evil.example\n")
		o.PrivateTargets = "refuse"
	})
	st.addDomain(domain.Domain{Host: "b.test", Settings: domain.Settings{UnicodeCodes: true}})
	st.person("ann@example.com", account.RoleMember)
	return &doorSite{site: st, words: map[string]string{
		"$ADMIN":    st.token,
		"$WRITER":   st.member("writer@example.com", account.LinksWrite),
		"$READER":   st.member("reader@example.com", account.LinksRead),
		"$OTHER":    st.member("other@example.com", account.LinksRead, account.LinksWrite, account.StatsRead),
		"$PASSWORD": url.QueryEscape(goodPassword),
	}}
}

var drawnCode = regexp.MustCompile(`127\.0\.0\.1:8080/([0-9A-Za-z]{8})\b`)

// ask sends a request as a case has it: method and path, fields, an empty line, the body.
func (st *doorSite) ask(text string) reply {
	st.t.Helper()
	for word, is := range st.words {
		text = strings.ReplaceAll(text, word, is)
	}
	for i, code := range st.drawn {
		text = strings.ReplaceAll(text, fmt.Sprint("$CODE", i+1), code)
	}
	head, body, _ := strings.Cut(text, "\n\n")
	lines := strings.Split(strings.TrimSuffix(head, "\n"), "\n")
	method, path, _ := strings.Cut(lines[0], " ")
	if strings.Contains(head, "multipart/") {
		body = strings.ReplaceAll(body, "\n", "\r\n")
	}
	return send(st.t, st.publicAt, method, requestText(method, path, strings.TrimSuffix(body, "\n"), lines[1:]...))
}

// shown is an answer as a case has it.
func (st *doorSite) shown(r reply) string {
	body := r.body
	for _, found := range drawnCode.FindAllStringSubmatch(body, -1) {
		if !slices.Contains(st.drawn, found[1]) {
			st.drawn = append(st.drawn, found[1])
		}
	}
	for i, code := range st.drawn {
		body = strings.ReplaceAll(body, code, fmt.Sprint("$CODE", i+1))
	}
	text := fmt.Sprintf("%d %s\n", r.status, r.header.Get("Content-Type"))
	for _, name := range []string{"Allow", "Retry-After", "Location", "Set-Cookie", "Www-Authenticate"} {
		if value := r.header.Get(name); value != "" {
			text += name + ": " + value + "\n"
		}
	}
	return text + strings.TrimSuffix(body, "\n") + "\n"
}

// Cases are in testdata/doors, a file for each door and one site for each file; -rewrite writes what is answered now.
func TestDoorsAnswerAsOtherShortenersDo(t *testing.T) {
	for _, name := range foreign.Names() {
		if name == "shlink" { // its cases are in shlink_test.go
			continue
		}
		t.Run(name, func(t *testing.T) {
			st := newDoorSite(t)
			datadriven.RunTest(t, "testdata/doors/"+name+".txt", func(t *testing.T, d *datadriven.TestData) string {
				switch d.Cmd {
				case "ask":
					r := st.ask(d.Input)
					expect.Equal(t, r.header.Get("X-Content-Type-Options")+" "+r.header.Get("Cache-Control"), "nosniff no-store", d.Pos)
					return st.shown(r)
				case "shorten":
					st.shorten(strings.TrimSpace(d.Input))
					return ""
				case "click":
					st.get(strings.TrimSpace(d.Input), browser).need(t, d.Pos, 302)
					return ""
				case "later":
					seconds, err := strconv.ParseInt(d.CmdArgs[0].Key, 10, 64)
					expect.OK(t, err)
					st.now.Add(1000 * seconds)
					return ""
				}
				t.Fatalf("%s: no command %s", d.Pos, d.Cmd)
				return ""
			})
		})
	}
}

// TestEachRequestAtADoorCountsForItsAddress sends what a door refuses before it looks at a caller.
func TestEachRequestAtADoorCountsForItsAddress(t *testing.T) {
	t.Parallel()
	st := newSite(t, func(o *Options) {
		openAll(o)
		o.RateLimits = limit.Limits{Calls: rate.Limit{Events: 2, Period: time.Minute, Burst: 2}}
	})
	const form = "Content-Type: application/x-www-form-urlencoded"
	for i, c := range []struct {
		method, path, body string
		status             int
	}{
		{"POST", "/yourls-api.php", "url=%zz", 400},
		{"GET", "/yourls-api.php//x", "", 404},
		{"PUT", "/yourls-api.php", "", 405},
		{"GET", "/yourls-api.php?format=jsonp&callback=a()", "", 400},
		{"GET", "/yourls-api.php?signature=x&timestamp=1", "", 403},
		{"POST", "/api/v2/action/shorten", "url=%zz", 400},
		{"GET", "/api/v2/action/x", "", 404},
		{"PUT", "/api/v2/action/shorten", "", 405},
		{"PUT", "/api/v2/links", "", 405},
		{"GET", "/api/v2/links/x/y", "", 404},
		{"GET", "/api/v2/health/x", "", 404},
		{"GET", "/rest/v3/x", "", 404},
		{"PUT", "/rest/v3/short-urls", "", 405},
	} {
		at := st.from(fmt.Sprintf("192.0.2.%d", i+1))
		for n, status := range []int{c.status, c.status, 429} {
			r := send(t, at, c.method, requestText(c.method, c.path, c.body, form))
			expect.Equal(t, r.status, status, "%s %s, request %d: %s", c.method, c.path, n+1, r.body)
			expect.That(t, (r.header.Get("Retry-After") != "") == (status == 429), "%s %s: Retry-After", c.method, c.path)
		}
	}
}

// doorRequests are requests that make a link to the target $URL, by each way of each door, with a token of the scope
// links:write for $TOKEN, and for $UNIQUE something that is different each time.
var doorRequests = map[string]string{
	"yourls by GET":       "GET /yourls-api.php?action=shorturl&format=json&signature=$TOKEN&url=$URL",
	"yourls with keyword": "GET /yourls-api.php?action=shorturl&signature=$TOKEN&keyword=y$UNIQUE&url=$URL",
	"yourls by POST":      "POST /yourls-api.php\nContent-Type: application/x-www-form-urlencoded\n\naction=shorturl&signature=$TOKEN&url=$URL",
	"yourls simple":       "GET /yourls-api.php?action=shorturl&format=simple&signature=$TOKEN&url=$URL",
	"polr by GET":         "GET /api/v2/action/shorten?key=$TOKEN&url=$URL",
	"polr by POST":        "POST /api/v2/action/shorten\nContent-Type: application/x-www-form-urlencoded\n\nkey=$TOKEN&response_type=json&custom_ending=p$UNIQUE&url=$URL",
	"kutt by JSON":        "POST /api/v2/links\nX-API-KEY: $TOKEN\nContent-Type: application/json\n\n{\"target\":$JSON}",
	"kutt reuse":          "POST /api/v2/links\nX-API-KEY: $TOKEN\nContent-Type: application/json\n\n{\"target\":$JSON,\"reuse\":true}",
	"kutt by form":        "POST /api/v2/links\nX-API-KEY: $TOKEN\nContent-Type: application/x-www-form-urlencoded\n\ntarget=$URL",
	"shlink":              "POST /rest/v3/short-urls\nX-Api-Key: $TOKEN\nContent-Type: application/json\n\n{\"longUrl\":$JSON}",
	"shlink by GET":       "GET /rest/v3/short-urls/shorten?apiKey=$TOKEN&longUrl=$URL",
	"kutt edit":           "PATCH /api/v2/links/victim\nX-API-KEY: $TOKEN\nContent-Type: application/json\n\n{\"target\":$JSON}",
}

// doorRequest returns one of doorRequests.
func doorRequest(way, token, target, unique string) string {
	return strings.NewReplacer("$TOKEN", token, "$URL", url.QueryEscape(target), "$JSON", jsonText(target), "$UNIQUE", unique).Replace(doorRequests[way])
}

func TestNoHostileTargetIsTakenAtADoor(t *testing.T) {
	t.Parallel()
	st := &doorSite{site: hostileSite(t, "http,https")}
	st.shorten(`{"url":"https://good.example/","alias":"victim"}`)
	targets := hostileTargets(t)
	for way := range doorRequests {
		t.Run(way, func(t *testing.T) {
			for _, h := range targets {
				r := st.ask(doorRequest(way, st.token, h.target, strconv.Itoa(h.line)))
				expect.That(t, r.status >= 400 && r.status < 500, "line %d, %s: got %d %s", h.line, h.kind, r.status, r.body)
			}
		})
	}
	expect.Equal(t, st.get("/victim").header.Get("Location"), "https://good.example/", "the link that is there leads to")
	expect.Equal(t, st.engine.Metrics().Links, 1, "links")
}

// TestATargetLeavesADoorAsItCame sends targets of which YOURLS is known to change the case of queries, and to lose or
// double what is percent-encoded.
func TestATargetLeavesADoorAsItCame(t *testing.T) {
	t.Parallel()
	st := newDoorSite(t)
	st.shorten(`{"url":"https://good.example/","alias":"victim"}`)
	targets := []string{
		"https://a.example/Path?Query=AbC&utm_Source=NewsLetter#Part", "https://a.example/100%25-sure?p=%2525", "https://a.example/a%0Ab?c=%0d%0A&d=%09", "https://a.example/?q=%2F%3d%26%2B+%20", "https://a.example/%F0%9F%8C%B8?ü=%C3%BC",
		"https://a.example/?a[]=1&a[]=2&b={c}|d&e='f'", "https://a.example/?u=https://b.example/?x=1&y=2",
	}
	for way := range doorRequests {
		for i, target := range targets {
			r := st.ask(doorRequest(way, st.token, target, strconv.Itoa(i)))
			expect.MustThat(t, r.status/100 == 2, "%s: %s: got %d %s", way, target, r.status, r.body)
			links, _ := st.list(st.token, "limit=1")
			code := links.Data[0].Code
			if way == "kutt edit" {
				code = "victim"
			} else if found := shownCode.FindStringSubmatch(r.body); found != nil {
				code = found[1]
			}
			kept, _ := st.link(code)
			expect.Equal(t, kept.URL, target, way)
		}
	}
}

// shownCode is the code of a short address, also in JSON and XML.
var shownCode = regexp.MustCompile(`127\.0\.0\.1:8080/([0-9A-Za-z]+)`)

// TestDoorsKeepTheRulesOfTheAPI sends what the API refuses to each way of each door: tokens that may not, and no token.
func TestDoorsKeepTheRulesOfTheAPI(t *testing.T) {
	st := newDoorSite(t)
	st.shorten(`{"url":"https://good.example/","alias":"victim"}`)
	for way := range doorRequests {
		for who, token := range map[string]string{
			"who may only read": st.words["$READER"], "an unknown token": "shunt_0000000000000000000000000000000000", "no token": "", "a page": "none",
		} {
			r := st.ask(doorRequest(way, token, "https://new.example/", "1"))
			want := 401
			switch {
			case who == "who may only read", strings.HasPrefix(way, "yourls"):
				want = 403
			}
			expect.That(t, r.status == want && !strings.Contains(r.body, "new.example"), "%s, %s: got %d %s, want %d", way, who, r.status, r.body, want)
		}
	}
	expect.Equal(t, st.counted(), "1 links, 0 redirects")
	cookie := st.logIn("ann@example.com")
	r := st.ask("POST /api/v2/links\n" + cookie + "\n" + ownPage + "\nContent-Type: application/json\n\n{\"target\":\"https://a.example/\"}")
	expect.Equal(t, r.status, 401, "with a session alone")
	r = st.ask("GET /api/v2/links\nX-API-KEY: $ADMIN\nAuthorization: Bearer a\nAuthorization: Bearer b")
	expect.That(t, r.status == 400 && r.close, "two Authorization fields: got %+v", r)
	r = st.ask("GET /api/v2/links\nX-API-KEY: $ADMIN\nX-API-KEY: $READER")
	expect.That(t, r.status == 400 && r.close, "two X-API-KEY fields: got %+v", r)
}

// floods are the answers to one request too many, by ways of doorRequests or by doors.
var floods = map[string]string{
	"yourls": `^application/xml; charset=utf-8 <\?xml [^\n]*\n<root><errorCode>429</errorCode><message>[^<]+</message></root>\n$`, "yourls by GET": `^application/json {"errorCode":"429","message":"[^"]+"}$`,
	"yourls simple": `^text/plain; charset=utf-8 [^{<]+$`,
	"kutt":          `^application/json {"error":"[^"]+"}\s$`,
	"polr":          `^text/plain; charset=utf-8 [^{<]+$`, "polr by POST": `^application/json {"status_code":429,"error_code":"QUOTA_EXCEEDED","error":"[^"]+"}\s$`,
	"shlink": `^application/problem\+json {.*"status":429`,
}

func TestADoorHasTheRateLimitsOfTheAPI(t *testing.T) {
	limits := limit.Limits{Creates: rate.Limit{Events: 2, Period: time.Hour, Burst: 2}}
	for way := range doorRequests {
		if way == "kutt edit" {
			continue
		}
		t.Run(way, func(t *testing.T) {
			st := newSite(t, func(o *Options) { openAll(o); o.RateLimits, o.AllowHTTP = limits, true })
			token := st.member("writer@example.com", account.LinksWrite)
			at := st.from("192.0.2.7")
			var last reply
			for i := range 3 {
				text := doorRequest(way, token, fmt.Sprintf("https://%d.example/", i), strconv.Itoa(i))
				last = (&doorSite{site: st}).askAt(at, text)
			}
			expect.That(t, last.status == 429 && last.header.Get("Retry-After") != "", "the third create: got %+v", last)
			form := floods[way]
			if form == "" {
				form = floods[strings.Fields(way)[0]]
			}
			expect.That(t, regexp.MustCompile(form).MatchString(last.header.Get("Content-Type")+" "+last.body), "the third create: got %s %s, want %s", last.header.Get("Content-Type"), last.body, form)
		})
	}
}

// askAt is ask on another listener, over HTTPS as a proxy says.
func (st *doorSite) askAt(at dialer, text string) reply {
	st.t.Helper()
	before := st.publicAt
	defer func() { st.publicAt = before }()
	st.publicAt = at
	return st.ask(text)
}

// TestGuessesOfPasswordsAtADoorAreCounted tries wrong passwords, which count together with those at POST /session.
func TestGuessesOfPasswordsAtADoorAreCounted(t *testing.T) {
	st := newSite(t, func(o *Options) {
		openAll(o)
		o.RateLimits, o.AllowHTTP = limit.Default(), true
	})
	st.person("ann@example.com", account.RoleMember)
	d := &doorSite{site: st, words: map[string]string{"$PASSWORD": url.QueryEscape(goodPassword)}}
	at := st.from("192.0.2.7")
	try := func(password string) reply {
		return d.askAt(at, "GET /yourls-api.php?action=version&format=json&username=ann@example.com&password="+password)
	}
	for range 20 {
		expect.Equal(t, try("$PASSWORD").status, 200, "the right one")
	}
	for range 5 {
		r := try("wrong")
		expect.That(t, r.status == 403 && strings.Contains(r.body, `"message":"Invalid username or password"`), "a wrong one: got %d %s", r.status, r.body)
	}
	expect.Equal(t, try("wrong").status, 429, "the sixth wrong one")
	expect.Equal(t, try("$PASSWORD").status, 429, "the right one after them")
	login := send(t, at, "POST", requestText("POST", "/api/v1/session", `{"email":"ann@example.com","password":"wrong"}`, "Content-Type: application/json", ownPage))
	expect.Equal(t, login.status, 429, "POST /session after them")
	sessions, err := st.accounts.ListSessions(2)
	expect.That(t, err == nil && len(sessions) == 0, "a door has begun sessions: %v, %v", sessions, err)
}

// TestAChangeAtADoorIsAudited makes, edits and deletes links at doors.
func TestAChangeAtADoorIsAudited(t *testing.T) {
	st := newDoorSite(t)
	for i, c := range []struct{ ask, want string }{
		{"GET /yourls-api.php?action=shorturl&signature=$WRITER&keyword=one&url=https://a.example/",
			`link.created by writer@example.com token one after {"url":"https://a.example/","owner":3}`},
		{"GET /yourls-api.php?action=shorturl&username=ann@example.com&password=$PASSWORD&keyword=two&url=https://a.example/",
			`link.created by ann@example.com none two after {"url":"https://a.example/","owner":2}`},
		{"GET /api/v2/action/shorten?key=$WRITER&custom_ending=three&url=https://a.example/",
			`link.created by writer@example.com token three after {"url":"https://a.example/","owner":3}`},
		{"POST /api/v2/links\nX-API-KEY: $WRITER\nContent-Type: application/json\n\n{\"target\":\"a.example\",\"customurl\":\"four\",\"description\":\"d\"}",
			`link.created by writer@example.com token four after {"url":"https://a.example","owner":3,"note":"d"}`},
		{"PATCH /api/v2/links/four\nX-API-KEY: $WRITER\nContent-Type: application/json\n\n{\"description\":\"e\"}",
			`link.edited by writer@example.com token four before {"note":"d"} after {"note":"e"}`},
		{"DELETE /api/v2/links/four\nX-API-KEY: $WRITER",
			`link.deleted by writer@example.com token four before {"url":"https://a.example","owner":3,"note":"e"}`},
	} {
		r := st.ask(c.ask + "\nX-Request-Id: door-" + strconv.Itoa(i))
		if strings.Contains(c.ask, "\n\n") {
			r = st.ask(strings.Replace(c.ask, "\n", "\nX-Request-Id: door-"+strconv.Itoa(i)+"\n", 1))
		}
		expect.That(t, r.status/100 == 2, "%s: got %d %s", c.ask, r.status, r.body)
		newest := st.audited("").Data[0]
		expect.Equal(t, shownEntry(&newest), c.want, c.ask)
		expect.Equal(t, newest.RequestID, "door-"+strconv.Itoa(i), c.ask)
	}
}

// TestADoorRepeatsARequestUnderItsKey sends a request twice under an Idempotency-Key.
func TestADoorRepeatsARequestUnderItsKey(t *testing.T) {
	st := newDoorSite(t)
	for i, head := range []string{
		"GET /yourls-api.php?action=shorturl&format=json&signature=$WRITER&title=t&url=https://a.example/1", "GET /api/v2/action/shorten?key=$WRITER&url=https://a.example/2",
		"POST /api/v2/links\nX-API-KEY: $WRITER\nContent-Type: application/x-www-form-urlencoded",
	} {
		ask := func(body string) reply { return st.ask(fmt.Sprintf("%s\nIdempotency-Key: key%d\n\n%s", head, i, body)) }
		first, again := ask("target=https://a.example/3"), ask("target=https://a.example/3")
		expect.That(t, first.status/100 == 2 && again.status/100 == 2, "%s: got %d and %d %s", head, first.status, again.status, again.body)
		codes := drawnCode.FindAllString(first.body+again.body, -1)
		slices.Sort(codes)
		expect.Equal(t, len(slices.Compact(codes)), 1, "%s: links: %s %s", head, first.body, again.body)
	}
	expect.Equal(t, st.engine.Metrics().Links, 3, "links")
}

// doorPaths are paths of doors.
var doorPaths = []string{
	"/yourls-api.php", "/yourls-api.php?action=version", "/api/v2/links", "/api/v2/links/x", "/api/v2/links/x/stats", "/api/v2/health", "/api/v2/action/shorten?url=x", "/api/v2/action/lookup",
	"/rest/v3/short-urls", "/rest/v1/short-urls/shorten?longUrl=x", "/rest/health", "/rest/v3/short-urls/x/visits",
}

// TestADoorThatIsOffIsMissing asks at the paths of doors through each reader, without any door, and with all of them on
// another domain than the default one.
func TestADoorThatIsOffIsMissing(t *testing.T) {
	for name, host := range map[string]string{"off": "any.example", "on another domain": "b.test"} {
		t.Run(name, func(t *testing.T) {
			everyDoor(t, func(o *Options) {
				if name != "off" {
					openAll(o)
				}
			}, func(t *testing.T, st *site, dial func() net.Conn) {
				st.addDomain(domain.Domain{Host: "b.test"})
				for _, path := range doorPaths {
					for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"} {
						raw := strings.Replace(requestText(method, path, "", "Connection: close"), "any.example", host, 1)
						r := onlyAnswer(t, exchangeOn(t, dial(), raw), method)
						expect.Equal(t, r.status, 404, "%s %s: %s", method, path, r.body)
					}
				}
			})
		})
	}
}

// TestOneDoorOpensNoOther opens each door alone.
func TestOneDoorOpensNoOther(t *testing.T) {
	for _, name := range foreign.Names() {
		st := newSite(t, func(o *Options) { o.Doors = []string{name} })
		for _, path := range doorPaths {
			of := "kutt"
			switch {
			case strings.HasPrefix(path, "/yourls"):
				of = "yourls"
			case strings.HasPrefix(path, "/api/v2/action"):
				of = "polr"
			case strings.HasPrefix(path, "/rest"):
				of = "shlink"
			}
			r := st.get(path)
			expect.That(t, (of == name) == (r.status != 404), "with %s alone %s: got %d %s", name, path, r.status, r.body)
		}
		expect.That(t, st.metric(`shunt_http_requests_total{code="404",method="GET",route="`+name+`"}`) == "none", "counted as missing")
	}
	for _, name := range []string{"none", "yourls:", "yourls:none", "kutt:unique", ":unique"} {
		expect.That(t, expect.Err(foreign.Named([]string{"polr", name})) != nil, "%s: an unknown door was taken", name)
	}
}

// TestARepeatedTargetIsAnErrorIfTheOperatorSaysSo is for clients that know YOURLS's own answer.
func TestARepeatedTargetIsAnErrorIfTheOperatorSaysSo(t *testing.T) {
	st := &doorSite{site: newSite(t, func(o *Options) { o.Doors = []string{"yourls:unique", "yourls"} })}
	ask := func(more string) reply {
		return st.ask("GET /yourls-api.php?action=shorturl&signature=" + st.token + "&url=https://a.example/" + more)
	}
	made := ask("&format=simple")
	expect.Equal(t, made.status, 200, "the first")
	code := strings.TrimPrefix(made.body, "http://127.0.0.1:8080/")
	ask("&format=json&title=Another").expect(t, "again", 400, `"url":{"keyword":"`+code+`","url":"https://a.example/"`, `"status":"fail"`, `"code":"error:url"`,
		`"message":"https://a.example/ already exists in database"`, `"errorCode":"400"`, `"shorturl":"`+made.body+`"`, `"statusCode":400`)
	ask("&format=simple").expect(t, "again, simple", 400, bodyOf(made.body))
	ask("&format=json&keyword=named").expect(t, "with a keyword", 200, `"status":"success"`)
	expect.Equal(t, st.engine.Metrics().Links, 2, "links")
}

// TestNoSecretAtADoorIsKeptAnywhere sends secrets in queries, forms and fields of the header through each reader, some
// of them wrong, and looks for them in all that is written or shown.
func TestNoSecretAtADoorIsKeptAnywhere(t *testing.T) {
	const wrong = "shunt_Sentinel00000000000000000000000000"
	for _, d := range doors {
		t.Run("door="+d.name, func(t *testing.T) {
			change, lines := accessLogOf(t, accesslog.Options{Clients: true})
			st := newSite(t, d.options(func(o *Options) {
				change(o)
				openAll(o)
				o.LogClients, o.AuditClients, o.RateLimits = true, true, limit.Default()
			}))
			st.secret(wrong)
			st.secret("Sentinel")
			st.person("ann@example.com", account.RoleMember)
			dial, shown := d.open(t, st), ""
			for i, path := range []string{
				"/yourls-api.php?action=shorturl&url=https://a.example/$I&signature=", "/yourls-api.php?action=none&signature=", "/yourls-api.php?signature=$&format=jsonp&callback=f&timestamp=1&hash=md5&x=",
				"/yourls-api.php?action=stats&format=jsonp&callback=a-b&signature=", "/yourls-api.php?action=expand&shorturl=none&username=ann@example.com&password=", "/yourls-api.php?%zz&signature=",
				"/yourls-api.php/x?signature=", "/yourls-api.php&signature=", "/api/v2/action/shorten?url=https://a.example/$I&key=", "/api/v2/action/lookup?url_ending=none&key=", "/api/v2/action/none?key=",
				"/api/v2/links?skip=99999&apiKey=", "/api/v2/health?apiKey=", "/api/v2/links/x/stats?apiKey=", "http://any.example/yourls-api.php?action=version&signature=",
			} {
				for _, secret := range []string{st.token, wrong, url.QueryEscape(goodPassword)} {
					path := strings.NewReplacer("$I", strconv.Itoa(i), "$", secret).Replace(path)
					referrer := "Referer: http://any.example" + path + secret
					for _, method := range []string{"GET", "POST", "HEAD", "DELETE"} {
						raw := requestText(method, path+secret, "", referrer, "X-API-KEY: "+secret, "Connection: close")
						shown += string(exchangeOn(t, dial(), raw))
					}
				}
			}
			st.wantNothingSecretIn("an answer", shown)
			st.wantNothingSecretIn("the audit log", st.call("GET", "/audit", "").body)
			st.wantNothingSecretIn("the misses", st.call("GET", "/misses", "").body)
			st.wantNothingSecretIn("the metrics", st.metricsText())
			logged := strings.Join(lines(st), "\n")
			expect.That(t, strings.Contains(logged, `"path":"/yourls-api.php","status":200`), "the access log has no request at a door: %s", logged)
			st.wantNothingSecretIn("the access log", logged)
		})
	}
}

// TestMalformedRequestsAreRefusedAtDoors sends the corpus of malformed requests to the paths of doors.
func TestMalformedRequestsAreRefusedAtDoors(t *testing.T) {
	st := newSite(t, openAll)
	expect.Lines(t, "testdata/malformed.txt", func(t *testing.T, _, raw string) (status string) {
		for _, path := range []string{"/x", "/yourls-api.php", "/api/v2/links", "/api/v2/action/shorten", "/rest/v3/short-urls", "/rest/health"} {
			method, _, _ := strings.Cut(raw, " ")
			raw := strings.Replace(raw, " /x", " "+path, 1)
			r := send(t, st.publicAt, method, raw)
			r.expect(t, raw, closed)
			if now := strconv.Itoa(r.status); status == "" {
				status = now
			} else {
				expect.Equal(t, now, status, raw)
			}
		}
		return status
	})
	expect.Equal(t, st.counted(), "0 links, 0 redirects")
	expect.That(t, !strings.Contains(st.log.String(), "SesameOpen"), "the log holds bytes of requests: %s", st.log)
}

// TestDoorsTakeBodiesInChunks sends good bodies in chunks, which clients in PHP do, and broken ones.
func TestDoorsTakeBodiesInChunks(t *testing.T) {
	st := newDoorSite(t)
	for i, c := range []struct{ path, kind, body string }{
		{"/rest/v3/short-urls", "application/json", `{"longUrl":"https://a.example/1"}`},
		{"/api/v2/links", "application/json", `{"target":"https://a.example/2"}`},
		{"/yourls-api.php", "application/x-www-form-urlencoded", "action=shorturl&url=https://a.example/3&signature=" + st.token},
		{"/api/v2/action/shorten", "application/x-www-form-urlencoded", "url=https://a.example/4&key=" + st.token},
	} {
		head := "POST " + c.path + " HTTP/1.1\r\nHost: any.example\r\nX-Api-Key: " + st.token + "\r\nContent-Type: " + c.kind + "\r\nTransfer-Encoding: chunked\r\n\r\n"
		chunks := ""
		for part := range slices.Chunk([]byte(c.body), 7) {
			chunks += fmt.Sprintf("%x\r\n%s\r\n", len(part), part)
		}
		r := send(t, st.publicAt, "POST", head+chunks+"0\r\n\r\n")
		expect.That(t, r.status/100 == 2 && st.engine.Metrics().Links == uint64(i+1), "%s: got %d %s", c.path, r.status, r.body)
		for _, wrong := range []string{"zz\r\n", "-1\r\n\r\n", "5\r\nabc\r\n0\r\n\r\n", "ffffffffffffffff\r\n", "7\n" + c.body[:7] + "\n0\n\n"} {
			send(t, st.publicAt, "POST", head+wrong).expect(t, c.path+" "+wrong, 400, closed)
		}
		large := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", 70_000, c.body+strings.Repeat(" ", 70_000-len(c.body)))
		send(t, st.publicAt, "POST", head+large).expect(t, c.path+": large", 413)
		expect.Equal(t, st.engine.Metrics().Links, uint64(i+1), c.path)
	}
}

// TestABadBodyIsRefusedAtDoors sends the bodies that the API refuses as bodies at doors, in each media type. Only
// Kutt's door takes some of them, because it leaves fields alone that it does not know.
func TestABadBodyIsRefusedAtDoors(t *testing.T) {
	st := newDoorSite(t)
	text, err := os.ReadFile("testdata/bodies.txt")
	expect.OK(t, err)
	sent := 0
	for line := range strings.Lines(string(text)) {
		_, body, found := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		if !found || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "not JSON: url=") { // which is a form
			continue
		}
		body = spelledOut(body)
		kutt := strings.NewReplacer(`"url"`, `"target"`, `"alias"`, `"customurl"`, `"expires_at"`, `"expire_in"`).Replace(body)
		for _, head := range []string{
			"POST /api/v2/links\nX-API-KEY: $ADMIN", "POST /yourls-api.php?action=shorturl&signature=$ADMIN", "POST /api/v2/action/shorten?key=$ADMIN",
		} {
			for _, kind := range []string{"application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/xml"} {
				r := st.ask(head + "\nContent-Type: " + kind + "\n\n" + kutt)
				expect.That(t, r.status < 500 && (r.status >= 400 || strings.Contains(head, "links") && strings.Contains(kind, "json")), "%s %s %.200q: got %d %s", head, kind, kutt, r.status, r.body)
				sent++
			}
		}
	}
	expect.That(t, sent > 500, "%d bodies were sent", sent)
}

// Some doors create by GET, so a node that does not lead answers no request at one.
func TestRequestsAtDoorsGoToTheNodeThatLeads(t *testing.T) {
	st := newSite(t, func(o *Options) { o.Doors = []string{"yourls", "polr"} })
	c := &clustered{state: follower{}, doors: st.doors, fixed: func([]byte) bool { return false }}
	for path, here := range map[string]bool{
		"/yourls-api.php?action=expand": false, "/api/v2/action/lookup": false, "/api/v2/links": true, "/yourls-api.phpx": true, "/api/v1/links": true,
	} {
		var ctx fasthttp.RequestCtx
		ctx.Request.SetRequestURI(path)
		expect.Equal(t, c.isHere(&ctx), here, path)
		expect.That(t, here || c.mayBeOld(&ctx), "%s may be answered by a stale node", path)
	}
}

// follower is the state of a node that does not lead.
type follower struct{ cluster.State }

func (follower) Leads() bool { return false }
func (follower) Edge() bool  { return false }

// fuzzDoor sends any request to the paths of a door. Nothing panics, and an answer is what its type says.
func fuzzDoor(f *testing.F, name string, paths ...string) {
	st := newSite(f, func(o *Options) { o.Doors = []string{name} })
	st.shorten(`{"url":"https://good.example/","alias":"victim"}`)
	handle := st.front.handle
	f.Fuzz(func(t *testing.T, method, at byte, rest, query, kind, body string) {
		var request fasthttp.Request
		request.Header.SetMethod([]string{"GET", "POST", "PATCH", "DELETE", "HEAD", "PUT"}[int(method)%6])
		path := paths[int(at)%len(paths)]
		request.Header.SetRequestURI(path + strings.ReplaceAll(rest+"?"+query, "TOKEN", st.token))
		request.Header.SetHost("any.example")
		request.Header.SetContentType(strings.Map(func(r rune) rune {
			if r < ' ' || r > '~' {
				return -1
			}
			return r
		}, kind))
		request.Header.Set("X-Api-Key", st.token)
		request.SetBodyString(strings.ReplaceAll(body, "TOKEN", st.token))
		var ctx fasthttp.RequestCtx
		ctx.Init(&request, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, nil)
		handle(&ctx)
		status, answer := ctx.Response.StatusCode(), ctx.Response.Body()
		expect.That(t, status != 500 && status > 0, "%s %q: got %d %s", ctx.Method(), ctx.RequestURI(), status, answer)
		expect.That(t, !strings.Contains(string(answer), st.token), "%s %q: the answer has the token: %s", ctx.Method(), ctx.RequestURI(), answer)
		expect.That(t, len(ctx.URI().QueryString()) == 0 || st.doors.At(ctx.URI().PathOriginal()) == nil, "%q: the request has its query", ctx.RequestURI())
		switch kind := string(ctx.Response.Header.ContentType()); {
		case ctx.IsHead():
		case strings.Contains(kind, "json"):
			expect.That(t, json.Valid(answer), "%q: not JSON: %q", ctx.RequestURI(), answer)
		case strings.Contains(kind, "application/xml"):
			expect.That(t, isXML(string(answer)), "%q: not XML: %q", ctx.RequestURI(), answer)
		}
	})
}

func isXML(text string) bool {
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := d.Token(); err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}

func FuzzYourls(f *testing.F) {
	for _, query := range []string{
		"action=shorturl&signature=TOKEN&url=https://a.example/&keyword=k&title=t", "action=expand&shorturl=victim&signature=TOKEN&format=json", "action=url-stats&shorturl=http://127.0.0.1:8080/victim&signature=TOKEN",
		"action=stats&filter=rand&limit=2&start=1&signature=TOKEN&format=jsonp&callback=a[1].b", "action=db-stats&signature=TOKEN", "action=version&db=1&signature=TOKEN&format=JSON", "username=a&password=b", "a=%zz", "action=expand&shorturl=%00%ff&signature=TOKEN",
	} {
		f.Add(byte(0), byte(0), "", query, "application/x-www-form-urlencoded", query)
		f.Add(byte(1), byte(0), "", "", "multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"action\"\r\n\r\nversion\r\n--x--\r\n")
	}
	fuzzDoor(f, "yourls", "/yourls-api.php")
}

func FuzzKutt(f *testing.F) {
	for _, body := range []string{`{"target":"https://a.example/","customurl":"k","expire_in":"2 minutes","reuse":true,"description":"d","domain":"x"}`, `{"target":1}`, `{`, "target=https://a.example/&reuse=on"} {
		for _, kind := range []string{"application/json", "application/x-www-form-urlencoded"} {
			f.Add(byte(1), byte(0), "", "", kind, body)
			f.Add(byte(2), byte(0), "/victim", "", kind, body)
		}
	}
	f.Add(byte(0), byte(0), "", "limit=3&skip=1&search=v&all=true", "", "")
	f.Add(byte(3), byte(0), "/victim/stats", "", "", "")
	f.Add(byte(0), byte(0), "/~MTI3LjAuMC4xOjgwODAvdmljdGlt", "", "", "")
	f.Add(byte(0), byte(1), "", "", "", "")
	fuzzDoor(f, "kutt", "/api/v2/links", "/api/v2/health")
}

func FuzzPolr(f *testing.F) {
	for _, query := range []string{"key=TOKEN&url=https://a.example/&custom_ending=k&response_type=json", "key=TOKEN&url_ending=victim", "key=TOKEN&url=%zz", "is_secret=true&key=TOKEN&url=a.example"} {
		f.Add(byte(0), byte(0), "", query, "", "")
		f.Add(byte(1), byte(1), "", "", "application/x-www-form-urlencoded", query)
	}
	fuzzDoor(f, "polr", "/api/v2/action/shorten", "/api/v2/action/lookup", "/api/v2/action")
}

// TestADoorFindsTheLinkOfATargetThatCameInByAnImport moves links in, and asks for their targets as tools do that were
// kept: the link that is there is the answer, whatever else was sent.
func TestADoorFindsTheLinkOfATargetThatCameInByAnImport(t *testing.T) {
	st := newDoorSite(t)
	dump, err := os.ReadFile("source/testdata/files/yourls-mariadb.sql")
	expect.OK(t, err)
	st.browseAs("root@example.com", account.RoleAdmin).upload("1", string(dump)).want("Created 4", "Refused 0")
	target := st.get("/emoji").header.Get("Location")
	st.call("POST", "/import?reuse=true", `[{"code":"old","url":"https://old.example/p?b=1&a=2","title":"Old","tags":["t"],"redirect_status":301}]`, "Content-Type: application/json").
		need(t, "", 200, `"created":1`)
	st.call("POST", "/import", `[{"code":"apart","url":"https://apart.example/"}]`, "Content-Type: application/json").need(t, "", 200, `"created":1`)
	st.call("POST", "/import?reuse=what", `[]`, "Content-Type: application/json").expect(t, "", fieldsOf("reuse:range"))
	links := st.engine.Metrics().Links
	json := "\nX-API-KEY: $ADMIN\nContent-Type: application/json\n\n"
	for _, c := range []struct{ ask, want string }{
		{"GET /yourls-api.php?action=shorturl&format=json&signature=$ADMIN&url=" + url.QueryEscape(target), `"status":"success"`},
		{"GET /yourls-api.php?action=shorturl&format=json&signature=$ADMIN&title=Another&url=" + url.QueryEscape(target), "/emoji"},
		{"GET /yourls-api.php?action=shorturl&format=simple&signature=$ADMIN&title=New&url=https://OLD.example/p?b=1%26a=2", "http://127.0.0.1:8080/old"},
		{"GET /api/v2/action/shorten?key=$ADMIN&url=https://old.example/p?b=1%26a=2", "http://127.0.0.1:8080/old"},
		{"POST /api/v2/links" + json + `{"target":"https://old.example/p?b=1&a=2","reuse":true,"description":"d","expire_in":"2 days"}`, `"address":"old"`},
		{"POST /rest/v3/short-urls" + json + `{"longUrl":"https://old.example/p?b=1&a=2","findIfExists":true,"title":"Another","tags":["t"]}`, `"shortCode":"old"`},
		{"POST /api/v1/shorten\nAuthorization: Bearer $ADMIN\nContent-Type: application/json\n\n" + `{"url":"https://old.example/p?b=1&a=2","reuse":true}`, `"code":"old"`},
	} {
		r := st.ask(c.ask)
		expect.That(t, r.status == 200 && strings.Contains(r.body, c.want), "%s: got %d %s", c.ask, r.status, r.body)
		expect.Equal(t, st.engine.Metrics().Links, links, c.ask)
	}
	for _, ask := range []string{
		"GET /yourls-api.php?action=shorturl&format=json&signature=$ADMIN&url=https://apart.example/", // an import without reuse
		"GET /yourls-api.php?action=shorturl&format=json&signature=$OTHER&url=https://old.example/p?b=1%26a=2",
		"POST /rest/v3/short-urls" + json + `{"longUrl":"https://old.example/p?b=1&a=2","findIfExists":true,"tags":["another"]}`,
		"POST /api/v2/links" + json + `{"target":"https://old.example/p?b=1&a=2"}`,
		"POST /api/v1/shorten\nAuthorization: Bearer $ADMIN\nContent-Type: application/json\n\n" + `{"url":"https://old.example/p?b=1&a=2","reuse":true,"title":"Another"}`,
		"GET /yourls-api.php?action=shorturl&format=json&signature=$ADMIN&keyword=named&url=https://named.example/",
	} {
		r := st.ask(ask)
		links++
		expect.That(t, r.status/100 == 2 && st.engine.Metrics().Links == links, "%s makes none: %d %s", ask, r.status, r.body)
	}
	r := st.ask("GET /yourls-api.php?action=shorturl&format=simple&signature=$ADMIN&url=https://named.example/")
	expect.Equal(t, r.body, "http://127.0.0.1:8080/named", "the target of a link with a keyword")
	st.call("PATCH", "/links/named", `{"disabled":true}`).need(t, "", 200)
	r = st.ask("GET /yourls-api.php?action=shorturl&format=simple&signature=$ADMIN&url=https://named.example/")
	expect.That(t, r.status == 200 && r.body != "http://127.0.0.1:8080/named", "a link that is disabled: got %s", r.body)
}

// TestYOURLSListsAtRandomEachLinkOnce: which comes first is drawn, so no case can say it.
func TestYOURLSListsAtRandomEachLinkOnce(t *testing.T) {
	st := newSite(t, openAll)
	want := []string{"http://127.0.0.1:8080/a", "http://127.0.0.1:8080/b", "http://127.0.0.1:8080/c"}
	for _, code := range want {
		st.shorten(`{"url":"https://a.example/","alias":"` + code[len(code)-1:] + `"}`)
	}
	for _, filter := range []string{"rand", "random"} {
		r := st.get("/yourls-api.php?action=stats&format=json&limit=9&filter=" + filter + "&signature=" + st.token)
		var answer struct {
			Links map[string]struct{ ShortURL string }
		}
		expect.OK(t, json.Unmarshal([]byte(r.body), &answer))
		var got []string
		for _, link := range answer.Links {
			got = append(got, link.ShortURL)
		}
		slices.Sort(got)
		expect.Slices(t, got, want, filter)
	}
}
