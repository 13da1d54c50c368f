package conns

import (
	"log/slog"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"shunt/api/turnstile"
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
			if turns := l.Seconds.Load() - before; turns > 1 {
				t.Errorf("round %d: %d turns in an hour without connections", i, turns)
			}
			before = l.Seconds.Load()
			l.slots <- struct{}{}
			r := l.Join(netip.MustParseAddr("127.0.0.1"), ByServer)
			time.Sleep(10*time.Second + time.Millisecond)
			if turns := l.Seconds.Load() - before; turns != 10 {
				t.Errorf("round %d: %d turns in ten seconds with a connection", i, turns)
			}
			l.Forget(r)
		}
		close(done)
	})
}
