package conns

import (
	"log/slog"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"shunt/api/turnstile"
	"shunt/engine/expect"
)

// TestTheSweeperRestsWithoutConnections counts its turns by its clock.
func TestTheSweeperRestsWithoutConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewTable(Limits{Connections: 4}, DefaultPatience, turnstile.New(turnstile.Limits{}), slog.New(slog.DiscardHandler))
		done := make(chan struct{})
		go l.SweepUntil(done)
		for i := range 3 {
			before := l.Seconds.Load()
			time.Sleep(time.Hour)
			turns := l.Seconds.Load() - before
			expect.That(t, turns <= 1, "round %d: %d turns in an hour without connections", i, turns)
			before = l.Seconds.Load()
			l.slots <- struct{}{}
			r := l.Join(netip.MustParseAddr("127.0.0.1"), ByServer)
			time.Sleep(10*time.Second + time.Millisecond)
			expect.Equal(t, l.Seconds.Load()-before, 10, "round %d turns in ten seconds with a connection", i)
			l.Forget(r)
		}
		close(done)
	})
}
