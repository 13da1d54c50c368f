package wire

import (
	"bytes"
	"net/netip"
	"os"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// This file is the system calls of the loops. Those that never block are raw: the runtime does not take part
// in them, which saves much of the cost of a short call.

// epollNow returns the number of events there are, without waiting for one.
func epollNow(epoll int, events []unix.EpollEvent) int {
	n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll), uintptr(unsafe.Pointer(&events[0])),
		uintptr(len(events)), 0, 0, 0)
	if errno != 0 {
		return 0
	}
	return int(n)
}

// epollWait waits for events, for ms milliseconds at most; -1: as long as it takes.
func epollWait(epoll int, events []unix.EpollEvent, ms int) int {
	n, err := unix.EpollWait(epoll, events, ms)
	if err != nil {
		return 0 // EINTR; no other error is possible as long as epoll is open
	}
	return n
}

// epollControl reports whether it has changed what epoll reports of fd. Events have key.
func epollControl(epoll, op, fd int, events uint32, key int32) bool {
	e := unix.EpollEvent{Events: events, Fd: key}
	_, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_CTL, uintptr(epoll), uintptr(op), uintptr(fd), uintptr(unsafe.Pointer(&e)), 0, 0)
	return errno == 0
}

// readNow reads what has come.
func readNow(fd int32, b []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}

// sendNow sends as much of b as the kernel takes. A connection that the client has closed is an
// error, not a signal.
func sendNow(fd int32, b []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), unix.MSG_NOSIGNAL, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}

func closeNow(fd int32) { _, _, _ = syscall.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0) }

// A peerAddr is an address as accept4 writes it.
type peerAddr unix.RawSockaddrAny

// acceptNow accepts a connection that waits at socket.
func acceptNow(socket int) (fd int32, peer peerAddr, errno syscall.Errno) {
	size := uint32(unsafe.Sizeof(peer))
	n, _, errno := syscall.RawSyscall6(unix.SYS_ACCEPT4, uintptr(socket), uintptr(unsafe.Pointer(&peer)),
		uintptr(unsafe.Pointer(&size)), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0, 0)
	return int32(n), peer, errno
}

// addr returns the address as AddrOf does.
func (p *peerAddr) addr() netip.Addr {
	switch p.Addr.Family {
	case unix.AF_INET:
		return netip.AddrFrom4((*unix.RawSockaddrInet4)(unsafe.Pointer(p)).Addr)
	case unix.AF_INET6:
		return netip.AddrFrom16((*unix.RawSockaddrInet6)(unsafe.Pointer(p)).Addr).Unmap()
	}
	return thisMachine
}

// waitingAt returns how many connections wait at socket to be accepted. For a Unix socket the kernel does not
// tell, and it returns an upper bound.
func waitingAt(socket int) int {
	info, err := unix.GetsockoptTCPInfo(socket, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return unix.SOMAXCONN
	}
	return int(info.Unacked) // of a listening socket (tcp_get_info in the kernel)
}

// waitsForKernel reports whether the loop's thread is in uninterruptible sleep (D in proc(5)), as in a
// page fault that a disk must serve.
func (lp *loop) waitsForKernel() bool {
	stat, err := os.ReadFile("/proc/self/task/" + strconv.Itoa(int(lp.thread.Load())) + "/stat")
	return err == nil && bytes.HasPrefix(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" D "))
}
