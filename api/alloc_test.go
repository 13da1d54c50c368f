//go:build !race

package api

import (
	"slices"
	"strings"
	"testing"

	"shunt/api/accesslog"
)

// Under the race detector sync.Pool drops objects, so this test runs without it.

func TestARedirectWithKnownHeadersAllocatesNothing(t *testing.T) {
	table := readCountries(t, true, map[string]string{"192.0.2.0/24": "DE"})
	st := newSite(t, func(o *Options) {
		o.TrustedProxies, o.Countries, o.CountryHeader = someProxies.Trusted, table, "CF-IPCountry"
		blocking(t, o, "evil.example\na.b.example\nhttp://a/x/\n203.0.113.66\n")
	})
	st.shorten(`{"url":"http://a/","alias":"plain"}`)
	st.shorten(`{"url":"http://a/?b#c","alias":"query","forward_query":true,"redirect_status":308}`)
	st.shorten(`{"url":"http://a/","alias":"capped","max_hits":1000000}`)
	st.shorten(`{"url":"http://a/","alias":"soon","redirect_status":301,"expires_at":"2026-01-02T03:05:00Z"}`)
	st.shorten(`{"url":"http://a/` + strings.Repeat("x", 8000) + `","alias":"long"}`)
	st.shorten(`{"url":"http://a/メインページ|","alias":"encoded"}`)
	st.shorten(linkOfRules)
	st.shorten(linkOfSplit)
	st.shorten(linkOfCard)
	st.shorten(`{"url":"http://a/","alias":"locked","password":"open sesame"}`)
	unlock := string(st.unlocked(t, "locked"))
	const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0"
	for name, c := range map[string]struct {
		method, agent string
		lines         []string
	}{
		"a hit":                         {"GET", firefox, nil},
		"a hit with a referrer":         {"GET", firefox, []string{"Referer", "https://WWW.Example.com:443/a/b?c"}},
		"a hit from an IPv6 referrer":   {"GET", firefox, []string{"Referer", "http://[2001:DB8::7]/"}},
		"a hit from an app":             {"GET", firefox, []string{"Referer", "android-app://com.example.app/"}},
		"a hit with a bad referrer":     {"GET", firefox, []string{"Referer", strings.Repeat("nonsense", 1000)}},
		"a hit whose country is said":   {"GET", firefox, []string{"CF-IPCountry", "FR", "Referer", "https://example.com/"}},
		"a hit whose country is unsaid": {"GET", firefox, []string{"CF-IPCountry", "XX"}},
		"a hit without a User-Agent":    {"GET", "", []string{"Referer", "https://example.com/"}},
		"a hit by a tool":               {"GET", "curl/8.8.0", nil},
		"a bot":                         {"GET", strings.TrimPrefix(googlebot, "User-Agent: "), []string{"Referer", "https://example.com/"}},
		"a prefetch":                    {"GET", firefox, []string{"Sec-Purpose", "prefetch", "Referer", "https://example.com/"}},
		"a HEAD":                        {"HEAD", firefox, []string{"Referer", "https://example.com/"}},
	} {
		for _, code := range []string{"plain", "query?x=1", "capped", "soon", "long", "encoded", "rules", "rules?utm_source=print", "split", "card", "locked"} {
			ctx, redirect := redirectOf(st, code, c.agent, append(c.lines, "Cookie", unlock)...)
			ctx.Request.Header.SetMethod(c.method)
			redirect()
			if n := testing.AllocsPerRun(200, redirect); n != 0 {
				t.Errorf("/%s, %s: got %v allocations, want 0", code, name, n)
			}
			if got := ctx.Response.StatusCode(); (got < 301 || got > 308) && (name != "a prefetch" || got != 503) {
				t.Errorf("/%s, %s: got %d, want a redirect, or to a prefetch 503", code, name, got)
			}
		}
	}
}

func TestAPlainRedirectInTheAccessLogAllocatesNothing(t *testing.T) {
	change, lines := accessLogOf(t, accesslog.Options{Clients: true})
	st := newSite(t, change)
	st.shorten(`{"url":"http://a/","alias":"known"}`)
	out := make([]byte, 0, 16<<10)
	for _, path := range []string{"/known", "/unknown"} {
		r := plainOf(t, st, "192.0.2.1", requestText("GET", path, "", browser, "Referer: https://example.com/"))
		out = st.front.answerPlain(out[:0], r)
		if n := testing.AllocsPerRun(200, func() { out = st.front.answerPlain(out[:0], r) }); n != 0 {
			t.Errorf("%s: got %v allocations, want 0", path, n)
		}
	}
	if n := len(lines(st)); n < 400 {
		t.Errorf("the log has %d lines, want one for each request", n)
	}
}

func TestAPlainRedirectWithKnownHeadersAllocatesNothing(t *testing.T) {
	st := newSite(t, func(o *Options) {
		blocking(t, o, "evil.example\nhttp://a/x/\n")
	})
	st.shorten(`{"url":"http://a/?b#c","alias":"query","forward_query":true,"redirect_status":308}`)
	st.shorten(`{"url":"http://a/","alias":"capped","max_hits":1000000}`)
	st.shorten(`{"url":"http://a/","alias":"soon","redirect_status":301,"expires_at":"2026-01-02T03:05:00Z"}`)
	st.shorten(`{"url":"http://a/` + strings.Repeat("x", 8000) + `","alias":"long"}`)
	st.shorten(`{"url":"http://a/メインページ|","alias":"encoded"}`)
	st.shorten(linkOfRules)
	st.shorten(linkOfSplit)
	st.shorten(linkOfCard)
	out := make([]byte, 0, 16<<10)
	for _, path := range []string{"/query?x=1", "/capped", "/soon", "/long", "/encoded", "/rules", "/rules?utm_source=print", "/split", "/card"} {
		for _, method := range []string{"GET", "HEAD"} {
			for _, lines := range [][]string{
				{browser, "Referer: https://example.com/"}, {browser, "Sec-Purpose: prefetch"}, {googlebot, "Connection: close"},
			} {
				r := plainOf(t, st, "192.0.2.1", requestText(method, path, "", lines...))
				out = st.front.answerPlain(out[:0], r)
				if n := testing.AllocsPerRun(200, func() { out = st.front.answerPlain(out[:0], r) }); n != 0 {
					t.Errorf("%s %s, %v: got %v allocations, want 0", method, path, lines, n)
				}
				want := "HTTP/1.1 3"
				if method == "GET" && slices.Contains(lines, "Sec-Purpose: prefetch") {
					want = "HTTP/1.1 5"
				}
				if string(out[:10]) != want {
					t.Errorf("%s %s, %v: got %s", method, path, lines, out)
				}
			}
		}
	}
}

func TestAPlainMissAllocatesNothingButForItsJSON(t *testing.T) {
	st := newSite(t, nil)
	out := make([]byte, 0, 16<<10)
	for line, most := range map[string]float64{browser: 0, "Accept-Encoding: gzip": 0, "Accept: text/html": 1, "Accept: application/json": 6} {
		r := plainOf(t, st, "192.0.2.1", requestText("GET", "/unknown", "", line))
		if n := testing.AllocsPerRun(200, func() { out = st.front.answerPlain(out[:0], r) }); n > most {
			t.Errorf("%s: got %v allocations, want at most %v", line, n, most)
		}
	}
}
