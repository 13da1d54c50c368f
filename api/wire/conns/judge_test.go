package conns

import (
	"fmt"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"shunt/api/turnstile"
	"shunt/api/wire/http1"
	"shunt/engine/expect"
)

func TestAConnectionIsJudgedByItsTimeAndWhatMoved(t *testing.T) {
	p := Patience{Head: 10 * time.Second, Request: 30 * time.Second, Idle: 75 * time.Second}
	for name, c := range map[string]struct {
		seconds int64
		busy    bool
		inHead  bool
		moved   int64
		want    health
	}{
		"idle, in time":                    {75, false, false, 0, well},
		"idle for too long":                {76, false, false, 0, Idle},
		"idle, a byte of a head just came": {12, false, true, 0, well},
		"a head in time":                   {10, true, true, 0, well},
		"a head that takes too long":       {11, true, true, 0, Late},
		"a head that takes for ever":       {33, true, true, 0, Dead},
		"a body in time":                   {30, true, false, 100, well},
		"a body that trickles":             {31, true, false, MinRate - 1, Late},
		"a body that trickles on":          {33, true, false, MinRate - 1, Dead},
		"a body that moves":                {60, true, false, 30 * MinRate, well},
		"a body that moved and stopped":    {61, true, false, 30 * MinRate, Late},
		"an answer that is read slowly":    {90, true, false, 60 * MinRate, well},
		"an answer that is not read on":    {93, true, false, 60 * MinRate, Dead},
	} {
		var r Row
		r.Note(c.busy, 0)
		r.Mark(StateInHead, c.inHead)
		expect.Equal(t, p.Judge(&r, c.moved, c.seconds, p.Head), c.want, name)
	}
}

// BenchmarkSweep measures one sweep when every connection is in time.
func BenchmarkSweep(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprintf("connections=%d", n), func(b *testing.B) {
			l := NewTable(Limits{Connections: n}, DefaultPatience, turnstile.New(turnstile.Limits{}), slog.New(slog.DiscardHandler))
			for range n {
				r := l.Join(netip.IPv4Unspecified(), ByServer)
				l.Serve(r, &Served{Row: r, Large: new(http1.Place)})
			}
			for b.Loop() {
				l.Seconds.Store(0)
				l.Sweep()
			}
		})
	}
}
