package wire

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// newLoops returns the loops that serve ln, and closes ln: Go's own poller would wake for every
// connection, too. A Unix listener stays open, because Close removes its file; stopAccepting closes it.
// newLoops returns nil if fasthttp must serve ln: no loops are wanted, or the kernel gives
// none.
func (g *Group) newLoops(l *listener, ln net.Listener) *loops {
	socketed, ok := ln.(interface {
		SyscallConn() (syscall.RawConn, error)
	})
	if !ok || g.Loops <= 0 {
		return nil
	}
	ls, err := g.openLoops(l, socketed)
	if err != nil {
		g.Log.Warn("no event loops; every connection costs more", slog.Any("cause", err))
		return nil
	}
	if _, named := ln.(*net.UnixListener); !named {
		_ = ln.Close() // the loops have a descriptor of their own
	}
	shortenSlices()
	return ls
}

func (g *Group) openLoops(l *listener, ln interface {
	SyscallConn() (syscall.RawConn, error)
}) (*loops, error) {
	socket, err := socketOf(ln)
	if err != nil {
		return nil, err
	}
	ls := &loops{done: make(chan struct{})}
	ls.left.Store(int32(g.Loops))
	for i := range g.Loops {
		lp, err := g.newLoop(l, int32(i), socket)
		if err != nil {
			ls.closeFiles()
			return nil, errors.Join(err, unix.Close(socket))
		}
		ls.each = append(ls.each, lp)
	}
	return ls, nil
}

// socketOf returns a descriptor of the listening socket. What is set here, the connections inherit.
func socketOf(ln interface {
	SyscallConn() (syscall.RawConn, error)
}) (socket int, err error) {
	raw, err := ln.SyscallConn()
	if err != nil {
		return 0, err
	}
	failed := raw.Control(func(fd uintptr) {
		if socket, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0); err != nil {
			return
		}
		_ = unix.SetNonblock(socket, true) // whoever passed it on may have changed that; it fails for no socket
		if isUnix(socket) {
			return
		}
		if err = inherit(socket); err != nil {
			_ = unix.Close(socket)
		}
	})
	return socket, errors.Join(failed, err)
}

func isUnix(socket int) bool {
	family, _ := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_DOMAIN) // fails for no socket
	return family == unix.AF_UNIX
}

// sendBufferBytes is what the kernel keeps of answers that the client of a loop has not read; it doubles
// the number for its own needs. Without it, that is up to 4 MiB, for clients that never read, too:
// 0.8 MB were measured. It is enough for 200 redirects in one write.
const sendBufferBytes = 64 << 10

// inherit sets what accepted TCP connections inherit. There are no keep-alive probes as package net
// sends them: patience ends an idle connection after 75 s, long before probes would. Their timers
// expire at once for connections of the same quarter of a second; 10,000 held a core for 3 to 5 ms.
func inherit(socket int) error {
	return errors.Join(
		unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_SNDBUF, sendBufferBytes),
		unix.SetsockoptInt(socket, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1),
		unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_KEEPALIVE, 0), // whoever passed it on may have set it
	)
}

func (g *Group) newLoop(l *listener, number int32, socket int) (*loop, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll_create1: %w", err)
	}
	wakeup, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("eventfd: %w", err), unix.Close(epoll))
	}
	lp := &loop{
		number: number, l: l, epoll: epoll, wakeup: wakeup, answers: newAnswers(g), intake: intake{socket: socket, asleep: true},
	}
	if isUnix(socket) {
		lp.stand = &unixPeer{addr: net.UnixAddr{Net: "unix"}}
	}
	lp.inbox.wake = func() { _, _ = unix.Write(wakeup, []byte{1, 0, 0, 0, 0, 0, 0, 0}) }
	// Edge-triggered, so that the eventfd need not be read: each write to it is an event.
	if !epollControl(epoll, unix.EPOLL_CTL_ADD, wakeup, unix.EPOLLIN|unix.EPOLLET, keyWakeup) {
		lp.closeFiles()
		return nil, errors.New("epoll_ctl: cannot wait for orders")
	}
	lp.resumeAccepting()
	return lp, nil
}

// closeFiles closes the loop's own descriptors. Nothing may wake the loop afterwards.
func (lp *loop) closeFiles() {
	lp.inbox.mu.Lock()
	lp.inbox.wake = nil
	lp.inbox.mu.Unlock()
	_ = unix.Close(lp.wakeup)
	_ = unix.Close(lp.epoll)
}

func (ls *loops) closeFiles() {
	for _, lp := range ls.each {
		lp.closeFiles()
	}
}
