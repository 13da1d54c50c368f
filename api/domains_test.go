package api

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"shunt/api/account"
	"shunt/api/domain"
	"shunt/engine/expect"
)

// addDomain adds a domain to st.
func (st *site) addDomain(one domain.Domain) {
	st.t.Helper()
	expect.OK(st.t, expect.Err(st.domains.Add(account.Caller{}, one, st.targets)))
}

// withThree adds two domains to st, and a link x to each of the three.
func (st *site) withThree() {
	st.t.Helper()
	st.addDomain(domain.Domain{Host: "a.test"})
	st.addDomain(domain.Domain{Host: "b.test", Aliases: []string{"www.b.test"}})
	for host, to := range map[string]string{"127.0.0.1": "default", "a.test": "a", "b.test": "b"} {
		st.call("POST", "/shorten", fmt.Sprintf(`{"url":"https://%s.example/","alias":"x","domain":%q}`, to, host)).need(st.t, host, 201)
	}
}

// askAs sends a request for a path with a Host.
func askAs(t *testing.T, dial func() net.Conn, host, path string) reply {
	t.Helper()
	return sendOn(t, dial, "GET "+path+" HTTP/1.1\r\nHost: "+host+"\r\n\r\n")
}

// sendOn sends a GET request over a new connection.
func sendOn(t *testing.T, dial func() net.Conn, raw string) reply {
	t.Helper()
	c := dial()
	defer c.Close()
	expect.OK(t, expect.Err(io.WriteString(c, raw)))
	return readReply(t, bufio.NewReader(c), "GET")
}

// TestEachDomainHasItsOwnLinks asks for one code on three domains, by every door and in every form of a host.
func TestEachDomainHasItsOwnLinks(t *testing.T) {
	everyDoor(t, nil, func(t *testing.T, st *site, dial func() net.Conn) {
		st.withThree()
		for raw, want := range map[string]string{
			"GET /x HTTP/1.1\r\nHost: a.test\r\n\r\n":                             "a",
			"GET /x HTTP/1.1\r\nHost: B.TEST.:8443\r\n\r\n":                       "b",
			"GET /x HTTP/1.1\r\nHost: www.b.test\r\n\r\n":                         "b",
			"GET /x HTTP/1.1\r\nHost: [::1]\r\n\r\n":                              "default",
			"GET /x HTTP/1.1\r\nHost: unknown.test\r\n\r\n":                       "default",
			"GET /x HTTP/1.0\r\n\r\n":                                             "default",
			"GET http://b.test/x HTTP/1.1\r\nHost: a.test\r\n\r\n":                "b",
			"GET http://B.test:80/x HTTP/1.1\r\nHost: q.test\r\n\r\n":             "b",
			"GET /x HTTP/1.1\r\nHost: a.test\r\nX-Forwarded-Host: b.test\r\n\r\n": "a",
		} {
			c := dial()
			expect.OK(t, expect.Err(io.WriteString(c, raw)))
			r := readReply(t, bufio.NewReader(c), "GET")
			c.Close()
			location := r.header.Get("Location")
			expect.That(t, r.status == 302 && location == "https://"+want+".example/", "%q: got %d %s, want that of %s", raw, r.status, location, want)
		}
		// A hundred at once, with the hosts in turn.
		c := dial()
		defer c.Close()
		hosts := []string{"a.test", "b.test", "other.test"}
		text := ""
		for i := range 100 {
			text += "GET /x HTTP/1.1\r\nHost: " + hosts[i%3] + "\r\n\r\n"
		}
		go io.WriteString(c, text)
		in := bufio.NewReader(c)
		for i := range 100 {
			want := "https://" + []string{"a", "b", "default"}[i%3] + ".example/"
			expect.Equal(t, readReply(t, in, "GET").header.Get("Location"), want, "request %d of a hundred", i)
		}
	})
}

