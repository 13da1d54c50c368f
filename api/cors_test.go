package api

import (
	"net/http"
	"strings"
	"testing"
)

// corsOf is what an answer says to browsers of other origins.
func corsOf(h http.Header) string {
	var lines []string
	for _, name := range []string{"Access-Control-Allow-Origin", "Access-Control-Allow-Methods", "Access-Control-Allow-Headers",
		"Access-Control-Allow-Credentials", "Vary"} {
		if v := h.Values(name); len(v) > 0 {
			lines = append(lines, strings.TrimPrefix(name, "Access-Control-Allow-")+"="+strings.Join(v, ", "))
		}
	}
	return strings.Join(lines, " ")
}

func TestOnlyPagesOfNamedOriginsMayCallTheAPI(t *testing.T) {
	const asks = "Access-Control-Request-Method: PATCH"
	const allowed = "Methods=GET, HEAD, POST, PATCH, DELETE Headers=Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, X-Request-Id"
	named := []string{"https://app.example", "http://Localhost:3000", "https://b.example:443", "https://c.example/", "https://*.D.example:8443", "https://*.e.example/",
		"chrome-extension://abcdefghijklmnop/", "moz-extension://0a1b-2c"}
	for _, c := range []struct {
		origins        []string
		method, path   string
		lines          []string
		status         int
		want, whatItIs string
	}{
		{nil, "GET", "/api/v1/me", []string{"Origin: https://app.example"}, 200, "", "off"},
		{nil, "OPTIONS", "/api/v1/me", []string{"Origin: https://app.example", asks}, 405, "", "off: a preflight"},
		{named, "GET", "/api/v1/me", []string{"Origin: https://app.example"}, 200, "Origin=https://app.example Vary=Origin", "named"},
		{named, "GET", "/api/v1/me", []string{"Origin: http://localhost:3000"}, 200, "Origin=http://localhost:3000 Vary=Origin", "named in another spelling"},
		{named, "GET", "/api/v1/me", []string{"Origin: https://b.example"}, 200, "Origin=https://b.example Vary=Origin", "named with its scheme's port"},
		{named, "GET", "/api/v1/me", []string{"Origin: https://c.example"}, 200, "Origin=https://c.example Vary=Origin", "named with a slash"},
		{named, "GET", "/api/v1/me", []string{"Origin: https://a.d.example:8443"}, 200, "Origin=https://a.d.example:8443 Vary=Origin", "below a named domain"},
		{named, "GET", "/api/v1/me", []string{"Origin: https://a.b.e.example"}, 200, "Origin=https://a.b.e.example Vary=Origin", "far below a named domain"},
		{named, "GET", "/api/v1/me", []string{"Origin: https://a.d.example"}, 200, "Vary=Origin", "below a named domain, another port"},
		{named, "GET", "/api/v1/me", []string{"Origin: https://e.example"}, 200, "Vary=Origin", "the named domain itself"},
		{named, "GET", "/api/v1/me", []string{"Origin: https://.e.example"}, 200, "Vary=Origin", "an empty label"},
		{named, "GET", "/api/v1/me", []string{"Origin: https://evile.example"}, 200, "Vary=Origin", "a name that ends alike"},
		{named, "GET", "/api/v1/me", []string{"Origin: chrome-extension://abcdefghijklmnop"}, 200, "Origin=chrome-extension://abcdefghijklmnop Vary=Origin", "an extension"},
		{named, "GET", "/api/v1/me", []string{"Origin: moz-extension://0a1b-2c"}, 200, "Origin=moz-extension://0a1b-2c Vary=Origin", "an extension of Firefox"},
		{named, "GET", "/api/v1/me", []string{"Origin: chrome-extension://other"}, 200, "Vary=Origin", "another extension"},
		{named, "GET", "/api/v1/nothing", []string{"Origin: https://app.example"}, 404, "Origin=https://app.example Vary=Origin", "a problem"},
		{named, "GET", "/api/v1/me", []string{"Origin: https://app.example.evil.example"}, 200, "Vary=Origin", "another"},
		{named, "GET", "/api/v1/me", []string{"Origin: https://app.example:8443"}, 200, "Vary=Origin", "another port"},
		{named, "GET", "/api/v1/me", []string{"Origin: http://app.example"}, 200, "Vary=Origin", "another scheme"},
		{named, "GET", "/api/v1/me", []string{"Origin: null"}, 200, "Vary=Origin", "an opaque one"},
		{named, "GET", "/api/v1/me", nil, 200, "Vary=Origin", "no browser"},
		{named, "OPTIONS", "/api/v1/links/x", []string{"Origin: https://app.example", asks}, 204, "Origin=https://app.example " + allowed + " Vary=Origin", "a preflight"},
		{named, "OPTIONS", "/api/v1/links/x", []string{"Origin: https://evil.example", asks}, 204, "Vary=Origin", "a preflight of another"},
		{named, "OPTIONS", "/api/v1/me", []string{"Origin: https://app.example"}, 405, "Origin=https://app.example Vary=Origin", "OPTIONS that is no preflight"},
		{[]string{"*"}, "GET", "/api/v1/me", []string{"Origin: https://any.example"}, 200, "Origin=*", "all"},
		{[]string{"*"}, "OPTIONS", "/api/v1/shorten", []string{"Origin: https://any.example", asks}, 204, "Origin=* " + allowed, "all: a preflight"},
		{[]string{"*"}, "GET", "/known", []string{"Origin: https://any.example"}, 302, "", "a redirect"},
	} {
		t.Run(c.whatItIs, func(t *testing.T) {
			st := newSite(t, func(o *Options) { o.CORSOrigins = c.origins })
			st.shorten(`{"url":"http://a/","alias":"known"}`)
			lines := append([]string{"Authorization: Bearer " + st.token}, c.lines...)
			if c.method == "OPTIONS" {
				lines = c.lines // a browser sends no token with those
			}
			r := send(t, st.publicAt, c.method, requestText(c.method, c.path, "", lines...))
			if got := corsOf(r.header); r.status != c.status || got != c.want {
				t.Errorf("got %d, %q\nwant %d, %q", r.status, got, c.status, c.want)
			}
		})
	}
}
