//go:build !race

package api

import (
	"strings"
	"testing"
)

// The race detector lets sync.Pool drop what it is given, so this is measured without it.

func TestARedirectForAKnownUserAgentAllocatesNothing(t *testing.T) {
	st := newSite(t, func(o *Options) { o.TrustedProxies = someProxies.trusted })
	st.shorten(`{"url":"http://a/","alias":"plain"}`)
	st.shorten(`{"url":"http://a/?b#c","alias":"query","forward_query":true,"redirect_status":308}`)
	st.shorten(`{"url":"http://a/","alias":"capped","max_hits":1000000}`)
	st.shorten(`{"url":"http://a/","alias":"soon","redirect_status":301,"expires_at":"2026-01-02T03:05:00Z"}`)
	st.shorten(`{"url":"http://a/` + strings.Repeat("x", 8000) + `","alias":"long"}`)
	for _, code := range []string{"plain", "query?x=1", "capped", "soon", "long"} {
		for _, agent := range []string{"Mozilla/5.0 (X11; Linux x86_64) Firefox/127.0", "Twitterbot/1.0", ""} {
			ctx, redirect := redirectOf(st, code, agent)
			redirect()
			if n := testing.AllocsPerRun(200, redirect); n != 0 {
				t.Errorf("/%s for %q: got %v allocations, want 0", code, agent, n)
			}
			if got := ctx.Response.StatusCode(); got < 301 || got > 308 {
				t.Errorf("/%s: got %d, want a redirect", code, got)
			}
		}
	}
}
