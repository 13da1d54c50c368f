package http1

import (
	"bytes"
	"net"
	"net/netip"
	"sync/atomic"
	"unsafe"

	"github.com/valyala/fasthttp"
)

// thisMachine is the address of a peer without an IP address: a Unix socket or a pipe, which only
// this machine can open.
var thisMachine = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// PeerAddr returns the address of the other end of the connection; see AddrOf.
func PeerAddr(ctx *fasthttp.RequestCtx) netip.Addr { return AddrOf(ctx.RemoteAddr()) }

// AddrOf returns the IP address in a without a zone, and IPv4 in its own form. An address of
// another kind, such as that of a Unix socket, is this machine's: 127.0.0.1.
func AddrOf(a net.Addr) netip.Addr {
	if tcp, ok := a.(*net.TCPAddr); ok {
		if addr := tcp.AddrPort().Addr(); addr.IsValid() {
			return addr.Unmap().WithZone("")
		}
	}
	return thisMachine
}

// Proxies are the peers that may name the client and the host of a request that they forward. They are shared, so
// they must not be copied.
type Proxies struct {
	Trusted       []netip.Prefix // at first; Replace replaces them
	Header        string         // the one header with the client's address; empty: none
	CountryHeader string         // the header with the client's country; empty: none
	HostHeader    string         // the header with the host that the client asked for; empty: none

	replaced atomic.Pointer[[]netip.Prefix] // nil: Trusted
}

// Replace trusts the proxies in trusted instead. A request that is being read may be judged by the old
// ones, the new ones, or, hop by hop, both. trusted must not change any more.
func (p *Proxies) Replace(trusted []netip.Prefix) { p.replaced.Store(&trusted) }

// trusted returns the networks of the trusted proxies.
func (p *Proxies) trusted() []netip.Prefix {
	if r := p.replaced.Load(); r != nil {
		return *r
	}
	return p.Trusted
}

// Trust reports whether addr is a trusted proxy.
func (p *Proxies) Trust(addr netip.Addr) bool {
	for _, prefix := range p.trusted() {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}

// ClientAddr returns the address of the client. It is the peer's, or, if the peer is a trusted
// proxy, the rightmost hop in the header that is not a trusted proxy. Several lines of the header
// are one list. It does not allocate.
func (p *Proxies) ClientAddr(ctx *fasthttp.RequestCtx, peer netip.Addr) netip.Addr {
	if len(p.trusted()) == 0 || p.Header == "" || !p.Trust(peer) {
		return peer
	}
	return p.rightmostClient(peer, ctx.Request.Header.PeekAll(p.Header))
}

// CountryCode returns the client's country if a trusted peer names it, otherwise nil. The last line
// counts, because a proxy adds its own line after the client's. The result aliases ctx. It does not
// allocate.
func (p *Proxies) CountryCode(ctx *fasthttp.RequestCtx, peer netip.Addr) []byte {
	if p.CountryHeader == "" || !p.Trust(peer) {
		return nil
	}
	lines := ctx.Request.Header.PeekAll(p.CountryHeader)
	if len(lines) == 0 {
		return nil
	}
	return lines[len(lines)-1]
}

// NamedHost returns the host, with a port or without, that the client asked for, if a trusted peer names one, otherwise
// nil. The last value of the last line counts, which is the peer's own: values before it may be the client's. What is
// not a host does not count. The result aliases ctx. It does not allocate.
func (p *Proxies) NamedHost(ctx *fasthttp.RequestCtx, peer netip.Addr) []byte {
	if p.HostHeader == "" || !p.Trust(peer) {
		return nil
	}
	lines := ctx.Request.Header.PeekAll(p.HostHeader)
	if len(lines) == 0 {
		return nil
	}
	return hostIn(lines[len(lines)-1])
}

// hostIn returns the last value of a line, nil if that is not a host.
func hostIn(line []byte) []byte {
	if host := trimOWS(line[bytes.LastIndexByte(line, ',')+1:]); isHost(host) {
		return host
	}
	return nil
}

// rightmostClient returns the address of the client that the lines of the header name. peer, which
// sent them, is a trusted proxy.
func (p *Proxies) rightmostClient(peer netip.Addr, lines [][]byte) (client netip.Addr) {
	client = peer
	for i := len(lines) - 1; i >= 0; i-- {
		var decided bool
		if client, decided = p.rightmostHop(client, lines[i]); decided {
			break
		}
	}
	return client
}

// rightmostHop walks over the hops of a line from the right, as long as they are trusted proxies.
// nearest is the hop, or the peer, to the right of the line. A hop that is not an address ends the
// walk: no trusted proxy vouches for the hops to its left, so the result is the proxy that wrote
// it. Empty hops do not count (RFC 9110, 5.6.1).
func (p *Proxies) rightmostHop(nearest netip.Addr, line []byte) (addr netip.Addr, decided bool) {
	for len(line) > 0 {
		comma := bytes.LastIndexByte(line, ',')
		hop := bytes.TrimSpace(line[comma+1:])
		line = line[:max(comma, 0)]
		if len(hop) == 0 {
			continue
		}
		addr, ok := parseHop(hop)
		if !ok {
			return nearest, true
		}
		if !p.Trust(addr) {
			return addr, true
		}
		nearest = addr
	}
	return nearest, false
}

// parseHop reads an address as proxies write it: 192.0.2.1, 192.0.2.1:4711, 2001:db8::1,
// [2001:db8::1], [2001:db8::1]:4711. An IPv6 address may have a zone, which is dropped, because a
// zone has no meaning outside its machine.
func parseHop(hop []byte) (netip.Addr, bool) {
	if hop[0] == '[' {
		end := bytes.IndexByte(hop, ']')
		if end < 0 || !isPort(hop[end+1:]) {
			return netip.Addr{}, false
		}
		hop = hop[1:end]
		if bytes.IndexByte(hop, ':') < 0 {
			return netip.Addr{}, false
		}
	} else if colon := bytes.IndexByte(hop, ':'); colon >= 0 && bytes.IndexByte(hop[colon+1:], ':') < 0 {
		if !isPort(hop[colon:]) {
			return netip.Addr{}, false
		}
		hop = hop[:colon]
	}
	if zone := bytes.IndexByte(hop, '%'); zone >= 0 {
		hop = hop[:zone]
	}
	addr, err := netip.ParseAddr(viewString(hop))
	return addr.Unmap(), err == nil
}

// isPort reports whether b is empty, or ":" and one to five digits.
func isPort(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	if b[0] != ':' || len(b) < 2 || len(b) > 6 {
		return false
	}
	for _, c := range b[1:] {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// viewString returns b as a string without a copy. The string must not outlive b.
func viewString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
