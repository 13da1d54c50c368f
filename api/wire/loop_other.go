//go:build !linux

package wire

import (
	"net"
	"sync/atomic"
)

// A loop is an event loop. There are none on this system.
type loop struct {
	number int32
	inbox  inbox
	conns  atomic.Int32

	pressedMs atomic.Int64
}

func (*loop) run() {}

// newLoops returns nil: fasthttp serves ln.
func (*Group) newLoops(*listener, net.Listener) *loops { return nil }

func (*loop) waitsForKernel() bool { return false }
