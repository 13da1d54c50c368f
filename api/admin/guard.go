package admin

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/valyala/fasthttp"

	"shunt/api/problem"
	"shunt/engine"
)

// The admin address asks for no token: anybody that can connect may read. But a browser on the
// operator's machine sends requests for any page that it shows. So a request must be for a host
// that no such page can have: a name that an attacker's DNS server points at 127.0.0.1 would make
// the page and the admin address one origin. And a request is refused if the browser reports that
// another page made it. CORS is never allowed here.

// Hosts are the hosts of --admin-host, in the form of engine.HostName.
type Hosts map[string]bool

// ParseHosts reads host names and addresses, with a port or without.
func ParseHosts(names []string) (Hosts, error) {
	set := make(Hosts, len(names))
	for _, name := range names {
		host, err := engine.HostName(name)
		if err != nil {
			return nil, fmt.Errorf("%q must be a host name or an address, such as metrics.example", name)
		}
		set[host] = true
	}
	return set, nil
}

// refuseForPage returns a problem if a page may have made the request; nil: the request is to be
// answered.
func (a *Address) refuseForPage(ctx *fasthttp.RequestCtx, local netip.Addr) error {
	switch {
	case !a.hasHost(ctx, local):
		return problem.New(problem.Forbidden, "the admin address does not answer to this Host; use localhost or 127.0.0.1, "+
			"or allow the name with --admin-host")
	case fromAnotherPage(&ctx.Request.Header):
		return problem.New(problem.Forbidden, "a page of another origin sent this request; open the address itself")
	}
	return nil
}

// hasHost reports whether the Host of a request is one of the admin address: a loopback name, the
// address that the client connected to, or one of Hosts. If there are no Hosts, a connection from
// another machine may name any host, because Prometheus sends whatever name it was configured with.
// A request without Host (HTTP/1.0) is not from a browser.
func (a *Address) hasHost(ctx *fasthttp.RequestCtx, local netip.Addr) bool {
	authority := string(ctx.Host())
	if authority == "" || !local.IsLoopback() && len(a.Hosts) == 0 || engine.LoopbackHost(authority) {
		return true
	}
	host, err := engine.HostName(authority)
	return err == nil && (a.Hosts[host] || host == local.String())
}

// fromAnotherPage reports whether, by its header, a page of another origin made a browser send the
// request. A link that a person follows on a page of the same site, such as a Grafana on another
// port of localhost, is allowed: the answer is shown to the person, and the page cannot read it.
// Browsers send Origin with GET only to other origins.
func fromAnotherPage(h *fasthttp.RequestHeader) bool {
	return hasLine(h, "Origin", func([]byte) bool { return true }) ||
		hasLine(h, "Sec-Fetch-Site", func(site []byte) bool {
			switch string(site) {
			case "none", "same-origin":
				return false
			case "same-site":
				return string(h.Peek("Sec-Fetch-Mode")) != "navigate" || string(h.Peek("Sec-Fetch-Dest")) != "document"
			}
			return true
		})
}

// hasLine reports whether f is true for one of the lines of a header field.
func hasLine(h *fasthttp.RequestHeader, name string, f func(value []byte) bool) bool {
	return slices.ContainsFunc(h.PeekAll(name), f)
}
