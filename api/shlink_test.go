package api

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"shunt/api/accesslog"
	"shunt/api/account"
	"shunt/api/domain"
	"shunt/api/limit"
	"shunt/api/rate"
	"shunt/engine/expect"
)

// atShlink opens the door for clients of Shlink.
func atShlink(o *Options) { o.Doors = []string{"shlink"} }

// shlink sends a request at the door with a key.
func (st *site) shlink(key, method, path, body string, lines ...string) reply {
	st.t.Helper()
	if key != "" {
		lines = append(lines, "X-Api-Key: "+key)
	}
	return send(st.t, st.publicAt, method, requestText(method, "/rest"+path, body, lines...))
}

var drawnSlug = regexp.MustCompile(`("shortCode":"|127.0.0.1:8080/)[0-9A-Za-z]{8}\b`)

// TestTheShlinkDoorAnswersAsShlinkDoes has cases in testdata; -rewrite writes what is answered now. The input of a case
// is requests: a line with the method and path after /rest, header fields before it, and a body after it. They are sent
// with the key of the argument: of the admin, of a member, of one who may only read links, none, or a wrong one.
func TestTheShlinkDoorAnswersAsShlinkDoes(t *testing.T) {
	datadriven.Walk(t, "testdata/shlink", func(t *testing.T, path string) {
		st := newSite(t, atShlink)
		st.addDomain(domain.Domain{Host: "other.example"})
		keys := map[string]string{
			"admin": st.token, "none": "", "wrong": "not-a-key",
			"member": st.member("ann@example.com", account.LinksRead, account.LinksWrite, account.StatsRead),
			"reader": st.member("bob@example.com", account.LinksRead),
		}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "visit" {
				for range 3 {
					st.get("/"+d.CmdArgs[0].Key, "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
				}
				return ""
			}
			return st.shlinkAnswers(keys[d.CmdArgs[0].Key], d.Input)
		})
	})
}

// notABody fits the lines of a case that are no body.
var notABody = regexp.MustCompile(`^([A-Z]+ /|[A-Za-z-]+: )`)

// shlinkAnswers sends the requests of a case, and returns what is answered.
func (st *site) shlinkAnswers(key, input string) string {
	var out strings.Builder
	var fields []string
	lines := strings.Split(input, "\n")
	for i := 0; i < len(lines); i++ {
		method, path, _ := strings.Cut(lines[i], " ")
		if strings.HasSuffix(method, ":") {
			fields = append(fields, lines[i])
			continue
		}
		body := ""
		if i+1 < len(lines) && !notABody.MatchString(lines[i+1]) {
			i++
			body = spelledOut(lines[i])
		}
		r := st.shlink(key, method, strings.ReplaceAll(path, "KEY", url.QueryEscape(key)), body, fields...)
		fields = nil
		fmt.Fprintf(&out, "%d %s", r.status, r.header.Get("Content-Type"))
		if allow := r.header.Get("Allow"); allow != "" {
			fmt.Fprintf(&out, " (Allow: %s)", allow)
		}
		out.WriteString("\n" + drawnSlug.ReplaceAllString(strings.TrimSuffix(r.body, "\n"), "${1}DRAWN") + "\n")
		expect.Equal(st.t, r.header.Get("Access-Control-Allow-Origin"), "*", "%s %s: Access-Control-Allow-Origin", method, path)
	}
	return out.String()
}

