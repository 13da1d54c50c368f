package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
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
	if err := <-ended; !errors.Is(err, context.Canceled) || !errors.As(err, &dialing) || dialing.Op != "dial" {
		t.Errorf("got %v, want an error of dialing, because it was cancelled", err)
	}
	if _, err := p.conns.dial(address, nil, new(tls.Config)); !errors.Is(err, context.Canceled) {
		t.Errorf("after that: got %v", err)
	}
}

// silentAddress returns an address that answers nothing, because the queue of its socket is full.
func silentAddress(t *testing.T) string {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if err := errors.Join(unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), unix.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	bound, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
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
