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
	"time"

	"shunt/engine/expect"
	"shunt/storage"
)

// Links of tests and benchmarks. A browser on Linux that wants English meets no condition of linkOfRules.
const (
	linkOfRules = `{"url":"http://a/","alias":"rules","forward_query":true,"rules":[` +
		`{"url":"https://rule.example/ios","conditions":[{"type":"device","match_value":"ios"}]},` +
		`{"url":"https://rule.example/de","conditions":[{"type":"language","match_value":"de"},{"type":"device","match_value":"desktop"}]},` +
		`{"url":"https://rule.example/print?a=ä","conditions":[{"type":"query-param","match_key":"utm_source","match_value":"print"}]},` +
		`{"url":"https://rule.example/ten","conditions":[{"type":"ip-address","match_value":"10.0.0.0/8"},{"type":"before-date","match_value":"2026-02-01"}]}]}`
	linkOfSplit = `{"url":"http://a/","alias":"split","redirect_status":301,"split":[{"url":"https://split.example/a","weight":70},{"url":"https://split.example/b","weight":30}]}`
)

const (
	anIPhone = "User-Agent: Mozilla/5.0 (iPhone; CPU iPhone OS 17_5_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1"
	aBot     = "User-Agent: Twitterbot/1.0"
)

func location(answer string) string {
	_, after, _ := strings.Cut(answer, "\r\nLocation: ")
	at, _, _ := strings.Cut(after, "\r\n")
	return at
}

func TestRulesSendVisitorsElsewhereThroughEveryDoor(t *testing.T) {
	everyDoor(t, func(o *Options) { o.TrustedProxies, o.CountryHeader = nil, "" }, func(t *testing.T, st *site, dial func() net.Conn) {
		st.shorten(linkOfRules)
		ask := func(method, path string, lines ...string) string {
			return answered(t, dial(), requestText(method, path, "", lines...))
		}
		for name, c := range map[string]struct {
			path  string
			lines []string
			want  string
		}{
			"no rule":                   {"/rules", []string{browser}, "http://a/"},
			"no rule, with a query":     {"/rules?b=c", []string{browser}, "http://a/?b=c"},
			"a device":                  {"/rules", []string{anIPhone}, "https://rule.example/ios"},
			"the first of two":          {"/rules", []string{anIPhone, "Accept-Language: de"}, "https://rule.example/ios"},
			"a language":                {"/rules", []string{browser, "Accept-Language: en,DE;q=0.9"}, "https://rule.example/de"},
			"in a second line":          {"/rules", []string{browser, "Accept-Language: en", "accept-language:  de"}, "https://rule.example/de"},
			"below 0.9":                 {"/rules", []string{browser, "Accept-Language: en,de;q=0.8"}, "http://a/"},
			"a language, no User-Agent": {"/rules", []string{"Accept-Language: de"}, "http://a/"},
			"a query, passed on":        {"/rules?x&utm_source=%70rint", []string{browser}, "https://rule.example/print?a=%C3%A4&x&utm_source=%70rint"},
			"a forged address":          {"/rules", []string{browser, "X-Forwarded-For: 10.1.2.3"}, "http://a/"},
			"a bot":                     {"/rules?utm_source=print", []string{aBot}, "https://rule.example/print?a=%C3%A4&utm_source=print"},
		} {
			for _, method := range []string{"GET", "HEAD"} {
				got := ask(method, c.path, c.lines...)
				expect.That(t, location(got) == c.want && strings.Contains(got, "\r\nCache-Control: private, no-store\r\n"), "%s of %s: got\n%s, want %s", method, name, got, c.want)
			}
			got := ask("GET", c.path, append(c.lines, prefetchLines[0])...)
			expect.That(t, strings.HasPrefix(got, "HTTP/1.1 503 ") && location(got) == "", "a prefetch of %s: got\n%s", name, got)
		}
	})
}