// TestADomainShowsNothingOfOthers deletes a link of one domain, and asks others for what only the default one has.
func TestADomainShowsNothingOfOthers(t *testing.T) {
	everyDoor(t, nil, func(t *testing.T, st *site, dial func() net.Conn) {
		st.withThree()
		for _, host := range []string{"a.test", "b.test", "b.test"} {
			expect.Equal(t, askAs(t, dial, host, "/x").header.Get("Location"), "https://"+host[:1]+".example/", "before the link of a is deleted")
		}
		for host, hits := range map[string]int{"a.test": 1, "b.test": 2, "127.0.0.1": 0} {
			st.call("GET", "/stats/x?domain="+host, "").expect(t, "hits in "+host, 200, fmt.Sprintf(`{"hits":%d,`, hits))
		}
		st.call("DELETE", "/links/x?domain=a.test", "").need(t, "the link of a", 204)
		expect.Equal(t, askAs(t, dial, "a.test", "/x").status, 404, "the deleted link")
		expect.Equal(t, askAs(t, dial, "b.test", "/x").status, 302, "the link of b")
		st.call("GET", "/stats/x?domain=a.test", "").expect(t, "figures of the deleted link", 404)
		st.call("GET", "/stats/x?domain=b.test", "").expect(t, "the hits of b", 200, `{"hits":3,`)
		for _, path := range []string{"/x+", "/x.svg", "/x.png"} {
			expect.Equal(t, askAs(t, dial, "a.test", path).status, 404, "%s of a", path)
			expect.Equal(t, askAs(t, dial, "b.test", path).status, 200, "%s of b", path)
		}
		expect.That(t, strings.Contains(askAs(t, dial, "b.test", "/x+").body, "https://b.example/"), "the preview is of another domain")
		for _, path := range []string{"/api/v1/links", "/api/v1/openapi.json", "/_/", "/_/login", "/_/docs", "/.well-known/security.txt"} {
			expect.Equal(t, askAs(t, dial, "b.test", path).status, 404, "%s", path)
		}
		expect.Equal(t, askAs(t, dial, "b.test", "/").status, 200, "/")
		expect.Equal(t, askAs(t, dial, "b.test", "/robots.txt").status, 200, "/robots.txt")
	})
}

// TestATrustedProxyMayNameTheHost asks with X-Forwarded-Host: it counts if the setting is on and the peer is trusted.
func TestATrustedProxyMayNameTheHost(t *testing.T) {
	loopback, elsewhere := netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8")
	for name, c := range map[string]struct {
		header  string
		trusted netip.Prefix
		named   bool
	}{
		"trusted": {"X-Forwarded-Host", loopback, true}, "untrusted": {"X-Forwarded-Host", elsewhere, false}, "no setting": {"", loopback, false},
	} {
		t.Run(name, func(t *testing.T) {
			change := func(o *Options) { o.TrustedProxies, o.HostHeader = []netip.Prefix{c.trusted}, c.header }
			everyDoor(t, change, func(t *testing.T, st *site, dial func() net.Conn) {
				st.withThree()
				for raw, wants := range map[string][2]string{ // if the host is named, and if not
					"GET /x HTTP/1.1\r\nHost: a.test\r\nX-Forwarded-Host: b.test\r\n\r\n":                                {"b", "a"},
					"GET /x HTTP/1.1\r\nx-forwarded-host: B.test.:80\r\nHost: a.test\r\n\r\n":                            {"b", "a"},
					"GET /x HTTP/1.0\r\nX-Forwarded-Host: www.b.test\r\n\r\n":                                            {"b", "default"},
					"GET /x HTTP/1.1\r\nHost: a.test\r\nX-Forwarded-Host: b.test, unknown.test\r\n\r\n":                  {"default", "a"},
					"GET /x HTTP/1.1\r\nHost: a.test\r\nX-Forwarded-Host: a.test\r\nX-Forwarded-Host: q, b.test\r\n\r\n": {"b", "a"},
					"GET /x HTTP/1.1\r\nHost: a.test\r\nX-Forwarded-Host: https://b.test\r\n\r\n":                        {"a", "a"},
					"GET /x HTTP/1.1\r\nHost: a.test\r\nX-Forwarded-Host: b.test \xff\r\n\r\n":                           {"a", "a"},
					"GET /x HTTP/1.1\r\nHost: a.test\r\nX-Forwarded-Host:\r\n\r\n":                                       {"a", "a"},
					"GET http://unknown.test/x HTTP/1.1\r\nHost: a.test\r\nX-Forwarded-Host: b.test\r\n\r\n":             {"b", "default"},
				} {
					host := wants[1]
					if c.named {
						host = wants[0]
					}
					got := sendOn(t, dial, raw).header.Get("Location")
					expect.Equal(t, got, "https://"+host+".example/", "%q", raw)
				}
			})
		})
	}
}