// shlinkPaths are the paths of the door with all their methods.
var shlinkPaths = []struct {
	method, path, body string
	scope              account.Scope
}{
	{"GET", "/v3/short-urls", "", account.LinksRead},
	{"POST", "/v3/short-urls", `{"longUrl":"https://a.example/"}`, account.LinksWrite},
	{"GET", "/v3/short-urls/shorten?longUrl=https://a.example/", "", account.LinksWrite},
	{"GET", "/v3/short-urls/one", "", account.LinksRead},
	{"PATCH", "/v3/short-urls/one", `{"title":"T"}`, account.LinksWrite},
	{"GET", "/v3/short-urls/one/visits", "", account.StatsRead},
	{"DELETE", "/v3/short-urls/one/visits", "", account.LinksWrite},
	{"GET", "/v3/short-urls/one/redirect-rules", "", account.LinksRead},
	{"POST", "/v3/short-urls/one/redirect-rules", `{"redirectRules":[]}`, account.LinksWrite},
	{"PUT", "/v2/short-urls/one/tags", `{"tags":["x"]}`, account.LinksWrite},
	{"GET", "/v3/tags", "", account.LinksRead},
	{"GET", "/v3/tags/stats", "", account.LinksRead},
	{"PUT", "/v3/tags", `{"oldName":"x","newName":"y"}`, account.LinksWrite},
	{"DELETE", "/v3/tags?tags[]=y", "", account.LinksWrite},
	{"GET", "/v3/tags/y/visits", "", account.StatsRead},
	{"GET", "/v3/visits", "", account.StatsRead},
	{"GET", "/v3/visits/orphan", "", anyScope},
	{"DELETE", "/v3/visits/orphan", "", anyScope},
	{"GET", "/v3/visits/non-orphan", "", account.StatsRead},
	{"GET", "/v3/domains", "", anyScope},
	{"GET", "/v3/domains/DEFAULT/visits", "", account.StatsRead},
	{"PATCH", "/v3/domains/redirects", `{"domain":"DEFAULT","baseUrlRedirect":null}`, account.Admin},
	{"GET", "/v3/mercure-info", "", anyScope},
	{"DELETE", "/v3/short-urls/one", "", account.LinksWrite},
}

