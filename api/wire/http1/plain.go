package http1

import (
	"net"
	"net/netip"
)

// A Plain is a plain request: a GET or HEAD of one path segment, with nothing unusual in it. What it
// accepts is a subset of what the gate and fasthttp accept, so that every refusal stays theirs. Its
// slices alias the bytes that were read, and live until the answer has been appended.
type Plain struct {
	Raw       []byte // the whole head, with the empty line at its end
	Segment   []byte // of the path, without slashes: 1 to 64 bytes of 0-9, A-Z, a-z, _ and -
	Query     []byte // what follows the first '?', without it
	Host      []byte // see Proxies.NamedHost; else the Host field, checked for its bytes only; empty: HTTP/1.0 without one
	UserAgent []byte
	Referrer  []byte // the Referer header
	Purposes  []byte // the header block from the first line with one of the purpose fields on; nil: it has none

	Conn    net.Conn   // the connection; nil: it is TCP without TLS, and its other end is Peer
	Peer    netip.Addr // the other end of the connection
	Client  netip.Addr // see Proxies.ClientAddr
	Country []byte     // see Proxies.CountryCode

	Head   bool // the method is HEAD
	Closes bool // the connection is closed after the answer, which must say so; always set for HTTP/1.0

	NowMs int64 // Unix time of the wake-up that read the request

	// Memo is the handler's: what it has found out from the fields and the client. The next request gets
	// it too if it has the same ones; otherwise it is zero.
	Memo [2]uint64

	fields []byte // Raw from the version on, for ReadNext; nil: no request has been read
}

// Forget makes ReadNext read the next request as if none had come before it.
func (r *Plain) Forget() { r.fields = nil }
