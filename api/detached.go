package api

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/wire"
)

// A detached is a RequestCtx without a fasthttp server. With it, whoever reads plain requests
// answers them by the same handlers as fasthttp, and so with the same bytes. It starts no goroutine.
type detached struct {
	ctx  fasthttp.RequestCtx
	peer peerConn
	head bytes.Reader
	buf  *bufio.Reader // of head, large enough for all of it
	out  []byte        // what Write appends to
}

// detachedPool has a detached for each thread that answers a plain request with it at present. One
// has up to 16 KiB for the head, and the answer's fields.
var detachedPool = sync.Pool{New: newDetached}

func newDetached() any {
	d := &detached{buf: bufio.NewReader(nil)}
	d.ctx.Init2(&d.peer, nil, false)
	return d
}

// detach returns a detached with the connection of r, but not yet its head.
func detach(r *wire.Plain) *detached {
	d := detachedPool.Get().(*detached)
	d.peer.set(r.Peer)
	if r.Conn != nil {
		d.ctx.Init2(r.Conn, nil, false)
	}
	d.ctx.Response.Header.SetNoDefaultContentType(true) // as wire.Group does
	return d
}

// errNotPlain is the error of a head whose end fasthttp sees elsewhere.
var errNotPlain = errors.New("api: the request is not plain")

// read reads the head of r as fasthttp does.
func (d *detached) read(r *wire.Plain) error {
	if d.buf.Size() < len(r.Raw) {
		d.buf = bufio.NewReaderSize(nil, len(r.Raw))
	}
	d.head.Reset(r.Raw)
	d.buf.Reset(&d.head)
	err := d.ctx.Request.Header.Read(d.buf)
	if err == nil && d.buf.Buffered() > 0 {
		err = errNotPlain
	}
	return err
}

// appendTo appends the answer in d to out, for the client of r.
func (d *detached) appendTo(out []byte, r *wire.Plain) []byte {
	d.ctx.Response.SkipBody = r.Head
	if r.Closes {
		d.ctx.SetConnectionClose()
	}
	d.out = out
	wire.RefreshDate(time.UnixMilli(r.NowMs))
	_, _ = d.ctx.Response.WriteTo(d) // Write does not fail
	return d.out
}

// Write appends b to the answers.
func (d *detached) Write(b []byte) (int, error) {
	d.out = append(d.out, b...)
	return len(b), nil
}

// free lets go of everything that is the request's, and puts d back into the pool.
func (d *detached) free() {
	d.ctx.Request.Reset()
	d.ctx.Response.Reset()
	if d.ctx.Conn() != &d.peer {
		d.ctx.Init2(&d.peer, nil, false)
	}
	d.head.Reset(nil)
	d.out = nil
	detachedPool.Put(d)
}

// A peerConn is a connection of which only the other end is known.
type peerConn struct {
	net.Conn // nil: handlers do not use the connection itself
	remote   net.TCPAddr
	ip       [16]byte // of remote
}

func (c *peerConn) set(addr netip.Addr) {
	c.ip = addr.As16()
	c.remote.IP = c.ip[:]
}

// RemoteAddr returns the address of the other end, without its port.
func (c *peerConn) RemoteAddr() net.Addr { return &c.remote }
