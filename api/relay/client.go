package relay

import (
	"net"
	"net/netip"

	"github.com/valyala/fasthttp"

	"shunt/api/problem"
)

// Header fields of requests that are passed on, once each, and of their answers. Clients cannot send them: whoever
// passes a request on replaces them.
const (
	ClientField  = "Shunt-Client"  // address of the client, as the other server saw its peer; or UnixClient
	PlainField   = "Shunt-Plain"   // 1: the client came over plain HTTP; or 0
	RefusedField = "Shunt-Refused" // of an answer: the server cannot answer at present, and has done nothing
)

// UnixClient is the client of a Unix socket.
const UnixClient = "unix"

// A Client is who sent a request that another server has passed on.
type Client struct {
	Address net.Addr
	HTTPS   bool   // the client used HTTPS
	Edge    string // name of the edge through which the request came; empty: none
}

type clientKey struct{}

// Note makes ctx a request of a client. On a connection that others use, too, Forget must end that.
func Note(ctx *fasthttp.RequestCtx, c Client) {
	ctx.SetRemoteAddr(c.Address)
	ctx.SetUserValue(clientKey{}, c)
}

// Forget ends what Note has begun, for the next request of the connection. Of still finds the client of this one.
func Forget(ctx *fasthttp.RequestCtx) { ctx.SetRemoteAddr(nil) }

// Of returns the client that Note has noted.
func Of(ctx *fasthttp.RequestCtx) (c Client, passed bool) {
	c, passed = ctx.UserValue(clientKey{}).(Client)
	return c, passed
}

// OverTLS reports whether the client, or the proxy before it, has come over TLS to this server, or to the one that
// passed the request on.
func OverTLS(ctx *fasthttp.RequestCtx) bool {
	if c, passed := Of(ctx); passed {
		return c.HTTPS
	}
	return ctx.IsTLS()
}

// Edge returns the name of the edge through which a request came, "" if it came through none.
func Edge(ctx *fasthttp.RequestCtx) string {
	c, _ := Of(ctx)
	return c.Edge
}

// MayChangeAccounts refuses a request that came through an edge. Edges run on more machines, in more places, so what
// they have is easier to steal.
func MayChangeAccounts(ctx *fasthttp.RequestCtx) error {
	if name := Edge(ctx); name != "" {
		return problem.New(problem.Forbidden, "users, passwords and tokens cannot be changed through the edge %s; use the address of a server that has them", name)
	}
	return nil
}

// ClientText returns an address as ClientField has it.
func ClientText(a net.Addr) string {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.AddrPort().String()
	}
	return UnixClient
}

// ParseClient is the inverse of ClientText. Errors are problems.
func ParseClient(text string) (net.Addr, error) {
	if text == UnixClient {
		return &net.UnixAddr{Net: "unix"}, nil
	}
	address, err := netip.ParseAddrPort(text)
	if err != nil {
		return nil, problem.New(problem.BadRequest, "the field %s must be an address with a port, or %s", ClientField, UnixClient)
	}
	return net.TCPAddrFromAddrPort(address), nil
}

// Digit encodes yes or no.
func Digit(yes bool) string {
	if yes {
		return "1"
	}
	return "0"
}

// Field returns the value of a field that must be there exactly once.
func Field(h *fasthttp.RequestHeader, name string) (string, error) {
	all := h.PeekAll(name)
	if len(all) != 1 {
		return "", problem.New(problem.BadRequest, "a request of another server must have one field %s; it has %d", name, len(all))
	}
	return string(all[0]), nil
}

// YesNo returns the value of a field that must be there exactly once, and be 0 or 1.
func YesNo(h *fasthttp.RequestHeader, name string) (bool, error) {
	said, err := Field(h, name)
	if err == nil && said != "0" && said != "1" {
		err = problem.New(problem.BadRequest, "the field %s must be 0 or 1", name)
	}
	return said == "1", err
}
