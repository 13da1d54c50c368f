package wire

import (
	"net"

	"golang.org/x/sys/unix"
)

// DeferAccept lets the kernel keep connections of ln that send nothing, for a second: the client speaks first
// in HTTP and in TLS. More seconds would fill the kernel's queue. Listeners of other kinds stay as they are,
// and so does one whose kernel refuses. Call it for the listener below TLS.
func DeferAccept(ln net.Listener) {
	tcp, ok := ln.(*net.TCPListener)
	if !ok {
		return
	}
	if raw, err := tcp.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT, 1) })
	}
}
