package api

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"shunt/engine/expect"
)

const browser = "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0"

func TestALinkIsCreatedFollowedCountedAndDeleted(t *testing.T) {
	st := newSite(t, nil)
	l := st.shorten(`{"url":"HTTP://Example.COM/A?b#c","alias":"Promo"}`)
	expect.That(t, l.Code == "Promo" && l.URL == "HTTP://example.com/A?b#c" && l.ShortURL == "http://127.0.0.1:8080/Promo" && l.RedirectStatus == 302,
		"link: got %+v", l)
	r := st.get("/Promo", browser)
	r.expect(t, "redirect", 302, header("Location", l.URL), bodyOf(""), header("Cache-Control", "private, no-store"))
	for _, name := range []string{"Content-Type", "Server", "Set-Cookie"} {
		expect.Equal(t, r.header.Get(name), "", "redirect has %s", name)
	}
	st.wantStats("Promo", 1, 1)
	st.call("DELETE", "/links/Promo", "").expect(t, "delete", 204, bodyOf(""))
	st.get("/Promo", browser).expect(t, "after the delete", 404)
	st.call("GET", "/stats/Promo", "").expect(t, "stats after the delete", problemOf("not_found"))
}

func TestTheTargetGoesOutInASCIIAndIsShownAsItIsStored(t *testing.T) {
	st := newSite(t, nil)
	for i, target := range []string{
		"http://a/b//c/../d/./e", "http://a/%7e%7E%2f%zz", "http://a?b", "http://a", "http://a:80/", "http://a:/",
		"http://a/?q=<>\"{}|^`'", "http://a/straße/日本", "http://a/%é%4|?[a]=~#!é", "hTTp://a/#frag?x", "http://a/" + strings.Repeat("x", 8183),
		"http://a/" + strings.Repeat("é", 1363) + "xxxxx", // 8,192 bytes as it goes out
	} {
		l := st.shorten(fmt.Sprintf(`{"url":%q,"alias":"t%d"}`, target, i))
		r := st.get("/"+l.Code, browser)
		got, want := r.header.Get("Location"), inASCII(target)
		expect.That(t, got == want && r.status == 302, "got %d, Location %q, want %q", r.status, got, want)
		expect.Equal(t, l.URL, target, "shown as")
	}
}

func TestEachStatusRedirectsTheMethodsOfTheContract(t *testing.T) {
	st := newSite(t, nil)
	for _, status := range []int{301, 302, 307, 308} {
		code := fmt.Sprintf("s%d", status)
		st.shorten(fmt.Sprintf(`{"url":"http://a/","alias":%q,"redirect_status":%d}`, code, status))
		hits := 0
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW"} {
			body := ""
			if method == "POST" {
				body = "dropped"
			}
			r := send(t, st.publicAt, method, requestText(method, "/"+code, body, browser))
			switch {
			case method == "HEAD", method == "GET", status >= 307:
				r.expect(t, method+" on a", status, header("Location", "http://a/"), bodyOf(""))
				if method != "HEAD" {
					hits++
				}
			case r.status != 405 || r.header.Get("Allow") != "GET, HEAD":
				t.Errorf("%s on a %d link: got %+v, want 405", method, status, r)
			}
		}
		st.wantStats(code, uint64(hits), 1)
	}
}

func TestBotsPrefetchesAndHeadsAreCountedSeparatelyAndUseNothingUp(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x","max_hits":3}`)
	st.get("/x", browser)
	st.get("/x", "User-Agent: curl/8.8.0")
	for range 3 {
		st.get("/x", "User-Agent: WhatsApp/2.24.12.78 A")
		st.get("/x", browser, "Sec-Purpose: prefetch;prerender")
		st.get("/x", "User-Agent: WhatsApp/2.24.12.78 A", "Purpose: preview")
		send(t, st.publicAt, "HEAD", requestText("HEAD", "/x", "", browser, "Purpose: prefetch"))
	}
	st.wantStats("x", 2, 2)
	expect.Equal(t, st.engine.Metrics().Redirects, [...]uint64{2, 3, 6, 3}, "by class (hit, bot, prefetch, head)")
	st.get("/x").expect(t, "the third hit, without a User-Agent", 302)
	for _, line := range []string{browser, "User-Agent: WhatsApp/2", "Purpose: prefetch"} {
		st.get("/x", line).expect(t, "used up, "+line, 410, header("Cache-Control", "no-store"))
	}
	send(t, st.publicAt, "HEAD", requestText("HEAD", "/x", "")).expect(t, "used up, HEAD", 410, bodyOf(""))
}

func TestAWrongMethodIs405InEveryStateOfTheLink(t *testing.T) {
	st := newSite(t, nil)
	expires := time.UnixMilli(st.now.Load() + 1000).UTC().Format(time.RFC3339Nano)
	for _, status := range []int{302, 307} {
		st.shorten(fmt.Sprintf(`{"url":"http://a/","alias":"expired%d","redirect_status":%[1]d,"expires_at":%q}`, status, expires))
		st.shorten(fmt.Sprintf(`{"url":"http://a/","alias":"used%d","redirect_status":%[1]d,"max_hits":1}`, status))
		st.get(fmt.Sprintf("/used%d", status), browser)
	}
	st.now.Add(1000)
	for code, want := range map[string]int{"expired302": 405, "used302": 405, "expired307": 410, "used307": 410} {
		send(t, st.publicAt, "POST", requestText("POST", "/"+code, "x", browser)).expect(t, "POST /"+code, want)
		st.get("/"+code, browser).expect(t, "GET /"+code, 410)
	}
}

