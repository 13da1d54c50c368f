package auth

import (
	"net/netip"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/exchange"
	"shunt/api/wire/http1"
)

// Origins say where requests come from.
type Origins struct {
	Proxies  *http1.Proxies
	Networks bool // callers have the network of their client
}

// Of the address of a client, origins have this many bits: networks that providers give to a
// customer or more, so that no line of the audit log is about one machine.
const (
	originBits4 = 24
	originBits6 = 48
)

// Of returns where a request that NameRequest has named came from.
func (o Origins) Of(ctx *fasthttp.RequestCtx) account.Origin {
	from := account.Origin{RequestID: exchange.RequestID(ctx), Local: !isLimited(ctx)}
	if o.Networks && !from.Local {
		from.Network = originNetwork(o.Proxies.ClientAddr(ctx, http1.PeerAddr(ctx)))
	}
	return from
}

func originNetwork(client netip.Addr) netip.Prefix {
	bits := originBits4
	if client.Is6() {
		bits = originBits6
	}
	network, _ := client.Prefix(bits) // fails only above the bits of the address
	return network
}
