package api

import (
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/fasthttputil"

	"shunt/api/domain"
	"shunt/engine/expect"
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
	redirected := func(t *testing.T, _, line string) string {
		method, target, _ := strings.Cut(line, " ")
		r := send(t, ln, method, requestText(method, target, "", "Authorization: Bearer "+st.token))
		r.expect(t, line, bodyOf(""), header("Cache-Control", "max-age=86400"))
		return fmt.Sprint(r.status, " ", r.header.Get("Location"))
	}
	expect.Lines(t, "testdata/insecure.txt", redirected)
	long := "/" + strings.Repeat("x", 8000)
	expect.Equal(t, redirected(t, "", "GET "+long), "301 https://sho.rt:8443"+long)
	send(t, ln, "GET", "GET /x HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n").expect(t, "two hosts", 400)
	expect.Equal(t, st.counted(), before, "something was counted")
}

func TestThePlainListenerRedirectsToTheDomainOfTheRequest(t *testing.T) {
	st := newSite(t, func(o *Options) { o.BaseURL = "https://sho.rt:8443" })
	st.addDomain(domain.Domain{Host: "b.test", Aliases: []string{"www.b.test"}})
	st.addDomain(domain.Domain{Host: "c.test", BaseURL: "https://c.test"})
	ln := st.insecureAt()
	for target, want := range map[string]string{
		"/x?y HTTP/1.1\r\nHost: B.test:80": "https://b.test:8443/x?y", "http://c.test/x HTTP/1.1\r\nHost: sho.rt": "https://c.test/x",
		"/x HTTP/1.1\r\nHost: www.b.test": "https://b.test:8443/x", "/x HTTP/1.1\r\nHost: evil.test": "https://sho.rt:8443/x",
	} {
		r := send(t, ln, "GET", "GET "+target+"\r\n\r\n")
		expect.That(t, r.status == 301 && r.header.Get("Location") == want, "%s: got %d %s, want %s", target, r.status, r.header.Get("Location"), want)
	}
}

func TestThePlainListenerBelievesATrustedProxyAboutTheHost(t *testing.T) {
	for trusted, want := range map[string]string{"127.0.0.1/32": "https://b.test/x?y", "10.0.0.0/8": "https://sho.rt/x?y"} {
		st := newSite(t, func(o *Options) {
			o.BaseURL, o.TrustedProxies, o.HostHeader = "https://sho.rt", []netip.Prefix{netip.MustParsePrefix(trusted)}, "X-Forwarded-Host"
		})
		st.addDomain(domain.Domain{Host: "b.test"})
		ln := st.insecureAt()
		for _, target := range []string{"/x?y", "http://sho.rt/x?y"} {
			r := send(t, ln, "GET", "GET "+target+" HTTP/1.1\r\nHost: 10.0.0.5\r\nX-Forwarded-Host: b.test\r\n\r\n")
			expect.Equal(t, r.header.Get("Location"), want, "%s, trusted %s", target, trusted)
		}
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
	send(t, ln, "GET", requestText("GET", "/.well-known/acme-challenge/unknown", "")).expect(t, "", 404, without("inside"))
	send(t, ln, "GET", requestText("GET", "/.well-known/other", "")).expect(t, "another path", 301)
	st.get("/.well-known/acme-challenge/known").expect(t, "the public address", 404)
}
