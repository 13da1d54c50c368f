package api

import (
	"net/http"
	"strings"
	"testing"

	"shunt/engine/expect"
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

// Which origins are allowed, TestOnlyPagesOfNamedOriginsMayReadAnswers of package auth holds; here is what becomes of
// their requests.
func TestOnlyPagesOfNamedOriginsMayCallTheAPI(t *testing.T) {
	const asks = "Access-Control-Request-Method: PATCH"
	const allowed = "Methods=GET, HEAD, POST, PATCH, DELETE Headers=Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, X-Api-Key, X-Request-Id"
	named := []string{"https://app.example"}
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
		{named, "GET", "/api/v1/nothing", []string{"Origin: https://app.example"}, 404, "Origin=https://app.example Vary=Origin", "a problem"},
		{named, "OPTIONS", "/api/v1/links/x", []string{"Origin: https://app.example", asks}, 204, "Origin=https://app.example " + allowed + " Vary=Origin", "a preflight"},
		{named, "OPTIONS", "/api/v1/links/x", []string{"Origin: https://evil.example", asks}, 204, "Vary=Origin", "a preflight of another"},
		{named, "OPTIONS", "/api/v1/me", []string{"Origin: https://app.example"}, 405, "Origin=https://app.example Vary=Origin", "OPTIONS that is no preflight"},
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
			got := corsOf(r.header)
			expect.That(t, r.status == c.status && got == c.want, "got %d, %q\nwant %d, %q", r.status, got, c.status, c.want)
		})
	}
}