// TestEverythingKnowsTheNamedHost asks for pages and fallbacks of a domain that only X-Forwarded-Host names.
func TestEverythingKnowsTheNamedHost(t *testing.T) {
	change := func(o *Options) {
		o.TrustedProxies, o.HostHeader = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, "X-Forwarded-Host"
	}
	everyDoor(t, change, func(t *testing.T, st *site, dial func() net.Conn) {
		st.withThree()
		st.addDomain(domain.Domain{Host: "c.test", Settings: domain.Settings{
			RootURL: "https://example.org/home", NotFoundURL: "https://example.org/find?q={path}", Robots: domain.RobotsNone,
		}})
		st.call("POST", "/shorten", `{"url":"https://c.example/","alias":"x","domain":"c.test","forward_path":true}`).need(t, "", 201)
		for _, target := range []string{"", "http://a.test"} {
			ask := func(path string) reply {
				return sendOn(t, dial, "GET "+target+path+" HTTP/1.1\r\nHost: a.test\r\nX-Forwarded-Host: c.test\r\n\r\n")
			}
			for path, want := range map[string]string{
				"/x": "https://c.example/", "/x/deep?y": "https://c.example/deep", "/x).": "https://c.example/",
				"/": "https://example.org/home", "/nobody": "https://example.org/find?q=nobody", "/no/body?z": "https://example.org/find?q=no/body",
			} {
				expect.Equal(t, ask(path).header.Get("Location"), want, "%s%s", target, path)
			}
			expect.Contains(t, ask("/x+").body, "c.example")
			expect.Equal(t, ask("/x.svg").body, sendOn(t, dial, "GET /x.svg HTTP/1.1\r\nHost: c.test\r\n\r\n").body, "the QR code")
			expect.Contains(t, ask("/robots.txt").body, "Disallow: /\n")
			expect.Equal(t, ask("/api/v1/links").status, 404, "the API")
		}
		st.call("GET", "/misses", "").expect(t, "misses", 200, `"domain":"c.test","code":"nobody","count":2`)
	})
}

// TestFallbacksOfADomain has a root, a place for unknown codes and one for links that are over.
func TestFallbacksOfADomain(t *testing.T) {
	everyDoor(t, nil, func(t *testing.T, st *site, dial func() net.Conn) {
		st.addDomain(domain.Domain{Host: "b.test", Settings: domain.Settings{
			RootURL: "https://example.org/home", NotFoundURL: "https://example.org/find?q={path}", ExpiredURL: "https://example.org/over", Robots: domain.RobotsNone,
		}})
		st.call("POST", "/shorten", `{"url":"https://b.example/","alias":"once","domain":"b.test","max_hits":1}`).need(t, "", 201)
		st.call("POST", "/shorten", `{"url":"https://b.example/","alias":"off","domain":"b.test","disabled":true}`).need(t, "", 201)
		for _, c := range []struct {
			path, location string
			status         int
		}{
			{"/", "https://example.org/home", 302},
			{"/nobody", "https://example.org/find?q=nobody", 302},
			{"/a/b%20c", "https://example.org/find?q=a/b%20c", 302},
			{"/once", "https://b.example/", 302},
			{"/once", "https://example.org/over", 302},
			{"/off", "", 410},
			{"/api/v1/links", "", 404},
		} {
			r := askAs(t, dial, "b.test", c.path)
			expect.That(t, r.status == c.status && r.header.Get("Location") == c.location, "%s: got %d %s, want %d %s", c.path, r.status, r.header.Get("Location"), c.status, c.location)
			if c.status == 302 && c.path != "/once" {
				expect.Equal(t, r.header.Get("Cache-Control"), "private, no-store", "%s", c.path)
			}
		}
		expect.That(t, strings.Contains(askAs(t, dial, "b.test", "/robots.txt").body, "Disallow: /\n"), "robots.txt lets robots in")
		expect.Equal(t, askAs(t, dial, "other.test", "/nobody").status, 404, "the default domain")
		st.call("GET", "/stats/once?domain=b.test", "").expect(t, "the hits", 200, `{"hits":1,"unique":1}`)
	})
}

// TestABlockedFallbackIsNotUsed blocks where unknown codes lead.
func TestABlockedFallbackIsNotUsed(t *testing.T) {
	var f *blockList
	st := newSite(t, func(o *Options) { f = blocking(t, o, "") })
	st.addDomain(domain.Domain{Host: "b.test", Settings: domain.Settings{NotFoundURL: "https://www.bad.example/"}})
	dial := doors[0].open(t, st)
	expect.Equal(t, askAs(t, dial, "b.test", "/nobody").status, 302, "before")
	f.write(t, "bad.example\n")
	expect.Equal(t, askAs(t, dial, "b.test", "/nobody").status, 404, "the answer")
}

