package api

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/limit"
	"shunt/api/public"
	"shunt/api/redirect"
	"shunt/api/wire"
	"shunt/api/wire/http1"
	"shunt/engine/expect"
)

func TestAPlainRedirectHasFasthttpsBytes(t *testing.T) {
	d := newTwoDoors(t, func(o *Options) { o.TrustedProxies, o.CountryHeader = someProxies.Trusted, "CF-IPCountry" })
	d.both(func(st *site) {
		for _, status := range redirect.Statuses {
			st.shorten(fmt.Sprintf(`{"url":"http://a/%d?b#c","alias":"s%d","redirect_status":%[1]d,"forward_query":true}`, status, status))
			st.shorten(fmt.Sprintf(`{"url":"http://a/","alias":"cap%d","redirect_status":%[1]d,"max_hits":1000}`, status))
			st.shorten(fmt.Sprintf(`{"url":"http://a/","alias":"soon%d","redirect_status":%[1]d,"expires_at":"2026-01-02T03:05:00Z"}`, status))
			st.shorten(fmt.Sprintf(`{"url":"http://a/","alias":"late%d","redirect_status":%[1]d,"expires_at":"2027-01-02T03:05:00Z"}`, status))
		}
		st.shorten(`{"url":"http://a/` + strings.Repeat("x", 8000) + `","alias":"long","forward_query":true}`)
	})
	for _, method := range []string{"GET", "HEAD"} {
		for _, lines := range [][]string{nil, {"Connection: close"}, {"Connection: keep-alive", browser}, {browser, "Referer: https://b.example/", "Accept-Encoding: gzip", "X-Forwarded-For: 192.0.2.9"}} {
			for _, kind := range []string{"s", "cap", "soon", "late"} {
				for _, status := range redirect.Statuses {
					for _, query := range []string{"", "?", "?x=%41&y", "?x&y=+%zz"} {
						answer, closes := d.ask("10.0.0.1", requestText(method, fmt.Sprintf("/%s%d%s", kind, status, query), "", lines...))
						expect.That(t, strings.HasPrefix(answer, fmt.Sprintf("HTTP/1.1 %d ", status)) && closes == (len(lines) == 1),
							"/%s%d: got %s", kind, status, answer)
					}
				}
			}
			d.ask("10.0.0.1", requestText(method, "/long?x", "", lines...))
		}
	}
}

// missLines are header lines that answers to misses depend on.
var missLines = [][]string{
	nil, {"Accept: application/json"}, {"Accept: text/html"}, {"Accept-Encoding: gzip"}, {"Accept-Encoding: gzip;q=0"},
	{"Accept-Encoding: br, gzip", "Accept: text/html"}, {"Accept: application/json", "Accept-Encoding: gzip"}, {"Connection: close"},
	{"Accept: text/html;q=0.5", "Accept: application/problem+json"},
}

func TestAPlainMissHasFasthttpsBytes(t *testing.T) {
	d := newTwoDoors(t, func(o *Options) {
		o.HSTSMaxAge = time.Hour
		blocking(t, o, "evil.example\n")
	})
	d.both(func(st *site) {
		st.shorten(`{"url":"http://a/","alias":"off","disabled":true}`)
		st.shorten(`{"url":"http://a/","alias":"past","expires_at":"2026-01-02T03:04:06Z"}`)
		st.shorten(`{"url":"http://a/","alias":"used","max_hits":1}`)
		st.shorten(`{"url":"http://a/","alias":"long","forward_query":true}`)
		st.now.Add(2000)
	})
	d.ask("192.0.2.1", requestText("GET", "/used", "", browser)) // takes the cap
	for path, status := range map[string]int{
		"/unknown": 404, "/off": 410, "/past": 410, "/used": 410, "/long?" + strings.Repeat("q", 8200): 414, "/off/": 410,
	} {
		for _, method := range []string{"GET", "HEAD"} {
			for _, lines := range missLines {
				answer, closes := d.ask("192.0.2.1", requestText(method, path, "", append(lines, browser)...))
				expect.That(t, strings.HasPrefix(answer, fmt.Sprintf("HTTP/1.1 %d ", status)) &&
					closes == strings.Contains(strings.Join(lines, ""), "close"), "%s: got %s", path, answer)
			}
		}
	}
}

