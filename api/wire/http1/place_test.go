package http1

import (
	"fmt"
	"strings"
	"testing"

	"shunt/engine/expect"
)

func TestALargeBodyBelowTheRateLags(t *testing.T) {
	for name, c := range map[string]struct {
		seconds, moved  int64
		taken, arriving bool
		lags            bool
	}{
		"none":                       {100, 0, false, false, false},
		"just begun":                 {LargeBodyGrace, 0, true, true, false},
		"nothing has come":           {LargeBodyGrace + 1, 0, true, true, true},
		"it moves":                   {LargeBodyGrace + 10, 10 * LargeBodyRate, true, true, false},
		"it moves a little too slow": {LargeBodyGrace + 10, 10*LargeBodyRate - 1, true, true, true},
		"it has come":                {100, 1 << 20, true, false, false},
	} {
		const began = 7
		var p Place
		p.since.Store(began)
		p.taken.Store(c.taken)
		p.arriving.Store(c.arriving)
		lag := p.Lag(began+c.seconds, c.moved)
		expect.That(t, lag > 0 == c.lags, "%s: got a lag of %d, want one: %v", name, lag, c.lags)
	}
}

// The last bytes of a large body and the beginning of the next one may come in one piece.
func TestALargeBodyHasArrivedWhenTheNextHasBegun(t *testing.T) {
	const bytes, begin = 200 << 10, "POST /large HTTP/1.1\r\nHost: a\r\n"
	for name, head := range map[string]string{
		"of a length": fmt.Sprintf(begin+"Content-Length: %d\r\n\r\n", bytes), "in chunks": begin + "Transfer-Encoding: chunked\r\n\r\n",
	} {
		first := strings.Repeat(" ", bytes)
		if name == "in chunks" {
			first = fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", bytes, first)
		}
		var g Gate
		pass := func(raw string) { g.Pass([]byte(raw)) }
		pass(head)
		g.Large.taken.Store(true)
		g.Large.arriving.Store(true)
		pass(first[:len(first)-10])
		expect.That(t, g.Large.arriving.Load(), "%s: it arrived before its end", name)
		pass(first[len(first)-10:] + begin + "Content-Length: 5\r\n\r\n" + "12")
		expect.That(t, g.Refused == nil && g.InBody() && !g.Large.arriving.Load(),
			"%s: got %v and still arriving: %v, want it to have arrived", name, g.Refused, g.Large.arriving.Load())
	}
}