// TestListsAndFiguresAreOfOneDomainOrAll has links of one user in three domains.
func TestListsAndFiguresAreOfOneDomainOrAll(t *testing.T) {
	st := newSite(t, nil)
	st.withThree()
	dial := doors[0].open(t, st)
	for host, n := range map[string]int{"a.test": 1, "b.test": 2, "other.test": 3} {
		for range n {
			askAs(t, dial, host, "/x")
		}
	}
	for _, sort := range []string{"", "&sort=hits", "&sort=created&order=asc", "&q=example"} {
		for _, owner := range []string{"", "&owner=all"} {
			for query, want := range map[string]int{"": 3, "&domain=b.test": 1, "&domain=www.b.test": 1, "&domain=127.0.0.1": 1} {
				r := st.call("GET", "/links?limit=2"+query+sort+owner, "")
				expect.Equal(t, strings.Count(r.body, `"code"`), min(want, 2), "%s%s%s: links on the first page", query, sort, owner)
				if want == 3 {
					next := nextCursor(t, r)
					r = st.call("GET", "/links?limit=2&cursor="+next+query+sort+owner, "")
					expect.Equal(t, strings.Count(r.body, `"code"`), 1, "%s%s: links on the second page", sort, owner)
				}
			}
		}
	}
	for query, want := range map[string]int{"": 6, "&domain=a.test": 1, "&domain=b.test": 2, "&domain=127.0.0.1": 3, "&owner=all": 6, "&owner=all&domain=b.test": 2} {
		r := st.call("GET", "/stats?from=2026-01-01"+query, "")
		expect.That(t, strings.HasPrefix(r.body, fmt.Sprintf(`{"hits":%d,`, want)), "%s: got %s, want %d hits", query, r.body, want)
	}
	st.call("GET", "/stats?top=2", "").expect(t, "the most-hit links", 200, `"top":[{"code":"x","hits":3,`, `{"domain":"b.test","code":"x","hits":2,`)
	st.call("GET", "/links?domain=nobody.test", "").expect(t, "an unknown domain", 422, fieldsOf("domain:unknown"))
	st.call("POST", "/shorten", `{"url":"https://a.example/","domain":"nobody.test"}`).expect(t, "an unknown domain", 422, fieldsOf("domain:unknown"))
	expect.That(t, strings.Contains(st.call("GET", "/export", "").body, `"domain":"b.test"`), "an export lacks the domain")
}

// TestMissesAreOfTheirDomain asks for an unknown code on two domains.
func TestMissesAreOfTheirDomain(t *testing.T) {
	st := newSite(t, nil)
	st.withThree()
	dial := doors[0].open(t, st)
	for _, host := range []string{"a.test", "a.test", "other.test"} {
		expect.Equal(t, askAs(t, dial, host, "/nix").status, 404, "%s", host)
	}
	st.call("GET", "/misses", "").expect(t, "misses", 200, `{"data":[{"domain":"a.test","code":"nix","count":2,"error":0},{"code":"nix","count":1,"error":0}],"total":3`)
}

// TestABulkOfSeveralDomainsIsRepeated makes links of one code in two domains by one request, twice with one key.
func TestABulkOfSeveralDomainsIsRepeated(t *testing.T) {
	st := newSite(t, nil)
	st.addDomain(domain.Domain{Host: "a.test"})
	st.addDomain(domain.Domain{Host: "b.test"})
	body := `[{"url":"https://a.example/","alias":"x","domain":"a.test"},{"url":"https://b.example/","alias":"x","domain":"b.test"}]`
	first := st.call("POST", "/shorten/bulk", body, "Idempotency-Key: one")
	expect.Equal(t, strings.Count(first.body, `"status":201`), 2, "links made")
	again := st.call("POST", "/shorten/bulk", body, "Idempotency-Key: one")
	expect.Equal(t, again.body, first.body, "the answer to the repeat")
	for _, host := range []string{"a.test", "b.test"} {
		st.call("GET", "/links/x?domain="+host, "").expect(t, host, 200, `"url":"https://`+host[:1]+`.example/"`)
	}
	audit := st.call("GET", "/audit", "").body
	expect.Equal(t, strings.Count(audit, `"action":"links.created"`), 1, "entries: %s", audit)
	expect.Contains(t, audit, `"counts":{"created":2,"existing":0,"failed":0}`)
}