func TestARuleOfNetworksBelievesTrustedProxiesOnly(t *testing.T) {
	st := newSite(t, func(o *Options) { o.TrustedProxies, o.CountryHeader = someProxies.Trusted, "CF-IPCountry" })
	st.shorten(`{"url":"http://a/","alias":"x","rules":[` +
		`{"url":"http://at.example/","conditions":[{"type":"geolocation-country-code","match_value":"at"}]},` +
		`{"url":"http://net.example/","conditions":[{"type":"ip-address","match_value":"192.0.2.*"}]},` +
		`{"url":"http://six.example/","conditions":[{"type":"ip-address","match_value":"2001:DB8::/32"}]}]}`)
	for _, c := range []struct {
		from, line, want string
	}{
		{"10.0.0.1", "X-Forwarded-For: 192.0.2.7", "http://net.example/"}, {"10.0.0.1", "X-Forwarded-For: 2001:db8::7", "http://six.example/"},
		{"10.0.0.1", "CF-IPCountry: AT", "http://at.example/"}, {"198.51.100.1", "X-Forwarded-For: 192.0.2.7", "http://a/"},
		{"198.51.100.1", "CF-IPCountry: AT", "http://a/"}, {"192.0.2.7", "X: y", "http://net.example/"},
	} {
		for _, agent := range []string{browser, aBot} {
			r := send(t, st.from(c.from), "GET", requestText("GET", "/x", "", agent, c.line))
			expect.Equal(t, r.header.Get("Location"), c.want, "%s from %s", c.line, c.from)
		}
	}
	st.call("GET", "/links/x", "").expect(t, "as they are shown", `"match_value":"AT"`, `"match_value":"192.0.2.0/24"`, `"match_value":"2001:db8::/32"`, without("warnings"))
}

// The chosen target is the one that is blocked, that gets the query and the path, and whose state decides.
func TestWhatFollowsAChoiceIsAboutTheChosenTarget(t *testing.T) {
	everyDoor(t, func(o *Options) { blocking(t, o, "bad.example\n") }, func(t *testing.T, st *site, dial func() net.Conn) {
		expect.OK(t, expect.Err(st.targets.Blocked.Replace(nil))) // until the links are made
		for alias, fields := range map[string]string{
			"bad-rule": `"url":"http://a/","rules":[{"url":"http://bad.example/","conditions":[` + iOS + `]}]`,
			"bad-own":  `"url":"http://bad.example/","expires_at":"2026-01-02T03:05:00Z","rules":[{"url":"http://good.example/","conditions":[` + iOS + `]}]`,
			"off":      `"url":"http://a/","disabled":true,"rules":[` + someRule + `]`,
			"over":     `"url":"http://a/","expires_at":"2026-01-02T03:05:00Z","expired_url":"http://over/","rules":[` + someRule + `]`,
			"soon":     `"url":"http://a/","starts_at":"2027-01-01","rules":[` + someRule + `]`,
			"on":       `"url":"http://a/x","query":"keep","forward_path":true,"redirect_status":308,"rules":[{"url":"http://good.example/y?q=1#f","conditions":[` + iOS + `]}]`,
			"used-up":  `"url":"http://a/","max_hits":1,"split":[{"url":"http://b/","weight":1},{"url":"http://c/","weight":1}]`,
			"too-long": `"url":"http://a/","forward_query":true,"rules":[{"url":"http://good.example/` + strings.Repeat("x", 8000) + `","conditions":[` + iOS + `]}]`,
		} {
			st.shorten(`{"alias":"` + alias + `",` + fields + `}`)
		}
		expect.OK(t, expect.Err(st.targets.Blocked.Replace([]byte("bad.example\n"))))
		status := func(path string, lines ...string) string {
			got := answered(t, dial(), requestText("GET", path, "", lines...))
			return strings.TrimSpace(got[len("HTTP/1.1 "):len("HTTP/1.1 302")] + " " + location(got))
		}
		for _, c := range []struct{ path, phone, other string }{
			{"/bad-rule", "403", "302 http://a/"}, {"/bad-own", "302 http://good.example/", "403"}, {"/off", "410", "410"}, {"/soon", "404", "404"},
			{"/on/z?q=2&r", "308 http://good.example/y/z?q=1&r#f", "308 http://a/x/z?q=2&r"}, {"/too-long?" + strings.Repeat("x", 300), "414", "302 http://a/?" + strings.Repeat("x", 300)},
		} {
			expect.Equal(t, status(c.path, anIPhone), c.phone, "an iPhone at %.30s", c.path)
			expect.Equal(t, status(c.path, browser), c.other, "another at %.30s", c.path)
		}
		expect.That(t, strings.HasPrefix(status("/used-up", browser), "302 http://"), "the last hit")
		expect.Equal(t, status("/used-up", browser), "410")
		st.now.Add(60_000)
		expect.Equal(t, status("/over", anIPhone), "302 http://over/")
		expect.Equal(t, status("/bad-own", anIPhone), "410")
		st.wantState("bad-rule", "active")
	})
}

