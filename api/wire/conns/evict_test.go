package conns

import (
	"log/slog"
	"net"
	"net/netip"
	"testing"
	"time"

	"shunt/api/turnstile"
	"shunt/api/wire/http1"
	"shunt/engine/expect"
)

// crowd returns a table whose connections the test creates itself.
func crowd(t *testing.T, lim Limits) *Table {
	t.Helper()
	if lim.Connections == 0 {
		lim.Connections = 100
	}
	l := NewTable(lim, DefaultPatience, turnstile.New(turnstile.Limits{}), slog.New(slog.DiscardHandler))
	l.Sweep() // so that the clock is not at 0
	return l
}

// join adds a connection from addr as a listener does; it returns nil if the connection is refused.
func join(t *testing.T, l *Table, addr string) *Served {
	t.Helper()
	client, server := net.Pipe()
	t.Cleanup(func() { _ = client.Close() })
	expect.MustThat(t, l.TakeSlot(nil), "no slot")
	r := l.Join(netip.MustParseAddr(addr).Unmap(), ByServer)
	if r == nil {
		l.LeaveSlot()
		return nil
	}
	c := &Served{Conn: server, Row: r, Large: new(http1.Place)}
	l.Serve(r, c)
	return c
}

// answered records that c's request has been answered.
func (l *Table) answered(c *Served) { c.Row.Note(false, l.Seconds.Load()) }

// connections returns the connections that fasthttp owns.
func (l *Table) connections() (all []*Served) {
	l.Each(func(r *Row) { all = append(all, r.conn) })
	return all
}

// end closes c as its owner does.
func (l *Table) end(c *Served) {
	_ = c.Close()
	l.Forget(c.Row)
}

func isOpen(c *Served) bool { return c.SetDeadline(time.Time{}) == nil }

func TestAnAddressGetsItsShareOfConnectionsAndNoMore(t *testing.T) {
	l := crowd(t, Limits{PerAddress: 2, Exempt: &http1.Proxies{Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}})
	for _, addr := range []string{"192.0.2.1", "192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2:1", "2001:db8:0:1::1"} {
		expect.That(t, join(t, l, addr) != nil, "%s: refused", addr)
	}
	for _, addr := range []string{"192.0.2.1", "2001:db8::3", "::ffff:192.0.2.1"} {
		expect.That(t, join(t, l, addr) == nil, "a third connection from %s was accepted", addr)
	}
	for _, addr := range []string{"10.0.0.1", "127.0.0.1", "::1"} { // a trusted proxy, this machine
		for range 5 {
			expect.That(t, join(t, l, addr) != nil, "%s: refused", addr)
		}
	}
	expect.Equal(t, l.Limits.Counts.Evicted.Load(), 0, "were evicted, although none was idle")
	for _, c := range l.connections() {
		l.end(c)
	}
	expect.That(t, len(l.mu.addresses) == 0 && len(l.slots) == 0,
		"without connections there are %d addresses and %d slots taken", len(l.mu.addresses), len(l.slots))
}

func TestAFullShareGivesUpItsLongestIdleConnection(t *testing.T) {
	l := crowd(t, Limits{PerAddress: 3})
	busy, first, second := join(t, l, "192.0.2.1"), join(t, l, "192.0.2.1"), join(t, l, "192.0.2.1")
	l.answered(first)
	l.Sweep()
	l.answered(second)
	l.Sweep()
	expect.That(t, join(t, l, "192.0.2.1") != nil && !isOpen(first) && isOpen(second) && isOpen(busy),
		"got open: idle for 2 s %v, for 1 s %v, busy %v", isOpen(first), isOpen(second), isOpen(busy))
	expect.That(t, join(t, l, "192.0.2.1") == nil && isOpen(second), "a connection idle for one tick, which may be a millisecond, was evicted")
	l.Sweep()
	expect.That(t, join(t, l, "192.0.2.1") != nil && !isOpen(second) && isOpen(busy),
		"the next connection did not get the place of the next idle one")
	expect.That(t, join(t, l, "192.0.2.1") == nil, "a connection was accepted although all are busy")
	l.end(first)
	expect.That(t, !first.Row.counted, "an evicted connection is still counted")
	expect.Equal(t, l.mu.addresses[busy.Row.Peer()].n, 3, "connections of the address")
}

func TestWithoutALimitPerAddressNoneIsCounted(t *testing.T) {
	l := crowd(t, Limits{})
	for range 50 {
		expect.MustThat(t, join(t, l, "192.0.2.1") != nil, "refused")
	}
	expect.Equal(t, len(l.mu.addresses), 0, "addresses are counted although there is no limit")
}

// All rows that there may be have a number and can be used, and a row's clock lasts.
func TestTheTableHoldsAllConnections(t *testing.T) {
	l := crowd(t, Limits{Connections: MaxConnections, PerAddress: MaxConnections})
	addr := netip.MustParseAddr("192.0.2.1")
	seen := make(map[uint16]bool)
	for range MaxConnections {
		l.slots <- struct{}{}
		seen[l.Join(addr, ByServer).Number] = true
	}
	expect.That(t, len(seen) == MaxConnections && !seen[0] && seen[MaxConnections] && l.mu.addresses[addr].n == MaxConnections,
		"got %d numbers, %d of the address", len(seen), l.mu.addresses[addr].n)
	for number := range seen {
		l.Forget(l.mu.at(number))
	}
	expect.That(t, l.Open() == 0 && len(l.mu.addresses) == 0 && len(l.slots) == 0,
		"got %d open, %d addresses, %d slots", l.Open(), len(l.mu.addresses), len(l.slots))
	var r Row
	const years15 = 15 * 366 * 24 * 3600
	if r.Note(true, years15); r.InHead() || r.Heard() {
		t.Error("the clock runs into the other bits")
	}
	since, busy := r.Noted()
	expect.That(t, since == years15 && busy, "got %d, %v", since, busy)
}
