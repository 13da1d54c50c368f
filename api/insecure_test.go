package api

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/fasthttputil"
)

// insecureAt serves the plain listener until the end of the test.
func (st *site) insecureAt() *fasthttputil.InmemoryListener {
	ln := st.serve(st.ServeRedirects)
	st.t.Cleanup(func() { _ = ln.Close() }) // then its server returns, which the earlier cleanup waits for
	return ln
}

func TestThePlainListenerRedirectsEverythingAsItWasSent(t *testing.T) {
	st := newSite(t, func(o *Options) { o.BaseURL = "https://sho.rt:8443" })
	st.shorten(`{"url":"http://a/","alias":"known"}`)
	ln := st.insecureAt()
	before := st.counted()
	for _, c := range []struct{ method, target, want string }{
		{"GET", "/", "/"},
		{"GET", "/known", "/known"},
		{"HEAD", "/known?a=b&c", "/known?a=b&c"},
		{"GET", "/%7e%7E//.././/a%00%zz?", "/%7e%7E//.././/a%00%zz?"},
		{"GET", "//evil.example/x", "//evil.example/x"},
		{"GET", "/?q=http://evil.example/", "/?q=http://evil.example/"},
		{"GET", "/\\evil@x:1<>\"'`|{}", "/%5Cevil@x:1%3C%3E%22'%60%7C%7B%7D"},
		{"GET", "/known?q=é", "/known?q=%C3%A9"},
		{"GET", "/.well-known/acme-challenge/token", "/.well-known/acme-challenge/token"},
		{"GET", "http://evil.example/known?x", "/known?x"},
		{"GET", "http://evil.example", "/"},
		{"GET", "http://evil.example?x", "/?x"},
		{"GET", "/known?x#y?z", "/known?x"},
		{"GET", "http://evil.example/known#http://a/", "/known"},
		{"GET", "/#/", "/"},
		{"OPTIONS", "*", "/"},
		{"POST", "/api/v1/shorten", "/api/v1/shorten"},
		{"DELETE", "/api/v1/links/known", "/api/v1/links/known"},
		{"GET", "/" + strings.Repeat("x", 8000), "/" + strings.Repeat("x", 8000)},
	} {
		r := send(t, ln, c.method, requestText(c.method, c.target, "", "Authorization: Bearer "+st.token))
		status := 308
		if c.method == "GET" || c.method == "HEAD" {
			status = 301
		}
		if got, want := r.header.Get("Location"), "https://sho.rt:8443"+c.want; r.status != status || got != want || r.body != "" {
			t.Errorf("%s %s: got %d %q, want %d %q", c.method, c.target, r.status, got, status, want)
		}
		if got := r.header.Get("Cache-Control"); got != "max-age=86400" {
			t.Errorf("%s %s: got Cache-Control %q", c.method, c.target, got)
		}
	}
	send(t, ln, "GET", "GET /x HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n").expect(t, "two hosts", 400)
	if after := st.counted(); after != before {
		t.Errorf("something was counted: %s became %s", before, after)
	}
}

func TestChallengesAreAnsweredOnThePlainListenerOnly(t *testing.T) {
	st := newSite(t, func(o *Options) {
		o.BaseURL = "https://sho.rt"
		o.ACMEChallenges = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Host != "any.example" || r.URL.Path != "/.well-known/acme-challenge/known" {
				http.Error(w, "the inside says why", http.StatusForbidden)
				return
			}
			_, _ = io.WriteString(w, "known.thumbprint")
		})
	})
	ln := st.insecureAt()
	send(t, ln, "GET", requestText("GET", "/.well-known/acme-challenge/known", "")).expect(t, "", 200, bodyOf("known.thumbprint"))
	r := send(t, ln, "GET", requestText("GET", "/.well-known/acme-challenge/unknown", ""))
	r.expect(t, "", 404, without("inside"))
	send(t, ln, "GET", requestText("GET", "/.well-known/other", "")).expect(t, "another path", 301)
	st.get("/.well-known/acme-challenge/known").expect(t, "the public address", 404)
}