func TestASplitGivesAVisitorTheSameTargetEachTimeOnEveryServer(t *testing.T) {
	key := [16]byte{7}
	one := loaded(t, unloadedSiteOn(t, storage.Options{VisitorKey: &key}, nil, nil))
	other := loaded(t, unloadedSiteOn(t, storage.Options{VisitorKey: &key}, nil, throughFasthttp(nil)))
	for _, st := range []*site{one, other} {
		st.shorten(linkOfSplit)
	}
	got := make(map[string]int)
	for i := range 60 {
		agent := fmt.Sprintf("%s visitor/%d", browser, i)
		first := one.get("/split", agent)
		want := first.header.Get("Location")
		got[want]++
		expect.That(t, first.status == 301 && first.header.Get("Cache-Control") == "private, no-store", "got %+v", first)
		head := send(t, one.publicAt, "HEAD", requestText("HEAD", "/split", "", agent))
		for _, again := range []reply{one.get("/split", agent), other.get("/split", agent), head} {
			expect.Equal(t, again.header.Get("Location"), want, "again, visitor %d", i)
		}
		one.get("/split", agent, prefetchLines[0]).expect(t, "a prefetch", 503)
		one.get("/split", aBot, fmt.Sprint("Accept: ", i)).expect(t, "a bot", header("Location", "http://a/"))
	}
	a, b := got["https://split.example/a"], got["https://split.example/b"]
	expect.That(t, a+b == 60 && a > 25 && b > 5, "got %v", got)
	one.call("PATCH", "/links/split", `{"title":"t"}`).need(t, "", 200)
	one.call("POST", "/links/split/reset", "").need(t, "", 200)
	one.get("/split", browser).expect(t, "after a reset", 301)
}

// A visitor gets the same target ten thousand times, and other weights move a tenth of all visitors, all of them to the
// share that has grown. The key of visitors is fixed, so all doors must send each of them to the same target.
func TestOtherWeightsMoveOnlyTheDifferenceThroughEveryDoor(t *testing.T) {
	expect.Long(t)
	t.Parallel()
	const n = 10_000
	visitors, oneVisitor := make([]string, n), make([]string, n)
	for i := range visitors {
		visitors[i] = requestText("GET", "/split", "", browser, fmt.Sprintf("X-Forwarded-For: 192.0.%d.%d", i>>8, i&0xff))
		oneVisitor[i] = visitors[0]
	}
	key := [16]byte{40}
	var everywhere []string
	for _, d := range doors {
		t.Run("door="+d.name, func(t *testing.T) {
			st := loaded(t, unloadedSiteOn(t, storage.Options{VisitorKey: &key}, nil, d.options(func(o *Options) {
				o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
			})))
			dial := d.open(t, st)
			st.shorten(linkOfSplit)
			before := locations(t, dial, visitors)
			if everywhere == nil {
				everywhere = before
			}
			expect.That(t, slices.Equal(before, everywhere), "visitors are sent elsewhere than through the first door")
			first := len(slices.DeleteFunc(slices.Clone(before), func(to string) bool { return to != "https://split.example/a" }))
			expect.That(t, 6900 <= first && first <= 7100, "%d of 10,000 visitors got the target with 70 %%", first)
			again := slices.Compact(locations(t, dial, oneVisitor))
			expect.That(t, len(again) == 1 && again[0] == before[0], "one visitor was sent to %v, and at first to %s", again, before[0])
			st.call("PATCH", "/links/split", `{"split":[{"url":"https://split.example/a","weight":60},{"url":"https://split.example/b","weight":40}]}`).need(t, "", 200)
			moved := 0
			for i, to := range locations(t, dial, visitors) {
				if to != before[i] {
					moved++
					expect.That(t, to == "https://split.example/b", "visitor %d moved to %s", i, to)
				}
			}
			expect.That(t, 900 <= moved && moved <= 1100, "%d of 10,000 visitors moved, want a tenth", moved)
			st.call("GET", "/stats/split", "").expect(t, "hits", 200, `"hits":30000,`)
		})
	}
}

// locations sends requests on some connections, many at a time on each, and returns where the answers lead.
func locations(t *testing.T, dial func() net.Conn, requests []string) (to []string) {
	t.Helper()
	const together = 500
	for some := range slices.Chunk(requests, together) {
		c := dial()
		go io.WriteString(c, strings.Join(some, ""))
		r := bufio.NewReader(c)
		for range some {
			answer := readReply(t, r, "GET")
			expect.MustEqual(t, answer.status, 301, "the status")
			to = append(to, answer.header.Get("Location"))
		}
		expect.NoError(t, c.Close())
	}
	return to
}

