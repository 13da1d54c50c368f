//go:build !race

package api

import (
	"fmt"
	"net"
	"os"
	"sync/atomic"

	"shunt/engine/expect"
)

var unixListeners atomic.Int64

// A unixDialer is the name of a Unix socket.
type unixDialer string

func (d unixDialer) Dial() (net.Conn, error) { return net.Dial("unix", string(d)) }

// servePublic serves the public address on a Unix socket without a file, so that event loops answer.
// The race detector does not know that a loop reads after a client has written, so there, and
// elsewhere, the public address is served in memory.
func (st *site) servePublic() dialer {
	name := fmt.Sprintf("@shunt-test-%d-%d", os.Getpid(), unixListeners.Add(1))
	ln, err := net.Listen("unix", name)
	expect.OK(st.t, err)
	st.serveOn(ln, st.ServePublic)
	return unixDialer(name)
}