func TestALinkEndsAtItsExpiry(t *testing.T) {
	st := newSite(t, nil)
	expires := time.UnixMilli(st.now.Load() + 10_500).UTC().Format(time.RFC3339Nano)
	st.shorten(`{"url":"http://a/","alias":"x","redirect_status":301,"expires_at":"` + expires + `"}`)
	st.get("/x", browser).expect(t, "before", 301, header("Cache-Control", "private, max-age=10"))
	st.now.Add(10_499)
	st.get("/x", browser).expect(t, "a millisecond before", 301, header("Cache-Control", "private, max-age=0"))
	st.now.Add(1)
	st.get("/x", browser).expect(t, "at its expiry", 410, header("Location", ""), header("Cache-Control", "no-store"), "expired")
	st.get("/x", browser, "Accept: application/json").expect(t, "at its expiry, JSON", problemOf("gone"), header("Vary", "Accept"))
	st.wantStats("x", 2, 1)
	st.call("GET", "/links/x", "").expect(t, "the link", `"state":"expired"`)
}

func TestTheQueryIsForwardedOnlyIfTheLinkAllowsIt(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/?x=1#f","alias":"fwd","forward_query":true}`)
	st.shorten(`{"url":"http://a/?x=1#f","alias":"not"}`)
	expect.Equal(t, st.get("/fwd?y=%20&z", browser).header.Get("Location"), "http://a/?x=1&y=%20&z#f", "forwarding link")
	expect.Equal(t, st.get("/not?y=2", browser).header.Get("Location"), "http://a/?x=1#f", "other link")
	st.get("/fwd?"+strings.Repeat("y", 8192-len("http://a/?x=1&#f")), browser).expect(t, "8,192 bytes in all", 302)
	st.get("/fwd?"+strings.Repeat("y", 8193-len("http://a/?x=1&#f")), browser).expect(t, "8,193 bytes in all", 414)
	st.wantStats("fwd", 2, 1)
}

func TestAnUnknownCodeGetsAPageOrAProblem(t *testing.T) {
	st := newSite(t, nil)
	r := st.get("/nothing", browser)
	expect.That(t, r.status == 404 && r.header.Get("Content-Type") == "text/html; charset=utf-8" && r.header.Get("Vary") == "Accept" &&
		r.header.Get("Cache-Control") == "no-store" && r.header.Get("X-Content-Type-Options") == "nosniff" && r.header.Get("Referrer-Policy") != "" &&
		strings.HasPrefix(r.header.Get("Content-Security-Policy"), "default-src 'none'"), "page: got %+v", r)
	st.get("/nothing", "Accept: application/json").expect(t, "problem", problemOf("not_found"), 404, header("Vary", "Accept"))
	send(t, st.publicAt, "HEAD", requestText("HEAD", "/nothing", "")).expect(t, "HEAD", 404, bodyOf(""))
}

func TestACapIsExactWhile64ClientsRace(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x","max_hits":1000}`)
	var redirects, gone atomic.Int64
	var clients sync.WaitGroup
	for i := range 64 {
		clients.Go(func() {
			c, err := st.publicAt.Dial()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			r := bufio.NewReader(c)
			for range 20 {
				fmt.Fprintf(c, "GET /x HTTP/1.1\r\nHost: h\r\nUser-Agent: client-%d\r\n\r\n", i)
				res, err := http.ReadResponse(r, nil)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = bufio.NewReader(res.Body).WriteTo(discard{})
				switch res.StatusCode {
				case 302:
					redirects.Add(1)
				case 410:
					gone.Add(1)
				}
			}
		})
	}
	clients.Wait()
	expect.That(t, redirects.Load() == 1000 && gone.Load() == 280,
		"got %d redirects and %d times gone, want 1000 and 280", redirects.Load(), gone.Load())
	st.call("GET", "/links/x", "").expect(t, "the link", `"state":"exhausted"`, `"hits":1000`)
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func TestVisitorsAreDistinguishedByAddressAndUserAgent(t *testing.T) {
	st := newSite(t, func(o *Options) { o.TrustedProxies = someProxies.Trusted })
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	proxy := st.from("10.0.0.1")
	for _, c := range []struct{ client, agent string }{
		{"192.0.2.1", "A"}, {"192.0.2.1", "A"}, {"192.0.2.1", "B"}, {"192.0.2.2", "A"},
		{"2001:db8::1", "A"}, {"2001:db8::2", "A"}, {"2001:db8:0:1::1", "A"}, {"6.6.6.6, 192.0.2.1", "A"},
	} {
		send(t, proxy, "GET", requestText("GET", "/x", "", "X-Forwarded-For: "+c.client, "User-Agent: "+c.agent))
	}
	st.wantStats("x", 8, 5)
	direct := st.from("198.51.100.1")
	for i := range 4 {
		send(t, direct, "GET", requestText("GET", "/x", "", fmt.Sprintf("X-Forwarded-For: 192.0.2.%d", 100+i), "User-Agent: A"))
	}
	st.wantStats("x", 12, 6)
}
