package porttest

import (
	"context"
	"errors"
	"net"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"shunt/engine/expect"
)

// TestAHeldPortIsForThoseWhoAskForIt listens at a held address again and again, also while connections of the listener
// before are left.
func TestAHeldPortIsForThoseWhoAskForIt(t *testing.T) {
	for _, ip := range []string{"127.0.0.1", "127.0.0.2"} {
		address := Hold(t, ip)
		_, err := net.Dial("tcp", address)
		expect.That(t, errors.Is(err, syscall.ECONNREFUSED), "a client while nobody listens: %v", err)
		for range 3 {
			ln, err := net.Listen("tcp", address)
			expect.OK(t, err)
			client, err := net.Dial("tcp", address)
			expect.OK(t, err)
			served, err := ln.Accept()
			expect.OK(t, err)
			expect.OK(t, errors.Join(ln.Close(), served.Close(), client.Close())) // the server is first: TIME-WAIT is its
		}
		if runtime.GOOS != "linux" {
			continue
		}
		others := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
			return errors.Join(err, c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 0) }))
		}}
		_, err = others.Listen(context.Background(), "tcp", address)
		expect.That(t, errors.Is(err, syscall.EADDRINUSE), "the system does not know that the port is taken: %v", err)
	}
}