func TestTheShlinkDoorIsClosedUnlessItIsNamed(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"https://a.example/","alias":"one"}`)
	for _, c := range append(slices.Clone(shlinkPaths), shlinkPaths[0], struct {
		method, path, body string
		scope              account.Scope
	}{"GET", "/health", "", anyScope}) {
		for _, key := range []string{"", st.token} {
			st.shlink(key, c.method, c.path, c.body).expect(t, c.method+" "+c.path, 404)
		}
	}
	st.shlink("", "OPTIONS", "/v3/short-urls", "", "Origin: https://app.example", "Access-Control-Request-Method: POST").expect(t, "a preflight", 404)
	expect.Equal(t, st.counted(), "1 links, 0 redirects")
}

// A key needs the scope of each call, and no call is done for a key that lacks it, is of nobody, or comes otherwise.
func TestEachCallOfTheShlinkDoorNeedsItsScope(t *testing.T) {
	st := newSite(t, atShlink)
	all := []account.Scope{account.LinksRead, account.LinksWrite, account.StatsRead, account.TokensWrite, account.Admin}
	admin, _, err := st.accounts.EnsureAdmin()
	expect.OK(t, err)
	st.shorten(`{"url":"https://a.example/","alias":"one"}`)
	for _, c := range shlinkPaths {
		name := c.method + " " + c.path
		st.unchanged(t, func() {
			st.shlink("", c.method, c.path, c.body).expect(t, name+" without a key", 401, "https://shlink.io/api/error/missing-authentication")
			st.shlink("wrong", c.method, c.path, c.body).expect(t, name+" with a wrong key", 401, "https://shlink.io/api/error/invalid-api-key")
			st.shlink("", c.method, c.path, c.body, "X-Api-Key: "+st.token, "X-Api-Key: wrong").expect(t, name+" with two keys", 400)
			st.shlink("", c.method, c.path, c.body, "Cookie: shunt_session=x").expect(t, name+" with a cookie", 401)
			if c.scope == anyScope {
				return
			}
			without := slices.DeleteFunc(slices.Clone(all), func(s account.Scope) bool { return s == c.scope })
			key := st.issue(account.CallerOf(admin), without...)
			st.shlink(key, c.method, c.path, c.body).expect(t, name+" without the scope", 403, "needs the scope "+string(c.scope))
		})
	}
	for _, c := range shlinkPaths {
		scopes := []account.Scope{c.scope}
		if c.scope == anyScope {
			scopes = []account.Scope{account.TokensWrite}
		}
		r := st.shlink(st.issue(account.CallerOf(admin), scopes...), c.method, c.path, c.body)
		want := r.status < 300
		if strings.HasSuffix(c.path, "/mercure-info") {
			want = r.status == 501
		}
		expect.That(t, want, "%s %s with its scope: got %d %s", c.method, c.path, r.status, r.body)
	}
}

// The sentences about deleting: links have the codes that a careless path would name.
func TestNothingIsDeletedByMistakeAtTheShlinkDoor(t *testing.T) {
	st := newSite(t, atShlink)
	codes := []string{"a", "a/visits", "a/redirect-rules", "a/tags", "shorten", "undefined", "short-urls", "tags", "b"}
	for _, code := range codes {
		st.shorten(fmt.Sprintf(`{"url":"https://a.example/","alias":%q,"tags":["t"]}`, code))
	}
	foreign := st.member("ann@example.com", account.LinksRead, account.LinksWrite, account.StatsRead)
	for _, c := range []struct {
		method, path, key string
		status            int
	}{
		{"DELETE", "/v3/short-urls", st.token, 405},
		{"DELETE", "/v3/short-urls/", st.token, 405},
		{"DELETE", "/v3/short-urls//", st.token, 404},
		{"DELETE", "/v3/short-urls/a/redirect-rules", st.token, 405},
		{"DELETE", "/v3/short-urls/a/tags", st.token, 405},
		{"DELETE", "/v3/short-urls/a/visits", st.token, 400}, // of a, or the link a/visits?
		{"DELETE", "/v3/short-urls//visits", st.token, 404},
		{"DELETE", "/v3/short-urls/A", st.token, 404},
		{"DELETE", "/v3/short-urls/a%20", st.token, 404},
		{"DELETE", "/v3/short-urls/a?domain=other.example", st.token, 404},
		{"DELETE", "/v3/short-urls/a?domain=OTHER", st.token, 404},
		{"DELETE", "/v3/short-urls/a", foreign, 404},
		{"DELETE", "/v3/short-urls/a?owner=all", foreign, 404},
		{"GET", "/v3/short-urls/a", st.token, 200},
		{"HEAD", "/v3/short-urls/a", st.token, 200},
		{"POST", "/v3/short-urls/a", st.token, 405},
		{"DELETE", "/v3/tags", st.token, 400},
		{"DELETE", "/v3/tags?tags=t", st.token, 400},
		{"DELETE", "/v3/tags?tags[]=", st.token, 400},
		{"DELETE", "/v3/tags/t", st.token, 404},
		{"DELETE", "/v3/tags/stats", st.token, 405},
		{"DELETE", "/v3/tags?tags[]=t", foreign, 204}, // of the member's own links, who has none
		{"DELETE", "/v3/domains/DEFAULT", st.token, 404},
		{"DELETE", "/v4/short-urls/a", st.token, 404},
		{"DELETE", "/short-urls/a", st.token, 404},
	} {
		r := st.shlink(c.key, c.method, c.path, "")
		expect.Equal(t, r.status, c.status, "%s %s: got %s", c.method, c.path, r.body)
	}
	expect.Equal(t, st.engine.Metrics().Links, uint64(len(codes)), "links")
	for _, code := range codes {
		st.call("GET", "/links/"+url.PathEscape(code), "").expect(t, code, 200, `"tags":["t"]`)
	}
	for i, code := range []string{"a%2Fvisits", "a/redirect-rules", "shorten", "b"} { // each as a client means it
		if strings.Contains(code, "/") {
			code = strings.ReplaceAll(code, "/", "%2F")
		}
		st.shlink(st.token, "DELETE", "/v3/short-urls/"+code, "").expect(t, "delete "+code, 204)
		expect.Equal(t, st.engine.Metrics().Links, uint64(len(codes)-i-1), "links after "+code)
	}
}

// shlinkWaysIn are the requests at the door that set a target.
var shlinkWaysIn = map[string]func(st *site, url string) reply{
	"create": func(st *site, url string) reply {
		return st.shlink(st.token, "POST", "/v3/short-urls", `{"longUrl":`+url+`}`)
	},
	"create or find": func(st *site, url string) reply {
		return st.shlink(st.token, "POST", "/v1/short-urls", `{"longUrl":`+url+`,"findIfExists":true}`)
	},
	"create with slug": func(st *site, url string) reply {
		return st.shlink(st.token, "POST", "/v2/short-urls", `{"longUrl":`+url+`,"customSlug":"slug"}`)
	},
	"edit": func(st *site, url string) reply {
		return st.shlink(st.token, "PATCH", "/v3/short-urls/victim", `{"longUrl":`+url+`}`)
	},
	"shorten": func(st *site, target string) reply {
		return st.shlink("", "GET", "/v3/short-urls/shorten?apiKey="+st.token+"&longUrl="+url.QueryEscape(unescaped(target)), "")
	},
	"rules": func(st *site, url string) reply {
		return st.shlink(st.token, "POST", "/v3/short-urls/victim/redirect-rules",
			`{"redirectRules":[{"longUrl":`+url+`,"conditions":[{"type":"device","matchKey":null,"matchValue":"ios"}]}]}`)
	},
	"redirects of a domain": func(st *site, url string) reply {
		return st.shlink(st.token, "PATCH", "/v3/domains/redirects", `{"domain":"victim.example","baseUrlRedirect":`+url+`,"invalidShortUrlRedirect":`+url+`}`)
	},
}

func TestTheShlinkDoorTakesNoHostileTarget(t *testing.T) {
	targets := hostileTargets(t)
	expect.MustThat(t, len(targets) >= 500, "got %d targets, want at least 500", len(targets))
	st := hostileSite(t, "http,https")
	st.shorten(`{"url":"https://good.example/","alias":"victim"}`)
	st.addDomain(domain.Domain{Host: "victim.example"})
	for way, send := range shlinkWaysIn {
		t.Run(way, func(t *testing.T) {
			for _, h := range targets {
				r := send(st, jsonText(h.target))
				if way == "redirects of a domain" && r.status == 200 { // blanks alone say: none
					r.expect(t, fmt.Sprintf("line %d, %s", h.line, h.kind), `{"baseUrlRedirect":null,"regular404Redirect":null,"invalidShortUrlRedirect":null}`)
					continue
				}
				expect.That(t, r.status == 400 || r.status == 413 || r.status == 414 || r.status == 403, "line %d, %s: got %d %s", h.line, h.kind, r.status, r.body)
			}
		})
	}
	expect.Equal(t, st.get("/victim").header.Get("Location"), "https://good.example/", "the link that is there leads to")
	expect.Equal(t, st.engine.Metrics().Links, 1, "links")
}

// Each body of the corpus of bodies that the API refuses, with Shlink's names for ours, makes nothing.
func TestAMalformedBodyMakesNothingAtTheShlinkDoor(t *testing.T) {
	st := newSite(t, atShlink)
	st.shorten(`{"url":"https://a.example/","alias":"one","tags":["t"]}`)
	names := strings.NewReplacer(`"url"`, `"longUrl"`, `"alias"`, `"customSlug"`, `"expires_at"`, `"validUntil"`, `"starts_at"`, `"validSince"`,
		`"max_hits"`, `"maxVisits"`, `"forward_query"`, `"forwardQuery"`, `"reuse"`, `"findIfExists"`)
	refused := 0
	datadriven.RunTest(t, "testdata/bodies.txt", func(t *testing.T, d *datadriven.TestData) string {
		for line := range strings.Lines(d.Input) {
			name, body, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
			body = names.Replace(spelledOut(strings.TrimPrefix(body, " ")))
			for _, c := range [][2]string{
				{"POST", "/v3/short-urls"}, {"PATCH", "/v3/short-urls/one"}, {"POST", "/v3/short-urls/one/redirect-rules"},
				{"PUT", "/v3/tags"}, {"PATCH", "/v3/domains/redirects"}, {"PUT", "/v3/short-urls/one/tags"},
			} {
				r := st.shlink(st.token, c[0], c[1], body)
				if r.status < 300 { // what Shlink's clients may send beside its fields
					continue
				}
				refused++
				expect.That(t, 400 <= r.status && r.status < 500, "%s %s %s: got %d %s", c[0], c[1], name, r.status, r.body)
				wantShlinkProblem(t, r)
			}
		}
		return d.Expected
	})
	expect.That(t, refused > 300, "%d requests were refused", refused)
}

// wantShlinkProblem checks that r is a problem with all that clients read.
func wantShlinkProblem(t *testing.T, r reply) {
	t.Helper()
	var p struct {
		Type, Title, Detail string
		Status              int
	}
	err := json.Unmarshal([]byte(r.body), &p)
	expect.That(t, err == nil && p.Type != "" && p.Title != "" && p.Detail != "" && p.Status == r.status && r.header.Get("Content-Type") == "application/problem+json",
		"got %d %s %s", r.status, r.header.Get("Content-Type"), r.body)
}

func TestTheShlinkDoorHasTheLimitsOfTheAPI(t *testing.T) {
	st := newSite(t, func(o *Options) {
		atShlink(o)
		o.RateLimits = limit.Limits{Creates: rate.Limit{Events: 2, Period: time.Minute, Burst: 2}}
	})
	ann, at := st.member("ann@example.com", account.LinksWrite), st.from("127.0.0.1")
	ask := func(method, path, body string) reply {
		return send(t, at, method, requestText(method, "/rest"+path, body, "X-Api-Key: "+ann))
	}
	for i, status := range []int{200, 200, 429} {
		r := ask("POST", "/v3/short-urls", `{"longUrl":"https://a.example/"}`)
		expect.Equal(t, r.status, status, "create %d: %s", i, r.body)
		if status == 429 {
			expect.That(t, r.header.Get("Retry-After") != "", "no Retry-After")
			wantShlinkProblem(t, r)
		}
	}
	ask("GET", "/v3/short-urls/shorten?longUrl=https://a.example/", "").expect(t, "a create by GET", 429)
	ask("POST", "/v3/short-urls", strings.Repeat(" ", 64<<10+1)).expect(t, "a large body", 413)
	expect.Equal(t, st.engine.Metrics().Links, 2, "links")
}

func TestChangesAtTheShlinkDoorAreAuditedAndRepeatable(t *testing.T) {
	st := newSite(t, atShlink)
	key := "Idempotency-Key: k1"
	first := st.shlink(st.token, "POST", "/v3/short-urls", `{"longUrl":"https://a.example/","customSlug":"one"}`, key)
	first.expect(t, "a create", 200)
	again := st.shlink(st.token, "POST", "/v3/short-urls", `{"longUrl":"https://a.example/","customSlug":"one"}`, key)
	expect.Equal(t, again.body, first.body, "a repeat")
	st.shlink(st.token, "POST", "/v3/short-urls", `{"longUrl":"https://b.example/"}`, key).expect(t, "another body", 422)
	st.shlink(st.token, "PATCH", "/v3/short-urls/one", `{"title":"T"}`).expect(t, "an edit", 200)
	st.shlink(st.token, "DELETE", "/v3/short-urls/one/visits", "").expect(t, "a reset", 200)
	st.shlink(st.token, "DELETE", "/v3/short-urls/one", "").expect(t, "a delete", 204)
	var got []string
	for _, e := range st.audited("?code=one").Data {
		got = append(got, e.Action+" by "+e.Actor.Via)
	}
	expect.Slices(t, got, []string{"link.deleted by token", "link.reset by token", "link.edited by token", "link.created by token"})
}

// A key in a query is in no log: the site checks its own log at its end.
func TestAKeyInAQueryIsInNoLog(t *testing.T) {
	change, lines := accessLogOf(t, accesslog.Options{Clients: true})
	st := newSite(t, func(o *Options) {
		atShlink(o)
		change(o)
	})
	st.shlink("", "GET", "/v1/short-urls/shorten?apiKey="+st.token+"&longUrl=https://a.example/&format=txt", "").expect(t, "shorten", 200)
	st.shlink("", "GET", "/v1/short-urls/shorten?apiKey="+st.token+"&longUrl=x&broken=%", "").expect(t, "a query that cannot be read", 400)
	st.shlink("", "HEAD", "/v1/short-urls/shorten?apiKey="+st.token+"&longUrl=https://a.example/", "").expect(t, "HEAD", 405)
	expect.Equal(t, st.engine.Metrics().Links, 1, "links")
	st.wantNothingSecretIn("the access log", strings.Join(lines(st), "\n"))
}

func TestAnyPageMayUseTheShlinkDoor(t *testing.T) {
	for _, origins := range [][]string{nil, {"https://other.example"}} {
		st := newSite(t, func(o *Options) {
			atShlink(o)
			o.CORSOrigins = origins
		})
		r := st.shlink("", "OPTIONS", "/v3/short-urls/abc", "", "Origin: https://app.example", "Access-Control-Request-Method: DELETE", "Access-Control-Request-Headers: x-api-key")
		r.expect(t, "a preflight", 204)
		for name, want := range map[string]string{
			"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Methods": "GET, HEAD, PUT, PATCH, DELETE",
			"Access-Control-Allow-Headers": "X-Api-Key, Content-Type, Accept, Idempotency-Key, X-Request-Id", "Access-Control-Allow-Credentials": "",
		} {
			expect.Equal(t, r.header.Get(name), want, name)
		}
		r = st.shlink("", "GET", "/v3/short-urls", "", "Origin: https://app.example")
		r.expect(t, "an error", 401)
		expect.Slices(t, r.header["Access-Control-Allow-Origin"], []string{"*"}, "of an error")
		st.get("/api/v1/links", "Origin: https://app.example")
	}
}

// Lists of more links than one page of package ops has.
func TestListsOfTheShlinkDoorHaveABoundedDepth(t *testing.T) {
	expect.Long(t)
	st := newSite(t, atShlink)
	const links = 10_001
	for made := 0; made < links; {
		var items []string
		for len(items) < 1000 && made < links {
			items = append(items, fmt.Sprintf(`{"url":"https://a.example/%d","alias":"c%05d","tags":["all","t%d"]}`, made, made, made%7))
			made++
		}
		st.call("POST", "/shorten/bulk", "["+strings.Join(items, ",")+"]").need(t, "a bulk", 200)
	}
	type page struct {
		ShortURLs struct {
			Data       []struct{ ShortCode string }
			Pagination struct{ CurrentPage, PagesCount, ItemsPerPage, ItemsInCurrentPage, TotalItems int }
		}
	}
	list := func(query string, status int) (p page) {
		r := st.shlink(st.token, "GET", "/v3/short-urls?"+query, "")
		expect.Equal(t, r.status, status, "%s: %s", query, r.body)
		expect.OK(t, json.Unmarshal([]byte(r.body), &p))
		return p
	}
	p := list("page=4&itemsPerPage=30&orderBy=dateCreated-DESC", 200)
	expect.Equal(t, fmt.Sprint(p.ShortURLs.Pagination, p.ShortURLs.Data[0], p.ShortURLs.Data[29]), "{4 334 30 30 10001} {c09910} {c09881}")
	p = list("page=9&itemsPerPage=1000", 200)
	expect.Equal(t, fmt.Sprint(p.ShortURLs.Data[0], p.ShortURLs.Data[999]), "{c02000} {c01001}")
	list("page=11&itemsPerPage=1000", 400)
	list("orderBy=longUrl-ASC", 400)
	list("orderBy=shortCode-ASC&excludePastValidUntil=true", 400)
	p = list("orderBy=shortCode-ASC&tags[]=t3&page=2&itemsPerPage=5", 200)
	expect.Equal(t, fmt.Sprint(p.ShortURLs.Pagination, p.ShortURLs.Data), "{2 286 5 5 1429} [{c00038} {c00045} {c00052} {c00059} {c00066}]")
	st.call("DELETE", "/links/c00000", "").expect(t, "delete", 204)
	p = list("orderBy=shortCode-ASC&itemsPerPage=-1&page=10", 200)
	expect.Equal(t, fmt.Sprint(p.ShortURLs.Pagination, p.ShortURLs.Data[999]), "{10 10 1000 1000 10000} {c10000}")
	p = list("tags[]=t1&tags[]=t2&tagsMode=any&orderBy=longUrl-DESC&itemsPerPage=2", 200)
	expect.Equal(t, fmt.Sprint(p.ShortURLs.Pagination, p.ShortURLs.Data), "{1 1429 2 2 2858} [{c09998} {c09997}]")
	r := st.shlink(st.token, "GET", "/v3/tags/stats?itemsPerPage=2", "")
	r.expect(t, "figures of tags", 200, `{"tag":"all","shortUrlsCount":10000,`, `"totalItems":8}`)
}

// TestTheShlinkDoorListsAnyNumberOfShortURLs reads more than 10,000 page by page, as Shlink's own importer does, and
// other systems.
func TestTheShlinkDoorListsAnyNumberOfShortURLs(t *testing.T) {
	st := newSite(t, func(o *Options) { o.Doors = []string{"shlink", "yourls"} })
	const links = 10_900
	for made := 0; made < links; made += 100 {
		_, _, r := st.bulk("application/x-ndjson", strings.Repeat(`{"url":"https://a.example/","tags":["t"]}`+"\n", 100), fmt.Sprint("Idempotency-Key: ", made))
		r.need(t, "", 200)
	}
	other := st.member("other@example.com")
	type page struct {
		ShortURLs struct {
			Data       []struct{ ShortCode, DateCreated string }
			Pagination struct{ PagesCount, TotalItems int }
		}
	}
	read := func(key, order string, number int) (p page, r reply) {
		r = st.shlink(key, "GET", fmt.Sprintf("/v3/short-urls?itemsPerPage=500&orderBy=%s&page=%d", order, number), "")
		expect.OK(t, json.Unmarshal([]byte(r.body), &p))
		return p, r
	}
	_, r := read(st.token, "shortCode-ASC", 22)
	expect.That(t, r.status == 400 && strings.Contains(r.body, "follow a page that was just read"), "the last page at once: got %d %s", r.status, r.body)
	for _, order := range []string{"shortCode-ASC", "shortCode-DESC", "dateCreated-DESC", "dateCreated-ASC"} {
		var codes []string
		for number := 1; number <= 22; number++ {
			p, r := read(st.token, order, number)
			expect.MustThat(t, r.status == 200 && p.ShortURLs.Pagination.TotalItems == links && p.ShortURLs.Pagination.PagesCount == 22, "%s, page %d: got %d %.300s", order, number, r.status, r.body)
			for _, one := range p.ShortURLs.Data {
				codes = append(codes, one.ShortCode)
			}
		}
		sorted := slices.Sorted(slices.Values(codes))
		expect.Equal(t, len(slices.Compact(slices.Clone(sorted))), links, order+": different short URLs")
		switch order {
		case "shortCode-DESC":
			slices.Reverse(sorted)
			fallthrough
		case "shortCode-ASC":
			expect.That(t, slices.Equal(codes, sorted), "%s: another order", order)
		}
		_, again := read(st.token, order, 22)
		expect.Equal(t, again.status, 200, order+": the last page again")
		foreign, _ := read(other, order, 22)
		expect.Equal(t, len(foreign.ShortURLs.Data), 0, order+": the last page for somebody else")
	}
	st.shlink(st.token, "GET", "/v3/short-urls?orderBy=title-ASC", "").expect(t, "an order that is not kept", 400)
	st.call("GET", "/links?sort=code", "").expect(t, "the API", fieldsOf("sort:range"))

	stats := st.get("/yourls-api.php?action=stats&format=json&filter=last&limit=2500&signature=" + st.token)
	expect.That(t, stats.status == 200 && strings.Contains(stats.body, `"link_2500":`) && !strings.Contains(stats.body, `"link_2501":`), "YOURLS' list of 2,500: got %d %.300s", stats.status, stats.body)
}
