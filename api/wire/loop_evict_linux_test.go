package wire

import (
	"bufio"
	"io"
	"net"
	"net/netip"
	"runtime"
	"testing"

	"shunt/api/wire/conns"
	"shunt/api/wire/http1"
	"shunt/engine/expect"
)

// ownAddress returns an address of this machine that is not of its loopback, so that it counts.
func ownAddress(t *testing.T) net.IP {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	expect.NoError(t, err)
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			return n.IP
		}
	}
	t.Skip("this machine has only its loopback address")
	return nil
}

// dialFrom opens a connection from an address of this machine and sends raw. If it is refused, the
// reader ends.
func (st *loopSite) dialFrom(ip net.IP, raw string) (net.Conn, *bufio.Reader) {
	st.t.Helper()
	c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: ip}}).Dial("tcp", st.addr)
	if err != nil {
		st.t.Skip("the loopback cannot be reached from another address here:", err)
	}
	st.t.Cleanup(func() { _ = c.Close() })
	_, _ = io.WriteString(c, raw)
	return c, bufio.NewReader(c)
}

func refused(r *bufio.Reader) bool {
	_, err := r.Peek(1)
	return err != nil
}

// awaitIdle waits until no request is under way on any connection.
func (st *loopSite) awaitIdle() {
	for busy := true; busy; {
		busy = false
		st.l.Each(func(r *conns.Row) {
			_, now := r.Noted()
			busy = busy || now
		})
	}
}

func TestAnAddressHasOneShareOfBothDoors(t *testing.T) {
	ip := ownAddress(t)
	st := newLoopSite(t, 2, conns.Limits{Connections: 100, PerAddress: 4})
	asks := []string{requestText("GET", "/x"), requestText("GET", "/a/b")}
	var readers []*bufio.Reader
	for i := range 4 { // two of loops, two of fasthttp
		_, r := st.dialFrom(ip, asks[i%2])
		readReply(t, r, "GET")
		readers = append(readers, r)
	}
	st.awaitIdle()
	for _, ask := range asks {
		_, r := st.dialFrom(ip, ask)
		expect.That(t, refused(r), "a fifth connection was served")
	}
	expect.Equal(t, st.Limits.Counts.Address.Load(), 2, "were refused")
	st.pass(1)
	for i := range 4 { // each evicts one that was idle for longest, whoever owns it
		st.pass(2)
		_, r := st.dialFrom(ip, asks[1-i%2])
		readReply(t, r, "GET")
		st.awaitIdle()
	}
	for i, r := range readers {
		expect.That(t, refused(r), "connection %d was not evicted", i)
	}
	for range 20 { // this machine, by its loopback address
		_, r := st.dial(asks[0])
		readReply(t, r, "GET")
	}
	expect.Equal(t, st.l.Usage().Addresses, 1, "addresses are counted")
}

func TestATrustedProxyIsExemptInALoop(t *testing.T) {
	ip := ownAddress(t)
	proxies := &http1.Proxies{Trusted: []netip.Prefix{netip.PrefixFrom(http1.AddrOf(&net.TCPAddr{IP: ip}), 32)}}
	st := newLoopSite(t, 2, conns.Limits{Connections: 100, PerAddress: 2, Exempt: proxies})
	for range 10 {
		_, r := st.dialFrom(ip, requestText("GET", "/x"))
		readReply(t, r, "GET")
	}
}

// A connection may be chosen for eviction while a request on it waits to be read. Then it is kept.
func TestAConnectionThatIsBusyAgainIsNotEvicted(t *testing.T) {
	ip := ownAddress(t)
	for name, sent := range map[string]string{"its head has begun": "GET /x HTTP/1.1\r\n", "it is handed over": "GET /a/b HTTP/1.1\r\n"} {
		t.Run(name, func(t *testing.T) {
			st := newLoopSite(t, 1, conns.Limits{Connections: 100, PerAddress: 1})
			c, r := st.dialFrom(ip, requestText("GET", "/x"))
			readReply(t, r, "GET")
			st.awaitIdle()
			release := st.hold()
			st.pass(2)
			_, err := io.WriteString(c, sent)
			expect.NoError(t, err)
			expect.MustThat(t, st.evictOf(http1.AddrOf(&net.TCPAddr{IP: ip})) && st.l.Usage().Counted == 0, "it was not chosen")
			release()
			for st.l.Usage().Evicting > 0 {
				runtime.Gosched()
			}
			_, err = io.WriteString(c, "Host: a\r\n\r\n")
			expect.NoError(t, err)
			readReply(t, r, "GET")
			expect.Equal(t, st.l.Usage().Counted, 1, "are counted")
		})
	}
}

// evictOf lets a connection from addr, whose share is full, come and go. It reports whether another was chosen for it.
func (st *loopSite) evictOf(addr netip.Addr) (chosen bool) {
	st.l.TakeSlot(nil)
	r := st.l.Join(addr, conns.ByServer)
	if r == nil {
		st.l.LeaveSlot()
		return false
	}
	st.l.Forget(r)
	return true
}
