package wire

import (
	"log/slog"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

// TestTheSweeperRestsWithoutConnections counts its turns by its clock.
func TestTheSweeperRestsWithoutConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newListener(&net.TCPListener{}, Limits{Connections: 4}, DefaultPatience, slog.New(slog.DiscardHandler))
		done := make(chan struct{})
		go l.sweepUntil(done)
		for i := range 3 {
			before := l.seconds.Load()
			time.Sleep(time.Hour)
			if turns := l.seconds.Load() - before; turns > 1 {
				t.Errorf("round %d: %d turns in an hour without connections", i, turns)
			}
			before = l.seconds.Load()
			l.slots <- struct{}{}
			r := l.join(netip.MustParseAddr("127.0.0.1"), byServer)
			time.Sleep(10*time.Second + time.Millisecond)
			if turns := l.seconds.Load() - before; turns != 10 {
				t.Errorf("round %d: %d turns in ten seconds with a connection", i, turns)
			}
			l.forget(r)
		}
		close(done)
	})
}
