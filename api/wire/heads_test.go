package wire

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/valyala/fasthttp"
)

// crowdAt is crowd with a clock of the test.
func crowdAt(t *testing.T, lim Limits, now *time.Duration) *listener {
	l := crowd(t, lim)
	l.age = func() time.Duration { return *now }
	return l
}

func TestFirstHeadsGoFirstTheOldestOfTheLargestNetwork(t *testing.T) {
	for name, flood := range map[string]string{"one /48": "2001:db8:1:%x::1", "one /24": "198.51.100.%d"} {
		t.Run(name, func(t *testing.T) {
			now := time.Second
			l := crowdAt(t, Limits{Connections: 16, PerAddress: 10}, &now)
			answered, visitor := join(t, l, "192.0.2.1"), join(t, l, "192.0.2.2")
			noteState(answered, fasthttp.StateIdle)
			l.finish(answered.row)
			var attack []*conn
			for i := range 9 {
				attack = append(attack, join(t, l, fmt.Sprintf(flood, i+1)))
			}
			for range 5 {
				l.slots <- struct{}{}
			}
			l.pass(3)
			now += ripeFor
			l.makeRoom()
			if isOpen(attack[0]) || !isOpen(attack[1]) || !isOpen(visitor) || !isOpen(answered) {
				t.Errorf("got open: oldest %v, second %v, visitor %v, answered %v", isOpen(attack[0]), isOpen(attack[1]), isOpen(visitor), isOpen(answered))
			}
		})
	}
}

func (l *listener) pass(seconds int) {
	for range seconds {
		l.sweep()
	}
}

func TestFirstHeadsOfANetworkAreLimitedAndAnsweredConnectionsAreNot(t *testing.T) {
	now := time.Second
	l := crowdAt(t, Limits{PerAddress: 1}, &now)
	for i := range 20 {
		c := join(t, l, fmt.Sprintf("2001:db8:1:%x::1", i))
		l.finish(c.row)
	}
	var silent []*conn
	for i := range 6 {
		silent = append(silent, join(t, l, fmt.Sprintf("2001:db8:1:%x::1", 100+i)))
	}
	if isOpen(silent[0]) || isOpen(silent[1]) || !isOpen(silent[2]) {
		t.Error("the two oldest must go for the fifth and the sixth")
	}
	if n := l.open(); n != 26 { // nobody reads from those that are closed
		t.Errorf("got %d connections", n)
	}
}

func TestARowIsACacheLine(t *testing.T) {
	if n := unsafe.Sizeof(row{}); n != 64 {
		t.Errorf("got %d bytes, want 64", n)
	}
}

func TestStrangersHaveAPoolOfTheirOwn(t *testing.T) {
	now := time.Second
	l := crowdAt(t, Limits{Connections: 100, FirstHeads: 3}, &now)
	first := join(t, l, "192.0.2.1")
	for i := range 6 {
		join(t, l, fmt.Sprintf("198.51.100.%d", i))
	}
	if n := l.mu.heads.n; n != 3 || !isOpen(first) {
		t.Errorf("got %d, the only one of its network open: %v; want 3, true", n, isOpen(first))
	}
}

func TestAFirstHeadHasLessTimeTheFewerSlotsAreFree(t *testing.T) {
	now := time.Second
	l := crowdAt(t, Limits{Connections: 20}, &now)
	for _, want := range []time.Duration{10, 10, 5, 1} { // after 5, 10, 15, 20
		for range 5 {
			join(t, l, "192.0.2.1")
		}
		l.mu.Lock()
		l.hurryLocked()
		l.mu.Unlock()
		if got := time.Duration(l.first.Load()); got != want*time.Second {
			t.Errorf("%d connections: got %v, want %v s", l.open(), got, want)
		}
	}
}

// Any history leaves the networks as a plain count has them, and all of it is gone at the end.
func TestHeadsAreCountedByNetwork(t *testing.T) {
	l := crowd(t, Limits{Connections: 1000})
	var rows []*row
	seed := uint32(1)
	random := func(n int) int { seed = seed*1664525 + 1013904223; return int(seed>>8) % n }
	for range 20_000 {
		if len(rows) < 500 && random(2) == 0 {
			r := l.join(netip.AddrFrom4([4]byte{10, 0, byte(random(20)), 1}), byServer)
			l.slots <- struct{}{}
			rows = append(rows, r)
		} else if i := random(max(1, len(rows))); i < len(rows) {
			l.forget(rows[i])
			rows[i] = rows[len(rows)-1]
			rows = rows[:len(rows)-1]
		}
		of, most := map[netip.Addr]int{}, 0
		for _, r := range rows {
			of[wideNetworkOf(r.peer())]++
			most = max(most, of[wideNetworkOf(r.peer())])
		}
		if h := &l.mu.heads; h.most != most || h.n != len(rows) || len(h.networks) != len(of) || most > 0 && h.by[most] == nil {
			t.Fatalf("got most %d, n %d, %d networks; want %d, %d, %d", h.most, h.n, len(h.networks), most, len(rows), len(of))
		}
	}
}

// brokenOnce fails with err, then accepts nothing for ever.
type brokenOnce struct {
	net.Listener
	err error
	n   int
}

func (b *brokenOnce) Accept() (net.Conn, error) {
	if b.n++; b.n == 1 {
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", b.err)}
	}
	return nil, net.ErrClosed
}

func TestOnlyAClosedSocketEndsAccepting(t *testing.T) {
	for _, err := range []error{
		syscall.EPERM, syscall.EPROTO, syscall.ENETDOWN, syscall.ENOPROTOOPT, syscall.EHOSTDOWN, syscall.EHOSTUNREACH, syscall.EOPNOTSUPP,
		syscall.ENETUNREACH, syscall.ECONNABORTED, syscall.ENOBUFS, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.ETIMEDOUT,
	} {
		b := &brokenOnce{err: err}
		l := newListener(b, Limits{Connections: 1}, DefaultPatience, testLogger(io.Discard))
		if _, got := l.accept(); b.n != 2 || !errors.Is(got, net.ErrClosed) {
			t.Errorf("%v: it was tried %d times, then %v", err, b.n, got)
		}
	}
	for _, err := range []error{syscall.EBADF, syscall.EINVAL, syscall.ENOTSOCK} {
		b := &brokenOnce{err: err}
		l := newListener(b, Limits{Connections: 1}, DefaultPatience, testLogger(io.Discard))
		if _, got := l.accept(); b.n != 1 || !errors.Is(got, err) {
			t.Errorf("%v: it was tried %d times, then %v", err, b.n, got)
		}
	}
}

func TestTwoEmptyLinesAre400HoweverTheyCome(t *testing.T) {
	const lines = "\r\n\r\nGET /x HTTP/1.1\r\nHost: a\r\n\r\n"
	for at := range 4 {
		st := newSite(t, Limits{Connections: 10})
		c, r := st.dial(lines[:at])
		if at > 0 {
			st.l.await(func(c *conn) bool { return c.row.heard() })
		}
		_, _ = io.WriteString(c, lines[at:])
		got, _ := io.ReadAll(r)
		if !strings.HasPrefix(string(got), "HTTP/1.1 400 ") {
			t.Errorf("split after %d bytes: got %q, want 400", at, got)
		}
	}
}
