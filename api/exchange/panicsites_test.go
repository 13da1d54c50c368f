package exchange

import (
	"testing"
	"time"
)

func TestPanicsOfOnePlaceAreLoggedOnceAMinute(t *testing.T) {
	var l PanicLog
	now := time.Now()
	expect := func(site uintptr, after time.Duration, unlogged int, due bool) {
		t.Helper()
		if u, d := l.count(panicSite{site}, now.Add(after)); u != unlogged || d != due {
			t.Errorf("site %d after %v: got %d, %v; want %d, %v", site, after, u, d, unlogged, due)
		}
	}
	expect(1, 0, 0, true)
	expect(1, time.Second, 0, false)
	expect(2, time.Second, 0, true)
	expect(1, 59*time.Second, 0, false)
	expect(1, 60*time.Second, 2, true)
	expect(1, 61*time.Second, 0, false)
	for site := range uintptr(10 * maxPanicSites) {
		l.count(panicSite{site + 100}, now)
	}
	if n := len(l.mu.sites); n > maxPanicSites {
		t.Errorf("%d places are remembered, want at most %d", n, maxPanicSites)
	}
}
