package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"

	"shunt/engine/expect"
)

// TestNoConnectionIsMadeToANodeThatIsGivenUp: its packets are lost, so nothing answers. Without an end, it lasts for
// dialTimeout, and the error is another one.
func TestNoConnectionIsMadeToANodeThatIsGivenUp(t *testing.T) {
	address := silentAddress(t)
	p := newPeer()
	ended := make(chan error, 1)
	go func() {
		_, err := p.conns.dial(address, nil, new(tls.Config))
		ended <- err
	}()
	p.conns.closeAll()
	var dialing *net.OpError
	err := <-ended
	expect.That(t, errors.Is(err, context.Canceled) && errors.As(err, &dialing) && dialing.Op == "dial", "got %v, want an error of dialing, because it was cancelled", err)
	expect.Error(t, expect.Err(p.conns.dial(address, nil, new(tls.Config))), context.Canceled, "after that")
}

// silentAddress returns an address that answers nothing, because the queue of its socket is full.
func silentAddress(t *testing.T) string {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	expect.OK(t, err)
	t.Cleanup(func() { _ = unix.Close(fd) })
	expect.OK(t, errors.Join(unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), unix.Listen(fd, 0)))
	bound, err := unix.Getsockname(fd)
	expect.OK(t, err)
	at := bound.(*unix.SockaddrInet4)
	address := netip.AddrPortFrom(netip.AddrFrom4(at.Addr), uint16(at.Port)).String()
	for { // until one is not taken
		ctx, cancel := context.WithTimeout(t.Context(), overtakenAfter)
		filling, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		cancel()
		if err != nil {
			return address
		}
		t.Cleanup(func() { _ = filling.Close() })
	}
}
