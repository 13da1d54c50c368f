package api

import (
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/limit"
	"shunt/api/rate"
	"shunt/api/turnstile"
)

// BenchmarkAuthenticatedRequest measures a request that does little but say who makes it, from the
// read request to the answer in memory: GET /me. Rate limits are on; admins have none.
func BenchmarkAuthenticatedRequest(b *testing.B) {
	for _, by := range []string{"token", "admin", "session"} {
		b.Run("by="+by, func(b *testing.B) {
			st := newSite(b, func(o *Options) {
				o.Now, o.RateLimits = nil, limit.Limits{Calls: rate.Limit{Events: 1_000_000, Period: time.Second, Burst: 1_000_000}}
			})
			var req fasthttp.Request
			req.Header.SetRequestURI("/api/v1/me")
			switch by {
			case "token":
				req.Header.Set("Authorization", "Bearer "+st.tokenOfNew("ann@example.com", "member", "links:write"))
			case "admin":
				req.Header.Set("Authorization", "Bearer "+st.token)
			case "session":
				st.person("ann@example.com", "member")
				_, cookie, err := st.accounts.LogIn(turnstile.Key{}, "ann@example.com", goodPassword)
				if err != nil {
					b.Fatal(err)
				}
				req.Header.Set("Cookie", "shunt_session="+st.secret(cookie))
			}
			ctx := parsed(&req, tcpAddr("127.0.0.1"))
			b.ReportAllocs()
			for b.Loop() {
				ctx.Response.Reset()
				st.front.handle(ctx)
			}
			if ctx.Response.StatusCode() != 200 {
				b.Fatalf("got %d: %s", ctx.Response.StatusCode(), ctx.Response.Body())
			}
		})
	}
}
