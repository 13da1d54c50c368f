//go:build !linux

package loop

import (
	"net"
	"sync/atomic"

	"shunt/api/wire/conns"
)

// A loop is an event loop. There are none on this system.
type loop struct {
	inbox conns.Inbox
	conns atomic.Int32

	pressedMs atomic.Int64
}

func (*loop) run() {}

// New returns nil: fasthttp serves ln.
func New(*conns.Table, int, net.Listener, Use) *Loops { return nil }

func (*loop) waitsForKernel() bool { return false }