func TestAnOldVersionIsAnsweredAndClosed(t *testing.T) {
	d := newTwoDoors(t, nil)
	d.both(func(st *site) { st.shorten(`{"url":"http://a/","alias":"x"}`) })
	for _, path := range []string{"/x", "/unknown"} {
		for _, connection := range []string{"", "Host: a\r\n", "Host: a\r\nConnection: close\r\n"} {
			for _, method := range []string{"GET", "HEAD"} {
				answer, closes := d.ask("192.0.2.1", method+" "+path+" HTTP/1.0\r\n"+connection+"\r\n")
				expect.That(t, closes, "%s %s, %q: got %s", method, path, connection, answer)
			}
		}
	}
}

func TestPlainMissesAreLimitedLikeOthers(t *testing.T) {
	d := newTwoDoors(t, func(o *Options) {
		o.TrustedProxies = someProxies.Trusted
		o.RateLimits = limit.Limits{Misses: limitOf(t, "1/min:3")}
	})
	for _, c := range []struct {
		from  string
		line  string
		limit bool // known clients are limited
	}{
		{"192.0.2.1", "X-Forwarded-For: 192.0.2.9", true},
		{"2001:db8::1", "DNT: 1", true},
		{"10.0.0.1", "X-Forwarded-For: 192.0.2.2", true},
		{"10.0.0.1", "Accept: text/html", false}, // a trusted proxy that names no client
	} {
		for i := range 6 {
			status := "404"
			if c.limit && i >= 3 {
				status = "429"
			}
			method := []string{"GET", "HEAD"}[i%2]
			answer, _ := d.ask(c.from, requestText(method, "/unknown", "", append([]string{c.line}, missLines[i]...)...))
			expect.That(t, answer[9:12] == status && strings.Contains(answer, "\r\nRatelimit: ") == (status == "429"),
				"%s, miss %d: got %.300s, want %s", c.from, i+1, answer, status)
		}
		d.both(func(st *site) { st.now.Add(1500) })
	}
}

func TestAPlainRequestWhileLoadingIsToldToComeBack(t *testing.T) {
	d := newTwoDoorsTo(t, unloadedSite(t, throughFasthttp(nil)), unloadedSite(t, nil))
	d.both(func(st *site) {
		st.plantAll()
		if r := st.get("/capped"); r.status != 503 { // from here on it is in memory
			t.Errorf("got %+v", r)
		}
	})
	for _, lines := range missLines {
		for _, method := range []string{"GET", "HEAD"} {
			answer, _ := d.ask("192.0.2.1", requestText(method, "/capped", "", lines...))
			expect.That(t, answer[9:12] == "503" && strings.Contains(answer, "\r\nRetry-After: "), "got %s", answer)
		}
	}
}

// secureConn is a TLS connection of which handlers see the other end and that it is secure.
type secureConn struct {
	*tls.Conn
	peerConn
}

func (c *secureConn) RemoteAddr() net.Addr { return c.peerConn.RemoteAddr() }

func TestPlainMissesOverTLSDemandHTTPS(t *testing.T) {
	d := newTwoDoors(t, func(o *Options) { o.HSTSMaxAge = time.Hour })
	d.both(func(st *site) { st.shorten(`{"url":"http://a/","alias":"x"}`) })
	addr := d.byFasthttp.secureAddress("192.0.2.1")
	d.dial = func(string) (net.Conn, error) { return dialTLS(t, addr), nil }
	secure := new(secureConn)
	secure.set(netip.MustParseAddr("192.0.2.1"))
	d.conn = secure
	for path, demands := range map[string]bool{"/x": false, "/unknown": true} {
		for _, method := range []string{"GET", "HEAD"} {
			answer, _ := d.ask("192.0.2.1", requestText(method, path, "", "Accept-Encoding: gzip"))
			expect.Equal(t, strings.Contains(answer, fasthttp.HeaderStrictTransportSecurity), demands, "%s %s: got %s", method, path, answer)
		}
	}
}

