package auth

import (
	"fmt"
	"net"
	"net/netip"
	"testing"

	"github.com/valyala/fasthttp"

	"shunt/api/exchange"
	"shunt/api/wire/http1"
	"shunt/engine/expect"
)

func TestACallerHasTheOriginOfItsRequest(t *testing.T) {
	proxies := &http1.Proxies{Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, Header: "X-Forwarded-For"}
	tcp := func(addr string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(addr), Port: 4711} }
	for _, c := range []struct {
		from      net.Addr
		forwarded string
		networks  bool
		want      string
	}{
		{tcp("192.0.2.77"), "", true, "{id 192.0.2.0/24 false}"},
		{tcp("2001:db8:1:2:3::4"), "", true, "{id 2001:db8:1::/48 false}"},
		{tcp("10.0.0.1"), "198.51.100.7", true, "{id 198.51.100.0/24 false}"},
		{tcp("10.0.0.1"), "::ffff:198.51.100.7", true, "{id 198.51.100.0/24 false}"},
		{tcp("192.0.2.77"), "198.51.100.7", true, "{id 192.0.2.0/24 false}"},
		{tcp("192.0.2.77"), "", false, "{id invalid Prefix false}"},
		{&net.UnixAddr{Net: "unix"}, "", true, "{id invalid Prefix true}"},
	} {
		var request fasthttp.Request
		request.Header.Set(exchange.HeaderRequestID, "id")
		if c.forwarded != "" {
			request.Header.Set("X-Forwarded-For", c.forwarded)
		}
		ctx := new(fasthttp.RequestCtx)
		ctx.Init(&request, c.from, nil)
		exchange.NameRequest(ctx)
		expect.Equal(t, fmt.Sprint(Origins{proxies, c.networks}.Of(ctx)), c.want, "from %v, forwarded %q", c.from, c.forwarded)
	}
}
