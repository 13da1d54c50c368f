package load

import (
	"errors"
	"fmt"
	"net/netip"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func address(s string) (to unix.SockaddrInet4, err error) {
	parsed, err := netip.ParseAddrPort(s)
	if err != nil || !parsed.Addr().Is4() || !parsed.Addr().IsLoopback() {
		return to, fmt.Errorf("%q is not an IPv4 loopback address with a port", s)
	}
	return unix.SockaddrInet4{Addr: parsed.Addr().As4(), Port: int(parsed.Port())}, nil
}

// open connects c, and watches it.
func (g *generator) open(c *connection, to *unix.SockaddrInet4) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("socket: %w", err)
	}
	c.fd = fd
	if g.Visitors {
		if err := bindSource(fd, sourceOf(g.sources)); err != nil {
			return err
		}
		g.sources++
	}
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		return fmt.Errorf("TCP_NODELAY: %w", err)
	}
	if err := unix.Connect(fd, to); err != nil && !errors.Is(err, unix.EINPROGRESS) {
		return fmt.Errorf("connect to %v: %w", to, err)
	}
	if err := g.awaitConnected(fd); err != nil {
		return err
	}
	return g.watch(c, unix.EPOLL_CTL_ADD, unix.EPOLLIN)
}

// bindSource sets the source address. The port is chosen at connect, when the kernel knows the
// other address, so it need not be free for all of them.
func bindSource(fd int, source [4]byte) error {
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1); err != nil {
		return fmt.Errorf("IP_BIND_ADDRESS_NO_PORT: %w", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: source}); err != nil {
		return fmt.Errorf("bind to %v: %w", source, err)
	}
	return nil
}

// awaitConnected waits until a connection stands.
func (g *generator) awaitConnected(fd int) error {
	for deadline := time.Now().Add(Tail); time.Now().Before(deadline); {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, int(Tail/time.Millisecond))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			break
		}
		if code, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR); err != nil || code != 0 {
			return fmt.Errorf("connect to %s: %w", g.Address, errors.Join(err, unix.Errno(code)))
		}
		return nil
	}
	return fmt.Errorf("connect to %s: no answer within %v", g.Address, Tail)
}

func (g *generator) watch(c *connection, operation int, events uint32) error {
	if err := unix.EpollCtl(g.epoll, operation, c.fd, &unix.EpollEvent{Events: events, Fd: c.index}); err != nil {
		return fmt.Errorf("epoll_ctl: %w", err)
	}
	return nil
}

// The system calls below are raw: Go's scheduler does not know that they may block. The process
// has nothing else to do.

func read(fd int, b []byte) (int, error) {
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
	if errno != 0 {
		return 0, fmt.Errorf("read: %w", errno)
	}
	return int(n), nil
}

func write(fd int, b []byte) (int, error) {
	n, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
	if errno == unix.EAGAIN {
		return 0, errno
	}
	if errno != 0 {
		return 0, fmt.Errorf("write: %w", errno)
	}
	return int(n), nil
}

// wait waits for events, at most for a time.
func wait(epoll int, events []unix.EpollEvent, patience time.Duration) (int, error) {
	timeout := unix.NsecToTimespec(int64(patience))
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(epoll), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)),
		uintptr(unsafe.Pointer(&timeout)), 0, 0)
	if errno == unix.EINTR {
		return 0, nil
	}
	if errno != 0 {
		return 0, fmt.Errorf("epoll_pwait2: %w", errno)
	}
	return int(n), nil
}
