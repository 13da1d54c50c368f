package api

import (
	"bufio"
	"bytes"
	"net"
	"net/netip"
	"shunt/api/wire/http1"

	"github.com/valyala/fasthttp"
)

// requestFrom returns a request context of a peer, with header lines (name, value, name, value…).
func requestFrom(peer net.Addr, lines ...string) *fasthttp.RequestCtx {
	var req fasthttp.Request
	for i := 0; i < len(lines); i += 2 {
		req.Header.Add(lines[i], lines[i+1])
	}
	return parsed(&req, peer)
}

// parsed returns req as the server has it after it has read it from peer: with its raw headers.
func parsed(req *fasthttp.Request, peer net.Addr) *fasthttp.RequestCtx {
	req.Header.SetHost("any.example")
	var read fasthttp.Request
	if err := read.Header.Read(bufio.NewReaderSize(bytes.NewReader(req.Header.Header()), 16<<10)); err != nil {
		panic(err) // the test wrote bad headers
	}
	ctx := new(fasthttp.RequestCtx)
	ctx.Init(&read, peer, nil)
	return ctx
}

func tcpAddr(addr string) *net.TCPAddr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(addr), 4711))
}

var someProxies = http1.Proxies{
	Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:aaaa::/48"), netip.MustParsePrefix("127.0.0.1/32")},
	Header:  "X-Forwarded-For",
}
