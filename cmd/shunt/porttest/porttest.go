package porttest

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// Hold returns an address with a port at which nobody listens. Until the test's end, Linux gives the port
// only to listeners that name it and set SO_REUSEADDR, as those of Go do. So no other program gets it, neither before a
// server listens there nor while the server is restarted. Elsewhere the port was free a moment ago.
func Hold(t testing.TB, ip string) (address string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		ln, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		return ln.Addr().String()
	}
	address, end, err := hold(netip.MustParseAddr(ip))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
	return address
}

// hold binds a socket that does not listen.
func hold(ip netip.Addr) (address string, end func(), err error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return "", nil, os.NewSyscallError("socket", err)
	}
	unix.CloseOnExec(fd)
	err = errors.Join(
		os.NewSyscallError("setsockopt", unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)),
		os.NewSyscallError("bind", unix.Bind(fd, &unix.SockaddrInet4{Addr: ip.As4()})),
	)
	at, _ := unix.Getsockname(fd)
	bound, ok := at.(*unix.SockaddrInet4)
	if err != nil || !ok {
		_ = unix.Close(fd)
		return "", nil, errors.Join(err, errors.New("no port is held"))
	}
	return netip.AddrPortFrom(ip, uint16(bound.Port)).String(), func() { _ = unix.Close(fd) }, nil
}