func TestPlainAnswersOfADrainingServerClose(t *testing.T) {
	d := newTwoDoors(t, nil)
	begun := wire.NewDrain()
	begun.Begin()
	d.both(func(st *site) {
		st.shorten(`{"url":"http://a/","alias":"x"}`)
		st.front.drain = begun // a real Shutdown closes the listener
	})
	for _, path := range []string{"/x", "/unknown"} {
		for _, method := range []string{"GET", "HEAD"} {
			for _, version := range []string{"HTTP/1.1\r\n", "HTTP/1.0\r\n"} {
				answer, closes := d.ask("192.0.2.1", method+" "+path+" "+version+"Host: a\r\n\r\n")
				expect.That(t, closes, "got %s", answer)
			}
		}
	}
}

func TestBothDoorsCountTheSame(t *testing.T) {
	d := newTwoDoors(t, func(o *Options) {
		o.TrustedProxies, o.CountryHeader = someProxies.Trusted, "CF-IPCountry"
		o.RateLimits = limit.Limits{Misses: limitOf(t, "1/min:20")}
	})
	d.both(func(st *site) {
		for _, status := range redirect.Statuses {
			st.shorten(fmt.Sprintf(`{"url":"http://a/","alias":"s%d","redirect_status":%[1]d}`, status))
		}
		st.shorten(`{"url":"http://a/","alias":"cap","max_hits":5}`)
		st.shorten(`{"url":"http://a/","alias":"off","disabled":true}`)
	})
	mix := [][]string{
		{browser}, {browser, "Referer: https://b.example/c"}, {"User-Agent: Twitterbot/1.0"}, {"User-Agent: curl/8"}, nil,
		{browser, "Sec-Purpose: prefetch"}, {browser, "purpose: navigate", "X-MOZ: Prefetch"}, {browser, "Purpose: navigate"},
		{browser, "CF-IPCountry: FR", "X-Forwarded-For: 192.0.2.77"}, {browser, "X-Forwarded-For: 192.0.2.78, 10.0.0.2"},
	}
	for _, path := range []string{"/s301", "/s302/", "/s307?x", "/s308", "/cap", "/off", "/unknown", "/other"} {
		for _, lines := range mix {
			for _, from := range []string{"192.0.2.1", "10.0.0.1", "2001:db8::1"} {
				d.ask(from, requestText("GET", path, "", lines...))
			}
			d.ask("10.0.0.1", requestText("HEAD", path, "", lines...))
		}
	}
	got, want := countsOf(d.byPlain), countsOf(d.byFasthttp)
	expect.That(t, got == want, "got\n%s\nwant\n%s", got, want)
	expect.That(t, strings.Contains(want, "cap:") && strings.Contains(want, `"hits":5,`), "the mix is too small: %s", want)
}

// countsOf returns all that a site has counted.
func countsOf(st *site) string {
	var b strings.Builder
	for _, code := range []string{"s301", "s302", "s307", "s308", "cap", "off"} {
		r := st.call("GET", "/stats/"+code+"?include=bots,referrers,countries,devices,browsers", "")
		fmt.Fprintf(&b, "%s: %s", code, r.body)
	}
	missed, total, _ := st.redirects.Missed(10, everyDomain)
	fmt.Fprintln(&b, st.redirects.Counts(), missed, total, st.engine.Metrics().Redirects)
	return b.String()
}

func TestADecisionThatIsReleasedCountsNothing(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	st.shorten(`{"url":"http://a/","alias":"once","max_hits":1}`)
	before := st.redirects.Counts()
	for range 3 {
		for code, want := range map[string]redirect.Outcome{"x": redirect.Redirected, "once": redirect.Redirected, "unknown": redirect.UnknownCode} {
			d, buf := st.redirects.Decide([]byte("before"), &redirect.Request{KeyView: keyOf(code).View(), Safe: true, NowMs: st.now.Load()})
			d.Release()
			location := map[redirect.Outcome]string{redirect.Redirected: "http://a/"}[want]
			expect.That(t, d.Outcome == want && string(buf) == "before"+location, "%s: got %v and %q", code, d.Outcome, buf)
		}
	}
	_, missed, _ := st.redirects.Missed(1, everyDomain)
	got := st.redirects.Counts()
	expect.That(t, got == before && missed == 0, "got %v and %d missed codes, want %v and none", got, missed, before)
	st.wantStats("x", 0, 0)
	st.get("/once", browser).expect(t, "the cap of a link was used up by decisions", 302)
}

