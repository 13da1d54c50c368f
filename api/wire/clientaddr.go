package wire

import (
	"bytes"
	"net"
	"net/netip"
	"unsafe"

	"github.com/valyala/fasthttp"
)

// thisMachine stands for a peer without an IP address: a Unix socket or a pipe, which only this machine can open.
var thisMachine = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// PeerAddr returns the address of the socket's other end.
func PeerAddr(ctx *fasthttp.RequestCtx) netip.Addr { return AddrOf(ctx.RemoteAddr()) }

func AddrOf(a net.Addr) netip.Addr {
	if tcp, ok := a.(*net.TCPAddr); ok {
		if addr := tcp.AddrPort().Addr(); addr.IsValid() {
			return addr.Unmap().WithZone("")
		}
	}
	return thisMachine
}

// Proxies are the peers that are believed when they say whom they speak for.
type Proxies struct {
	Trusted []netip.Prefix
	Header  string // the one header that is believed; empty: none

	CountryHeader string // the header in which they say the client's country; empty: none
}

func (p *Proxies) Trust(addr netip.Addr) bool {
	for _, prefix := range p.Trusted {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}

// ClientAddr returns the address of the client: the peer's, or if the peer is trusted, the header's rightmost hop that
// is no trusted proxy. The header may come in several lines; they are one list. It does not allocate.
func (p *Proxies) ClientAddr(ctx *fasthttp.RequestCtx, peer netip.Addr) netip.Addr {
	if len(p.Trusted) == 0 || p.Header == "" || !p.Trust(peer) {
		return peer
	}
	client := peer
	lines := ctx.Request.Header.PeekAll(p.Header)
	for i := len(lines) - 1; i >= 0; i-- {
		var decided bool
		if client, decided = p.rightmostHop(client, lines[i]); decided {
			break
		}
	}
	return client
}

// CountryCode returns what a trusted peer says of the client's country; nil if it says nothing. The last line counts: a
// proxy that adds its own behind the client's puts it there. It does not allocate.
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

// rightmostHop goes through a line's hops from the right, as long as they are trusted proxies. nearest is the hop, or the
// peer, right of the line. A hop that is no address ends the walk: whatever stands left of it, nobody vouches for, so the
// proxy that wrote it is the best that is known. Empty hops do not count (RFC 9110, 5.6.1).
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

// parseHop reads an address as proxies write it: 192.0.2.1, 192.0.2.1:4711, 2001:db8::1, [2001:db8::1],
// [2001:db8::1]:4711, the IPv6 ones maybe with a zone, which says nothing beyond its machine and is dropped.
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

// isPort: nothing, or ":" and one to five digits.
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

// viewString is b as a string, without a copy: it must not outlive b.
func viewString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