func TestAPreviewShowsTheOwnTargetAndTheHostsOfOthers(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(linkOfRules)
	st.get("/rules+", anIPhone).expect(t, "", 200, ">http://a/<", "rule.example", without("/ios"), without("print"))
	st.get("/rules.svg", anIPhone).expect(t, "a QR code", 200)
}

// numbersOf returns the numbers of the targets in a link object.
func numbersOf(t *testing.T, object string) string {
	t.Helper()
	var link struct {
		Rules, Split []struct{ Target uint8 }
	}
	expect.OK(t, json.Unmarshal([]byte(object), &link), object)
	var numbers []uint8
	for _, target := range slices.Concat(link.Rules, link.Split) {
		numbers = append(numbers, target.Target)
	}
	return fmt.Sprint(numbers)
}

func TestEditsKeepTheNumbersOfTargets(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	rule := func(url, device string) string {
		return `{"url":"` + url + `","conditions":[{"type":"device","match_value":"` + device + `"}]}`
	}
	for i, c := range []struct{ patch, want string }{
		{`{"rules":[` + rule("http://b/", "ios") + `,` + rule("http://c/", "android") + `]}`, "[2 3]"},
		{`{"title":"T"}`, "[2 3]"},
		{`{"rules":[` + rule("http://c/", "ios") + `,` + rule("http://d/", "ios") + `]}`, "[3 4]"},
		{`{"split":[{"url":"http://e/","weight":1},{"url":"http://f/","weight":1}]}`, "[3 4 5 6]"},
		{`{"url":"http://z/","rules":null,"split":[{"url":"http://f/","weight":9},{"url":"http://e/","weight":1}]}`, "[6 5]"},
		{`{"split":null}`, "[]"},
		{`{"rules":[` + rule("http://b/", "ios") + `]}`, "[9]"}, // 7 was that of http://z/, which has 8 now
	} {
		r := st.call("PATCH", "/links/x", c.patch)
		r.need(t, c.patch, 200)
		expect.Equal(t, numbersOf(t, r.body), c.want, "patch %d", i)
		expect.Equal(t, numbersOf(t, st.call("GET", "/links/x", "").body), c.want, "patch %d, read", i)
	}
	object := st.call("GET", "/links/x", "")
	st.call("PATCH", "/links/x", object.body).expect(t, "as it was read", 200, header("ETag", object.header.Get("ETag")))
}

func TestThe256thTargetOfALinkIsRefused(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	patch := func(from, n int) reply {
		var rules []string
		for i := range n {
			rules = append(rules, fmt.Sprintf(`{"url":"http://a/%d","conditions":[%s]}`, from+i, iOS))
		}
		return st.call("PATCH", "/links/x", `{"rules":[`+strings.Join(rules, ",")+`]}`)
	}
	for from := 0; from < 224; from += 32 {
		patch(from, 32).need(t, "rules", 200)
	}
	patch(224, 30).need(t, "the numbers up to 255", 200, `"target":255`)
	before := st.call("GET", "/links/x", "").body
	r := patch(254, 1)
	expect.That(t, r.status == 422 && r.fields() == "rules:too_many", "got %d %s", r.status, r.body)
	expect.Equal(t, st.call("GET", "/links/x", "").body, before, "the link")
	patch(230, 3).expect(t, "targets that it has", 200)
}

func TestRulesThatMatchNobodyAreWarnedOf(t *testing.T) {
	st := newSite(t, nil)
	const rules = `"rules":[{"url":"http://b/","conditions":[{"type":"device","match_value":"ios"},{"type":"geolocation-country-code","match_value":"DE"}]},` +
		`{"url":"http://c/","conditions":[{"type":"before-date","match_value":"2026-01-02"}]},{"url":"http://d/","conditions":[{"type":"before-date","match_value":"2026-01-02T00:00Z"}]},` +
		`{"url":"http://e/","conditions":[{"type":"device","match_value":"ios"},{"type":"device","match_value":"android"}]},` +
		`{"url":"http://f/","conditions":[{"type":"after-date","match_value":"2026-01-01"}]},{"url":"http://g/","conditions":[{"type":"device","match_value":"ios"}]}]`
	made := st.call("POST", "/shorten", `{"url":"http://a/","alias":"x",`+rules+`}`)
	made.need(t, "", 201, `"warnings":[`, `"field":"rules[0].conditions[1]","code":"no_countries"`, `"field":"rules[1].conditions[0]","code":"past"`,
		`"field":"rules[3].conditions[1]","code":"contradiction"`, `"field":"rules[5]","code":"unreachable"`)
	st.call("PATCH", "/links/x", made.body).expect(t, "as it was made", 200, `"warnings":[`)
	read := st.call("GET", "/links/x", "")
	read.expect(t, "read", 200, without("warnings"))
	st.call("PATCH", "/links/x", read.body).expect(t, "as it was read", 200)
	st.call("GET", "/links", "").expect(t, "a list", 200, `"rules":[`, without("warnings"))
	st.call("GET", "/export", "").expect(t, "an export", 200, `"rules":[`, without("warnings"))
	st.call("POST", "/shorten/bulk", `[{"url":"http://a/",`+rules+`}]`).expect(t, "a bulk", 200, `"warnings":[`)
	expect.Equal(t, strings.Count(made.body, `"code":"past"`), 2, "that have passed")
	st.get("/x", anIPhone).expect(t, "", header("Location", "http://f/"))
	st.call("PATCH", "/links/x", `{"rules":[`+someRule+`]}`).expect(t, "without them", 200, without("warnings"))
}

