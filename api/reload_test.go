package api

import (
	"net/netip"
	"testing"

	"shunt/api/limit"
	"shunt/engine/expect"
)

// A changed limit begins with nothing counted; one that did not change keeps its counts.
func TestAReloadReplacesLimitsAndKeepsTheOthersCounts(t *testing.T) {
	st := limitedSite(t, nil)
	a := asker{t, st.from("198.51.100.7"), nil}
	want := func(when string, path string, statuses ...int) {
		t.Helper()
		for i, status := range statuses {
			expect.Equal(t, a.ask("GET", path, "").status, status, "%s, request %d for %s", when, i, path)
		}
	}
	limits := limit.Limits{Misses: limitOf(t, "1/min:3"), Calls: limitOf(t, "1/s:3")}
	st.Server.Reload(Reloadable{RateLimits: limits})
	want("at first", "/none", 404, 404, 404, 429)
	st.Server.Reload(Reloadable{RateLimits: limits})
	want("the same limit", "/none", 429)
	limits.Misses = limitOf(t, "1/min:1")
	st.Server.Reload(Reloadable{RateLimits: limits})
	want("a lower limit", "/none", 404, 429)
	limits.Misses = limitOf(t, "off")
	st.Server.Reload(Reloadable{RateLimits: limits})
	want("no limit", "/none", 404, 404, 404)
	expect.Equal(t, st.metric(`shunt_rate_limited_total{scope="misses"}`), "3", "refused misses are counted")
}

func TestAReloadChangesWhoIsATrustedProxy(t *testing.T) {
	st := limitedSite(t, nil)
	proxy := asker{t, st.from("198.51.100.7"), nil}
	misses := func(client string) int {
		return proxy.ask("GET", "/none", "", "X-Forwarded-For: "+client).status
	}
	for range 3 {
		misses("203.0.113.1")
	}
	expect.Equal(t, misses("203.0.113.2"), 429, "a peer that is not trusted has named its client")
	limits := limit.Limits{Misses: limitOf(t, "1/min:3")}
	st.Server.Reload(Reloadable{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}, RateLimits: limits})
	expect.Equal(t, misses("203.0.113.2"), 404, "a client behind a proxy that is trusted now")
	st.Server.Reload(Reloadable{RateLimits: limits})
	expect.Equal(t, misses("203.0.113.3"), 429, "a client behind a proxy that is trusted no more")
}
