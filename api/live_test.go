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
)

const browser = "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0"

func TestALinkIsCreatedFollowedCountedAndDeleted(t *testing.T) {
	st := newSite(t, nil)
	l := st.shorten(`{"url":"HTTP://Example.COM/A?b#c","alias":"Promo"}`)
	if l.Code != "Promo" || l.URL != "HTTP://example.com/A?b#c" || l.ShortURL != "http://127.0.0.1:8080/Promo" || l.RedirectStatus != 302 {
		t.Errorf("link: got %+v", l)
	}
	r := st.get("/Promo", browser)
	if r.status != 302 || r.header.Get("Location") != l.URL || r.body != "" || r.header.Get("Cache-Control") != "private, no-store" {
		t.Errorf("redirect: got %+v", r)
	}
	for _, name := range []string{"Content-Type", "Server", "Set-Cookie"} {
		if got := r.header.Get(name); got != "" {
			t.Errorf("redirect has %s: %s", name, got)
		}
	}
	st.wantStats("Promo", 1, 1)
	if r := st.call("DELETE", "/links/Promo", ""); r.status != 204 || r.body != "" {
		t.Errorf("delete: got %+v", r)
	}
	if r := st.get("/Promo", browser); r.status != 404 {
		t.Errorf("after the delete: got %+v", r)
	}
	if r := st.call("GET", "/stats/Promo", ""); r.problem() != "not_found" {
		t.Errorf("stats after the delete: got %+v", r)
	}
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
		if got, want := r.header.Get("Location"), inASCII(target); got != want || r.status != 302 {
			t.Errorf("got %d, Location %q, want %q", r.status, got, want)
		}
		if l.URL != target {
			t.Errorf("shown as %q, want %q", l.URL, target)
		}
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
				if r.status != status || r.header.Get("Location") != "http://a/" || r.body != "" {
					t.Errorf("%s on a %d link: got %+v", method, status, r)
				}
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
	if got, want := st.engine.Metrics().Redirects, [...]uint64{2, 3, 6, 3}; got != want {
		t.Errorf("by class: got %v, want %v (hit, bot, prefetch, head)", got, want)
	}
	if r := st.get("/x"); r.status != 302 {
		t.Errorf("the third hit, without a User-Agent: got %+v", r)
	}
	for _, line := range []string{browser, "User-Agent: WhatsApp/2", "Purpose: prefetch"} {
		if r := st.get("/x", line); r.status != 410 || r.header.Get("Cache-Control") != "no-store" {
			t.Errorf("used up, %s: got %+v, want 410", line, r)
		}
	}
	if r := send(t, st.publicAt, "HEAD", requestText("HEAD", "/x", "")); r.status != 410 || r.body != "" {
		t.Errorf("used up, HEAD: got %+v, want 410", r)
	}
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
		if r := send(t, st.publicAt, "POST", requestText("POST", "/"+code, "x", browser)); r.status != want {
			t.Errorf("POST /%s: got %d, want %d", code, r.status, want)
		}
		if r := st.get("/"+code, browser); r.status != 410 {
			t.Errorf("GET /%s: got %d, want 410", code, r.status)
		}
	}
}

func TestALinkEndsAtItsExpiry(t *testing.T) {
	st := newSite(t, nil)
	expires := time.UnixMilli(st.now.Load() + 10_500).UTC().Format(time.RFC3339Nano)
	st.shorten(`{"url":"http://a/","alias":"x","redirect_status":301,"expires_at":"` + expires + `"}`)
	if r := st.get("/x", browser); r.status != 301 || r.header.Get("Cache-Control") != "private, max-age=10" {
		t.Errorf("before: got %+v", r)
	}
	st.now.Add(10_499)
	if r := st.get("/x", browser); r.status != 301 || r.header.Get("Cache-Control") != "private, max-age=0" {
		t.Errorf("a millisecond before: got %+v", r)
	}
	st.now.Add(1)
	r := st.get("/x", browser)
	if r.status != 410 || r.header.Get("Location") != "" || r.header.Get("Cache-Control") != "no-store" || !strings.Contains(r.body, "expired") {
		t.Errorf("at its expiry: got %+v", r)
	}
	if r := st.get("/x", browser, "Accept: application/json"); r.problem() != "gone" || r.header.Get("Vary") != "Accept" {
		t.Errorf("at its expiry, JSON: got %+v", r)
	}
	st.wantStats("x", 2, 1)
	if r := st.call("GET", "/links/x", ""); !strings.Contains(r.body, `"state":"expired"`) {
		t.Errorf("the link: got %s", r.body)
	}
}

func TestTheQueryIsForwardedOnlyIfTheLinkAllowsIt(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/?x=1#f","alias":"fwd","forward_query":true}`)
	st.shorten(`{"url":"http://a/?x=1#f","alias":"not"}`)
	if got := st.get("/fwd?y=%20&z", browser).header.Get("Location"); got != "http://a/?x=1&y=%20&z#f" {
		t.Errorf("forwarding link: got %s", got)
	}
	if got := st.get("/not?y=2", browser).header.Get("Location"); got != "http://a/?x=1#f" {
		t.Errorf("other link: got %s", got)
	}
	if r := st.get("/fwd?"+strings.Repeat("y", 8192-len("http://a/?x=1&#f")), browser); r.status != 302 {
		t.Errorf("8,192 bytes in all: got %d", r.status)
	}
	if r := st.get("/fwd?"+strings.Repeat("y", 8193-len("http://a/?x=1&#f")), browser); r.status != 414 {
		t.Errorf("8,193 bytes in all: got %d, want 414", r.status)
	}
	st.wantStats("fwd", 2, 1)
}

func TestAnUnknownCodeGetsAPageOrAProblem(t *testing.T) {
	st := newSite(t, nil)
	r := st.get("/nothing", browser)
	if r.status != 404 || r.header.Get("Content-Type") != "text/html; charset=utf-8" || r.header.Get("Vary") != "Accept" ||
		r.header.Get("Cache-Control") != "no-store" || r.header.Get("X-Content-Type-Options") != "nosniff" ||
		r.header.Get("Referrer-Policy") == "" || !strings.HasPrefix(r.header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("page: got %+v", r)
	}
	if r := st.get("/nothing", "Accept: application/json"); r.problem() != "not_found" || r.status != 404 || r.header.Get("Vary") != "Accept" {
		t.Errorf("problem: got %+v", r)
	}
	if r := send(t, st.publicAt, "HEAD", requestText("HEAD", "/nothing", "")); r.status != 404 || r.body != "" {
		t.Errorf("HEAD: got %+v", r)
	}
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
	if redirects.Load() != 1000 || gone.Load() != 280 {
		t.Errorf("got %d redirects and %d times gone, want 1000 and 280", redirects.Load(), gone.Load())
	}
	r := st.call("GET", "/links/x", "")
	if !strings.Contains(r.body, `"state":"exhausted"`) || !strings.Contains(r.body, `"hits":1000`) {
		t.Errorf("the link: got %s", r.body)
	}
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