// TestAnOwnTargetIsALoopOnEveryDomain refuses targets on registered hosts.
func TestAnOwnTargetIsALoopOnEveryDomain(t *testing.T) {
	st := newSite(t, nil)
	st.addDomain(domain.Domain{Host: "b.test"})
	for _, target := range []string{"https://b.test/x", "http://B.test:8080/", "http://b.test:80/y"} {
		st.call("POST", "/shorten", fmt.Sprintf(`{"url":%q}`, target)).expect(t, target, 422, fieldsOf("url:own_origin"))
	}
	st.call("POST", "/shorten", `{"url":"https://b.test:9999/x"}`).expect(t, "another port", 201)
}

// nextCursor returns the cursor in the answer of a list.
func nextCursor(t *testing.T, r reply) string {
	t.Helper()
	var page struct {
		Next string `json:"next_cursor"`
	}
	expect.OK(t, json.Unmarshal([]byte(r.body), &page))
	return page.Next
}

// TestAnExportOfADomainHasTheLinksOfAllItsOwners exports a domain in which two users have links.
func TestAnExportOfADomainHasTheLinksOfAllItsOwners(t *testing.T) {
	st := newSite(t, nil)
	st.withThree()
	st.callAs(st.member("ann@example.com"), "POST", "/shorten", `{"url":"https://ann.example/","alias":"of-ann","domain":"b.test"}`).need(t, "", 201)
	expect.Slices(t, codesIn(t, st.call("GET", "/export?owner=all&domain=b.test", "")), []string{"b.test/of-ann", "b.test/x"}, "of b")
	expect.Slices(t, codesIn(t, st.call("GET", "/export?owner=all&domain=127.0.0.1", "")), []string{"/x"}, "of the default domain")
}

// TestTheDomainAfterTheThousandthIsRefused fills a server with domains, and tries each way to add one more.
func TestTheDomainAfterTheThousandthIsRefused(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"https://default.example/","alias":"x"}`)
	for i := range domain.MaxDomains {
		st.addDomain(domain.Domain{Host: fmt.Sprintf("h%d.test", i)})
	}
	dial := doors[0].open(t, st)
	b := st.browseAs("boss@example.com", account.RoleAdmin)
	const why = "here are 1000 domains already, which is the limit"
	now := func() string {
		return st.call("GET", "/domains", "").body + st.call("GET", "/audit?limit=1", "").body + askAs(t, dial, "more.test", "/x").header.Get("Location")
	}
	before := now()
	expect.Equal(t, strings.Count(before, `"default":`), domain.MaxDomains+1, "domains")
	st.call("POST", "/domains", `{"host":"more.test","aliases":["www.more.test"]}`).expect(t, "one more", 422, fieldsOf("host:too_many"), "t"+why)
	st.call("POST", "/import?create_domains=true", `[{"code":"y","url":"https://y.example/","domain":"more.test"}]`).
		expect(t, "one more by an import", 200, `{"created":0,"existing":0,"failed":1,`, "cannot be added: t"+why)
	refused := b.submit(b.open("/_/domains").form("/_/domains").with("host", "more.test"))
	refused.want("T" + why)
	expect.Equal(t, refused.status, 422, "one more by the page")
	expect.That(t, now() == before, "a refused domain has changed something")

	st.call("PATCH", "/domains/h7.test", `{"aliases":["www.h7.test"]}`).expect(t, "an alias of one that is there", 200)
	st.call("DELETE", "/domains/h8.test", "").need(t, "one less", 204)
	st.call("POST", "/domains", `{"host":"more.test"}`).expect(t, "one in its place", 201)
	st.call("POST", "/domains", `{"host":"h8.test"}`).expect(t, "one more again", 422, fieldsOf("host:too_many"))
}

// TestAnUnknownDomainIsNamed asks each call that takes a domain for one that is not there, in its query and in its
// body, and each page.
func TestAnUnknownDomainIsNamed(t *testing.T) {
	st, b, _ := twins(t)
	const named = `\"Nobody.test\" is not a domain of this server`
	asked := 0
	for route, names := range parametersOf(t) {
		if !slices.Contains(names, "domain") {
			continue
		}
		method, path, _ := strings.Cut(strings.NewReplacer("{code}", "twin", "{tag}", "t").Replace(route), " ")
		body := ""
		if bodies := leakBodies[route]; len(bodies) > 0 {
			body = bodies[0]
		}
		st.call(method, path+"?domain=Nobody.test", body).expect(t, route, 422, fieldsOf("domain:unknown"), named)
		asked++
	}
	expect.That(t, asked >= 15, "only %d calls take a domain", asked)
	for request, wants := range map[string][]string{
		`POST /shorten {"url":"https://u.example/","domain":"Nobody.test"}`: {named},
		`POST /shorten/bulk [{"url":"https://u.example/","domain":"one.test"},{"url":"https://u.example/","domain":"two.test"}]`: {
			`\"one.test\" is not a domain of this server`, `\"two.test\" is not a domain of this server`,
		},
		`POST /import [{"url":"https://u.example/","code":"u","domain":"Nobody.test"}]`:                 {named},
		`POST /tokens {"name":"n","domains":["b.test","Nobody.test"]}`:                                  {`"domains[1]"`, named},
		`POST /users {"email":"x@example.com","domains":["Nobody.test"]}`:                               {`"domains[0]"`, named},
		`POST /shorten {"url":"https://u.example/","domain":"` + strings.Repeat("long.", 60) + `test"}`: {`"message":"is not a domain of this server"`},
	} {
		method, rest, _ := strings.Cut(request, " ")
		path, body, _ := strings.Cut(rest, " ")
		r := st.call(method, path, body)
		for _, want := range wants {
			expect.That(t, strings.Contains(r.body, want), "%s: got %d %s, want %s", request, r.status, r.body, want)
		}
	}
	for _, path := range []string{
		"/_/?", "/_/links?", "/_/tags?", "/_/audit?", "/_/misses?", "/_/by?referrer=direct&", "/_/tags/figures?tag=t&", "/_/compare?codes=twin,other&", "/_/links/export?", "/_/link/twin?",
		"/_/link/twin/edit?",
	} {
		page := b.get(path + "domain=Nobody.test")
		expect.That(t, page.status == 422 && strings.Contains(page.text(), `"Nobody.test" is not a domain of this server`), "%s: got %d %s", path, page.status, page.text())
	}
}

