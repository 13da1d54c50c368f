package exchange

import (
	"testing"
	"time"

	"shunt/engine/expect"
)

func TestPanicsOfOnePlaceAreLoggedOnceAMinute(t *testing.T) {
	var l PanicLog
	now := time.Now()
	want := func(site uintptr, after time.Duration, unlogged int, due bool) {
		t.Helper()
		u, d := l.count(panicSite{site}, now.Add(after))
		expect.That(t, u == unlogged && d == due, "site %d after %v: got %d, %v; want %d, %v", site, after, u, d, unlogged, due)
	}
	want(1, 0, 0, true)
	want(1, time.Second, 0, false)
	want(2, time.Second, 0, true)
	want(1, 59*time.Second, 0, false)
	want(1, 60*time.Second, 2, true)
	want(1, 61*time.Second, 0, false)
	for site := range uintptr(10 * maxPanicSites) {
		l.count(panicSite{site + 100}, now)
	}
	n := len(l.mu.sites)
	expect.That(t, n <= maxPanicSites, "%d places are remembered, want at most %d", n, maxPanicSites)
}
