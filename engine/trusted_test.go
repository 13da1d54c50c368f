package engine_test

import (
	"testing"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
)

func TestMetricsTrustAClockOnceItHasSettled(t *testing.T) {
	for name, settles := range map[string]time.Duration{"at once": -1, "after an hour": time.Hour} {
		e := newTestEngine(t, engine.Options{FlushInterval: time.Millisecond, ClockSettles: settles})
		if settles > 0 { // else the first look may have come already
			expect.That(t, !e.Metrics().ClockTrusted, "%s: the clock is trusted before it was looked at", name)
		}
		l := e.create(t, "x")
		e.Hit(l, engine.Visit{Visitor: hashed(1), NowMs: time.Now().UnixMilli()})
		l.Release()
		if settles < 0 {
			eventually(t, "trust in the clock", func() bool { return e.Metrics().ClockTrusted })
			continue
		}
		eventually(t, "a flush", func() bool { return e.Metrics().Flushes > 0 })
		expect.That(t, !e.Metrics().ClockTrusted, "%s: the clock is trusted too early", name)
	}
}