// TestAnExactCodeIsFirstOfWhateverDomain looks in a list of all domains for codes of some; the one that is meant
// without a name comes first, and a short address names its domain.
func TestAnExactCodeIsFirstOfWhateverDomain(t *testing.T) {
	st := newSite(t, nil)
	st.addDomain(domain.Domain{Host: "a.test"})
	st.addDomain(domain.Domain{Host: "b.test"})
	for _, fields := range []string{
		`"alias":"x","domain":"b.test"`, `"alias":"x","domain":"127.0.0.1"`, `"alias":"x","domain":"a.test"`, `"alias":"y","domain":"b.test"`,
		`"alias":"yes","domain":"a.test"`, `"alias":"my"`,
	} {
		st.call("POST", "/shorten", `{"url":"https://y.example/x",`+fields+`}`).need(t, fields, 201)
	}
	for path, want := range map[string]string{
		"q=y":                         "b.test/y /my a.test/yes a.test/x /x b.test/x",
		"q=x":                         "/x a.test/x b.test/x /my a.test/yes b.test/y",
		"q=x&limit=2":                 "/x a.test/x",
		"q=x&domain=a.test":           "a.test/x a.test/yes",
		"q=b.test/x":                  "b.test/x /my a.test/yes b.test/y a.test/x /x",
		"q=127.0.0.1:8080/x":          "/x /my a.test/yes b.test/y a.test/x b.test/x",
		"q=X&sort=created&order=asc":  "/x a.test/x b.test/x b.test/y a.test/yes /my",
		"q=yes&sort=hits&owner=all":   "a.test/yes",
		"q=y&sort=visitors&order=asc": "b.test/y b.test/x /x a.test/x a.test/yes /my",
	} {
		var page struct {
			Data []struct{ Domain, Code string }
		}
		r := st.call("GET", "/links?"+path, "")
		r.need(t, path, 200)
		expect.OK(t, json.Unmarshal([]byte(r.body), &page))
		var got []string
		for _, l := range page.Data {
			got = append(got, l.Domain+"/"+l.Code)
		}
		expect.Equal(t, strings.Join(got, " "), want, path)
	}
}
