package api

import (
	"net/netip"
	"testing"

	"shunt/api/limit"
)

// A changed limit begins with nothing counted; one that did not change keeps its counts.
func TestAReloadReplacesLimitsAndKeepsTheOthersCounts(t *testing.T) {
	st := limitedSite(t, nil)
	a := asker{t, st.from("198.51.100.7"), nil}
	want := func(when string, path string, statuses ...int) {
		t.Helper()
		for i, status := range statuses {
			if got := a.ask("GET", path, "").status; got != status {
				t.Errorf("%s, request %d for %s: got %d, want %d", when, i, path, got, status)
			}
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
	if got := st.metric(`shunt_rate_limited_total{scope="misses"}`); got != "3" {
		t.Errorf("%s refused misses are counted, want 3", got)
	}
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
	if got := misses("203.0.113.2"); got != 429 {
		t.Errorf("a peer that is not trusted has named its client: got %d", got)
	}
	limits := limit.Limits{Misses: limitOf(t, "1/min:3")}
	st.Server.Reload(Reloadable{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}, RateLimits: limits})
	if got := misses("203.0.113.2"); got != 404 {
		t.Errorf("a client behind a proxy that is trusted now: got %d", got)
	}
	st.Server.Reload(Reloadable{RateLimits: limits})
	if got := misses("203.0.113.3"); got != 429 {
		t.Errorf("a client behind a proxy that is trusted no more: got %d", got)
	}
}
