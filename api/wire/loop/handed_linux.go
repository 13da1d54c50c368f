package loop

import (
	"net"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"
)

// A handed is a connection that a loop has handed over. It uses the loop's descriptor: net.FileConn
// would need another one, and there may be none.
type handed struct {
	*os.File
	remote net.Addr
}

// newHanded returns the connection of fd, which is in non-blocking mode and unknown to epoll. Its
// other end has the address peer.
func newHanded(fd int32, peer netip.Addr) *handed {
	// fasthttp also sends large answers, so the kernel may enlarge the buffer again. Linux can since 5.14.
	_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_BUF_LOCK, 0)
	addr, _ := unix.Getpeername(int(fd)) // fails if the client has reset the connection
	return &handed{os.NewFile(uintptr(fd), "connection"), netAddrOf(addr, peer)}
}

// LocalAddr returns the address of this end.
func (h *handed) LocalAddr() net.Addr {
	var addr unix.Sockaddr
	_ = h.control(func(fd int) (err error) { // without an address, the zero one
		addr, err = unix.Getsockname(fd)
		return err
	})
	return netAddrOf(addr, netip.Addr{})
}

// RemoteAddr returns the address of the other end.
func (h *handed) RemoteAddr() net.Addr { return h.remote }

// CloseWrite closes the connection for writing.
func (h *handed) CloseWrite() error {
	return h.control(func(fd int) error { return unix.Shutdown(fd, unix.SHUT_WR) })
}

// SetLinger does what it does of a net.TCPConn.
func (h *handed) SetLinger(sec int) error {
	return h.control(func(fd int) error {
		return unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1, Linger: int32(sec)})
	})
}

func (h *handed) control(call func(fd int) error) error {
	raw, err := h.SyscallConn()
	if err != nil {
		return err
	}
	if failed := raw.Control(func(fd uintptr) { err = call(int(fd)) }); failed != nil {
		return failed
	}
	return err
}

// netAddrOf returns addr, or otherwise if the kernel does not know it any more.
func netAddrOf(addr unix.Sockaddr, otherwise netip.Addr) net.Addr {
	switch a := addr.(type) {
	case *unix.SockaddrInet4:
		return &net.TCPAddr{IP: a.Addr[:], Port: a.Port}
	case *unix.SockaddrInet6:
		return &net.TCPAddr{IP: a.Addr[:], Port: a.Port}
	case *unix.SockaddrUnix:
		return &net.UnixAddr{Name: a.Name, Net: "unix"}
	}
	return &net.TCPAddr{IP: otherwise.AsSlice()}
}

// A unixPeer stands for the connection of a plain request that has come through a Unix socket. Only
// its address is known.
type unixPeer struct {
	net.Conn // nil
	addr     net.UnixAddr
}

// LocalAddr returns the address of this end, without its name.
func (p *unixPeer) LocalAddr() net.Addr { return &p.addr }

// RemoteAddr returns the address of the other end, without its name.
func (p *unixPeer) RemoteAddr() net.Addr { return &p.addr }
