package wire

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"shunt/api/wire/conns"
	"shunt/engine/expect"
)

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
		l := listenerOf(b, conns.Limits{Connections: 1}, conns.DefaultPatience, testLogger(io.Discard))
		_, got := l.accept()
		expect.That(t, b.n == 2 && errors.Is(got, net.ErrClosed), "%v: it was tried %d times, then %v", err, b.n, got)
	}
	for _, err := range []error{syscall.EBADF, syscall.EINVAL, syscall.ENOTSOCK} {
		b := &brokenOnce{err: err}
		l := listenerOf(b, conns.Limits{Connections: 1}, conns.DefaultPatience, testLogger(io.Discard))
		_, got := l.accept()
		expect.That(t, b.n == 1 && errors.Is(got, err), "%v: it was tried %d times, then %v", err, b.n, got)
	}
}

func TestTwoEmptyLinesAre400HoweverTheyCome(t *testing.T) {
	const lines = "\r\n\r\nGET /x HTTP/1.1\r\nHost: a\r\n\r\n"
	for at := range 4 {
		st := newSite(t, conns.Limits{Connections: 10})
		c, r := st.dial(lines[:at])
		if at > 0 {
			st.l.await(func(c *conns.Served) bool { return c.Row.Heard() })
		}
		_, _ = io.WriteString(c, lines[at:])
		got, _ := io.ReadAll(r)
		expect.That(t, strings.HasPrefix(string(got), "HTTP/1.1 400 "), "split after %d bytes: got %q, want 400", at, got)
	}
}