func TestAHeadThatFasthttpRefusesIsNotAnsweredAsPlain(t *testing.T) {
	st := newSite(t, nil)
	before := st.redirects.Counts()
	good := requestText("GET", "/unknown", "")
	for _, raw := range []string{"", "\r\n", "GET", good[:len(good)-2], "GET /unknown HTTP/1.1\r\n\r\n", good + "GET"} {
		r := plainOf(t, st, "192.0.2.1", good)
		r.Raw = []byte(raw)
		got := st.front.answerPlain([]byte("before"), r)
		expect.Equal(t, string(got), "before", "%q: got %s", raw, got)
	}
	expect.Equal(t, st.redirects.Counts(), before, "counted")
}

func TestManyGoroutinesAnswerPlainRequestsAtOnce(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	requests := []string{
		requestText("GET", "/x", ""), requestText("HEAD", "/x", ""), requestText("GET", "/unknown", "", "Accept: application/json"),
		requestText("GET", "/unknown", "", "Accept-Encoding: gzip"), requestText("HEAD", "/unknown", "", "Connection: close"),
	}
	var want []string
	for _, raw := range requests {
		want = append(want, undated(st.front.answerPlain(nil, plainOf(t, st, "192.0.2.1", raw))))
	}
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			var out []byte
			for i := range 300 {
				n := (g + i) % len(requests)
				r := plainOf(t, st, "192.0.2.1", requests[n])
				r.NowMs += int64(i%3) * 1000
				start := len(out)
				out = st.front.answerPlain(out, r)
				expect.Equal(t, undated(out[start:]), want[n])
			}
		})
	}
	all.Wait()
}

// answerAsLoop answers r as a loop does: what panics is cut off and answered again.
func answerAsLoop(st *site, out []byte, r *http1.Plain) (answer []byte) {
	start := len(out)
	defer func() {
		if v := recover(); v != nil {
			answer = st.front.answerPanic(out[:start], r, v)
		}
	}()
	return st.front.answerPlain(out, r)
}

func TestAPanicOfAPlainAnswerIsAnsweredAsElsewhere(t *testing.T) {
	for name, sabotage := range map[string]func(st *site){
		"before the decision": func(st *site) { st.front.redirects = nil },
		"in a page":           func(st *site) { st.front.pages = public.Pages{} },
		"in the limiter":      func(st *site) { st.front.limiter = nil },
	} {
		t.Run(name, func(t *testing.T) {
			d := newTwoDoors(t, nil)
			d.both(sabotage)
			for range 3 {
				for _, method := range []string{"GET", "HEAD"} {
					raw := requestText(method, "/unknown", "", "User-Agent: kept?", "Accept-Encoding: gzip")
					want, _ := d.exchange("192.0.2.1", raw)
					r := plainOf(t, d.byPlain, "192.0.2.1", raw)
					got := undated(answerAsLoop(d.byPlain, []byte("before"), r))
					expect.That(t, got == "before"+undated(want) && r.Closes && strings.Contains(got, "HTTP/1.1 500 "), "got %s, want %s", got, want)
				}
			}
			for _, st := range []*site{d.byPlain, d.byFasthttp} {
				expect.Equal(t, strings.Count(st.log.String(), "panic in a request"), 1, "logged times, want once: %s", st.log)
				expect.That(t, !strings.Contains(st.log.String(), "kept?"), "the caller is in the log: %s", st.log)
			}
		})
	}
}

func TestHeadsOfRedirectsAreMadeOnceASecond(t *testing.T) {
	var h datedHeads
	const start = 1_800_000_000_000
	at := func(ms int64) string { return string(h.of(&http1.Plain{NowMs: start + ms})[1]) }
	first := at(0)
	const want = "HTTP/1.1 302 Found\r\nDate: Fri, 15 Jan 2027 08:00:00 GMT\r\nContent-Length: 0\r\nLocation: "
	expect.Equal(t, first, want)
	for _, c := range []struct {
		ms   int64
		same bool
	}{{1, true}, {999, true}, {-1, true}, {-1000, true}, {-1001, false}, {0, false}, {1000, false}, {60_000, false}, {-3600_000, false}} {
		before := h.now.Load()
		if at(c.ms); (h.now.Load() == before) != c.same {
			t.Errorf("after %d ms: the same is %v, want %v", c.ms, !c.same, c.same)
		}
	}
}
