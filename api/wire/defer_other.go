//go:build !linux

package wire

import "net"

// DeferAccept does nothing here.
func DeferAccept(net.Listener) {}
