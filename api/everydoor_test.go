package api

import (
	"fmt"
	"io"
	"net"
	"testing"

	"shunt/engine/expect"
)

// A door is who answers plain requests on a public listener on a socket: event loops, the lane of
// connections that fasthttp owns, or fasthttp itself. All doors must give the same answers, keep and
// close the same connections, and count the same.
type door struct {
	name   string
	front  Front
	loops  int
	secure bool // over TLS
	handed bool // the connection has sent another request before
}

var doors = []door{
	{name: "fasthttp", front: FrontFasthttp},
	{name: "fasthttp over TLS", front: FrontFasthttp, secure: true},
	{name: "lane", loops: -1},
	{name: "lane over TLS", secure: true},
	{name: "lane after a loop", loops: 1, handed: true},
	{name: "loop", loops: 1},
	{name: "loops", loops: 2},
}

// options returns change with the options of d.
func (d *door) options(change func(*Options)) func(*Options) {
	return func(o *Options) {
		if change != nil {
			change(o)
		}
		o.Front, o.Loops = d.front, d.loops
	}
}

// everyDoor runs a test once through each door, on a site of its own. dial opens a connection.
func everyDoor(t *testing.T, change func(*Options), test func(t *testing.T, st *site, dial func() net.Conn)) {
	t.Helper()
	for _, d := range doors {
		t.Run("door="+d.name, func(t *testing.T) {
			st := newSite(t, d.options(change))
			test(t, st, d.open(t, st))
		})
	}
}

// open serves st through d, and returns what opens a connection to it.
func (d *door) open(t *testing.T, st *site) (open func() net.Conn) {
	t.Helper()
	if d.secure {
		addr := st.secureAddress("127.0.0.1")
		return func() net.Conn { return dialTLS(t, addr) }
	}
	addr := st.realAddress()
	return func() net.Conn {
		c, r := dial(t, addr, "")
		if d.handed {
			expect.OK(t, expect.Err(io.WriteString(c, requestText("GET", "/robots.txt", ""))))
			readReply(t, r, "GET").need(t, "", 200)
		}
		return c
	}
}

// difference shows where two texts differ first.
func difference(a, b string) string {
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	from := max(0, at-200)
	return fmt.Sprintf("after %d bytes of %d and %d:\n%.500q\n%.500q", at, len(a), len(b), a[from:], b[from:])
}