func TestTheAuditLogShowsRulesWithinBounds(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	st.call("PATCH", "/links/x", `{"rules":[`+someRule+`]}`).need(t, "", 200)
	st.call("PATCH", "/links/x", `{"rules":[`+strings.Repeat(someRule+",", 31)+`{"url":"http://b/`+strings.Repeat("x", 7000)+`","conditions":[`+iOS+`]}]}`).need(t, "", 200)
	r := st.call("GET", "/audit?code=x", "")
	r.expect(t, "", 200, `"before":{"rules":[]},"after":{"rules":[{"url":"http://a/"`, `"rules":"32 items of `)
	expect.That(t, len(r.body) < 4000, "the page has %d bytes", len(r.body))
}

// A form sends only what its visitor has touched.
func TestADashboardFormKeepsRulesAndSplit(t *testing.T) {
	st, b := withX(t, `"split":[{"url":"http://s/","weight":1},{"url":"http://t/","weight":2}],"rules":[`+someRule+`]`)
	before := st.call("GET", "/links/x?owner=all", "").body
	st.now.Add(time.Minute.Milliseconds())
	b.follow(b.open(editX).form(editX).with("title", "Spring")).want("The link is saved.")
	after := st.call("GET", "/links/x?owner=all", "").body
	expect.Equal(t, field(t, after, "title"), `"Spring"`)
	for _, name := range []string{"rules", "split"} {
		expect.Equal(t, field(t, after, name), field(t, before, name), name)
	}
}

// BenchmarkChoice measures answerPlain for a link with one target, without and with a query that is forwarded, with
// four rules and such a query of which the browser meets the third or none, and with a split. Requests of one
// connection have the same fields, so the visitor is known from the one before; memo=off forgets that.
func BenchmarkChoice(b *testing.B) {
	const last = "&utm_source=print"
	lines := []string{
		browser, "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "Accept-Language: en-US,en;q=0.5",
		"Accept-Encoding: gzip, deflate, br, zstd", "Connection: keep-alive", "Upgrade-Insecure-Requests: 1",
	}
	for _, c := range []struct{ name, path, want string }{
		{"link=plain", "/plain?a=b" + last, "http://a/"}, {"link=forwarding", "/forwarding?a=b", "http://a/?a=b"}, {"link=rules/met=none", "/rules?a=b", "http://a/?a=b"},
		{"link=rules/met=third", "/rules?a=b" + last, "https://rule.example/print?a=%C3%A4&a=b" + last}, {"link=split", "/split?a=b" + last, "https://split.example/"},
	} {
		for _, memo := range []string{"on", "off"} {
			b.Run(c.name+"/memo="+memo, func(b *testing.B) {
				st := newSite(b, func(o *Options) { o.Now = nil })
				st.shorten(`{"url":"http://a/","alias":"plain"}`)
				st.shorten(`{"url":"http://a/","alias":"forwarding","forward_query":true}`)
				st.shorten(linkOfRules)
				st.shorten(linkOfSplit)
				r := plainOf(b, st, "192.0.2.77", requestText("GET", c.path, "", lines...))
				out := make([]byte, 0, 4096)
				b.ReportAllocs()
				for b.Loop() {
					if memo == "off" {
						r.Memo = [2]uint64{}
					}
					out = st.front.answerPlain(out[:0], r)
				}
				expect.That(b, strings.HasPrefix(location(string(out)), c.want), "got %s", out)
			})
		}
	}
}
