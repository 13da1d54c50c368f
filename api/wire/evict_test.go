package wire

import (
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/wire/http1"
)

// crowd returns a listener whose connections the test creates itself.
func crowd(t *testing.T, lim Limits) *listener {
	t.Helper()
	if lim.Connections == 0 {
		lim.Connections = 100
	}
	l := newListener(nil, lim, DefaultPatience, testLogger(io.Discard))
	l.sweep() // so that the clock is not at 0
	return l
}

// join tracks a connection from addr as Accept does; it returns nil if the connection is refused.
func join(t *testing.T, l *listener, addr string) *conn {
	t.Helper()
	client, server := net.Pipe()
	t.Cleanup(func() { _ = client.Close() })
	if !l.takeSlot() {
		t.Fatal("no slot")
	}
	tracked := l.track(connFrom{server, peerAt(addr)})
	if tracked == nil {
		<-l.slots
		return nil
	}
	return tracked.(*conn)
}

func isOpen(c *conn) bool { return c.SetDeadline(time.Time{}) == nil }

func TestAnAddressGetsItsShareOfConnectionsAndNoMore(t *testing.T) {
	l := crowd(t, Limits{PerAddress: 2, Exempt: &http1.Proxies{Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}})
	for _, addr := range []string{"192.0.2.1", "192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2:1", "2001:db8:0:1::1"} {
		if join(t, l, addr) == nil {
			t.Errorf("%s: refused", addr)
		}
	}
	for _, addr := range []string{"192.0.2.1", "2001:db8::3", "::ffff:192.0.2.1"} {
		if join(t, l, addr) != nil {
			t.Errorf("a third connection from %s was accepted", addr)
		}
	}
	for _, addr := range []string{"10.0.0.1", "127.0.0.1", "::1"} { // a trusted proxy, this machine
		for range 5 {
			if join(t, l, addr) == nil {
				t.Errorf("%s: refused", addr)
			}
		}
	}
	if got := l.limits.Counts.Evicted.Load(); got != 0 {
		t.Errorf("%d were evicted, although none was idle", got)
	}
	for _, c := range l.conns() {
		check(t, c.Close())
	}
	if len(l.mu.addresses) != 0 || len(l.slots) != 0 {
		t.Errorf("without connections there are %d addresses and %d slots taken", len(l.mu.addresses), len(l.slots))
	}
}

func TestAFullShareGivesUpItsLongestIdleConnection(t *testing.T) {
	l := crowd(t, Limits{PerAddress: 3})
	busy, first, second := join(t, l, "192.0.2.1"), join(t, l, "192.0.2.1"), join(t, l, "192.0.2.1")
	noteState(first, fasthttp.StateIdle)
	l.sweep()
	noteState(second, fasthttp.StateIdle)
	l.sweep()
	if join(t, l, "192.0.2.1") == nil || isOpen(first) || !isOpen(second) || !isOpen(busy) {
		t.Errorf("got open: idle for 2 s %v, for 1 s %v, busy %v", isOpen(first), isOpen(second), isOpen(busy))
	}
	if join(t, l, "192.0.2.1") != nil || !isOpen(second) {
		t.Error("a connection idle for one tick, which may be a millisecond, was evicted")
	}
	l.sweep()
	if join(t, l, "192.0.2.1") == nil || isOpen(second) || !isOpen(busy) {
		t.Error("the next connection did not get the place of the next idle one")
	}
	if join(t, l, "192.0.2.1") != nil {
		t.Error("a connection was accepted although all are busy")
	}
	check(t, first.Close())
	if first.row.counted {
		t.Error("an evicted connection is still counted")
	}
	if got := l.mu.addresses[busy.row.peer()].n; got != 3 {
		t.Errorf("got %d connections of the address, want 3", got)
	}
}

func TestWithoutALimitPerAddressNoneIsCounted(t *testing.T) {
	l := crowd(t, Limits{})
	for range 50 {
		if join(t, l, "192.0.2.1") == nil {
			t.Fatal("refused")
		}
	}
	if len(l.mu.addresses) != 0 {
		t.Error("addresses are counted although there is no limit")
	}
}

func TestTheLongestIdleAreEvictedWhenSlotsRunOut(t *testing.T) {
	st := newSite(t, Limits{Connections: 3, Counts: new(Counts)})
	ask := requestText("GET", "/x")
	for range 2 { // the third slot is that of the Accept under way
		_, r := st.dial(ask)
		readReply(t, r, "GET")
	}
	st.Sweep()
	st.Sweep()
	for range 20 { // each gets a slot, although no client disconnects
		_, r := st.dial(ask)
		if got := readReply(t, r, "GET"); got.status != 302 {
			t.Fatalf("got %+v", got)
		}
		st.l.await(func(c *conn) bool { _, busy := c.row.noted(); return !busy })
		st.Sweep()
		st.Sweep()
	}
	if got := st.Limits.Counts.Evicted.Load(); got < 15 {
		t.Errorf("%d were evicted, want about 20", got)
	}
}

// fasthttp reports that a connection is closed after it has closed it, and a handler that streams may
// renew its time limit until it knows.
func TestAClosedConnectionLeavesItsRowToTheNext(t *testing.T) {
	l := crowd(t, Limits{})
	closed := join(t, l, "192.0.2.1")
	check(t, closed.Close())
	next := join(t, l, "192.0.2.2")
	noteState(next, fasthttp.StateIdle)
	noteState(closed, fasthttp.StateClosed)
	Renew(closed)
	if _, busy := next.row.noted(); busy || next.row != closed.row {
		t.Errorf("got busy %v, the same row %v; want false, true", busy, next.row == closed.row)
	}
}
