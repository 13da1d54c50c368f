package wire

import (
	"io"
	"net"
	"testing"

	"github.com/valyala/fasthttp"

	"shunt/api/wire/conns"
	"shunt/engine/expect"
)

func TestTheLongestIdleAreEvictedWhenSlotsRunOut(t *testing.T) {
	st := newSite(t, conns.Limits{Connections: 3, Counts: new(conns.Counts)})
	ask := requestText("GET", "/x")
	for range 2 { // the third slot is that of the Accept under way
		_, r := st.dial(ask)
		readReply(t, r, "GET")
	}
	st.Sweep()
	st.Sweep()
	for range 20 { // each gets a slot, although no client disconnects
		_, r := st.dial(ask)
		got := readReply(t, r, "GET")
		expect.MustEqual(t, got.status, 302, "got %+v", got)
		st.l.await(func(c *conns.Served) bool { _, busy := c.Row.Noted(); return !busy })
		st.Sweep()
		st.Sweep()
	}
	got := st.Limits.Counts.Evicted.Load()
	expect.That(t, got >= 15, "%d were evicted, want about 20", got)
}

// fasthttp reports that a connection is closed after it has closed it, and a handler that streams may
// renew its time limit until it knows.
func TestAClosedConnectionLeavesItsRowToTheNext(t *testing.T) {
	l := listenerOf(nil, conns.Limits{Connections: 2}, conns.DefaultPatience, testLogger(io.Discard))
	track := func(addr string) *conn {
		_, server := net.Pipe()
		l.TakeSlot(nil)
		return l.track(connFrom{server, peerAt(addr)}).(*conn)
	}
	closed := track("192.0.2.1")
	expect.NoError(t, closed.Close())
	next := track("192.0.2.2")
	noteState(next, fasthttp.StateIdle)
	noteState(closed, fasthttp.StateClosed)
	Renew(closed)
	_, busy := next.Row.Noted()
	expect.That(t, !busy && next.Row == closed.Row, "got busy %v, the same row %v; want false, true", busy, next.Row == closed.Row)
}
