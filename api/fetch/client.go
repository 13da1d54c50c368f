package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"shunt/engine"
)

// Limits of a request.
const (
	patience     = 5 * time.Second // of all hops together
	maxHops      = 5               // redirects
	maxHeadBytes = 64 << 10
	userAgent    = "shunt-fetch/1 (+bot)"
)

// Options are what a Client needs. The zero value is right but for tests.
type Options struct {
	Public   func(netip.Addr) bool // addresses that may be connected to; nil: those of the public internet
	Resolver *net.Resolver         // nil: the system's
	Patience time.Duration         // 0: 5 s
	Between  time.Duration         // between two links of a check; 0: a second
}

// A Client asks other servers. Any number of goroutines may use it at once.
type Client struct {
	http     http.Client
	patience time.Duration
	between  time.Duration
}

// Errors of requests. Their texts are for users, and say nothing of networks that only this server sees.
var (
	errPrivate = errors.New("leads to an address that is not on the public internet") // as its text shows
	errHops    = fmt.Errorf("redirects more than %d times", maxHops)
	errSilent  = errors.New("does not answer in time")
	errNoHost  = errors.New("has a host that is not known, or is not on the public internet") // one error for both: see explained
	errNoWay   = errors.New("cannot be reached")
)

// errInside is what the hook of the dialer says to get.
var errInside = errors.New("the address is not public")

// New returns a client.
func New(o Options) *Client {
	if o.Public == nil {
		o.Public = foreign
	}
	if o.Patience == 0 {
		o.Patience = patience
	}
	dialer := net.Dialer{Timeout: o.Patience, Resolver: o.Resolver, ControlContext: guard(o.Public)}
	return &Client{patience: o.Patience, between: cmp.Or(o.Between, betweenLinks), http: http.Client{
		Transport: &http.Transport{
			DialContext: dialer.DialContext, DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeadBytes,
			TLSHandshakeTimeout: o.Patience, ResponseHeaderTimeout: o.Patience,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// foreign reports whether an address is public and none of this machine's: a connection to one of those passes no
// firewall, and may reach what is closed from outside.
func foreign(addr netip.Addr) bool {
	own, err := net.InterfaceAddrs()
	return err == nil && engine.PublicAddr(addr) && !slices.ContainsFunc(own, func(a net.Addr) bool {
		of, err := netip.ParsePrefix(a.String())
		return err == nil && of.Addr().Unmap() == addr.Unmap()
	})
}

// guard returns the hook of a dialer that lets connections through to public addresses only. address is that of the
// socket, after any lookup.
func guard(public func(netip.Addr) bool) func(ctx context.Context, network, address string, _ syscall.RawConn) error {
	return func(_ context.Context, _, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil || !public(to.Addr()) {
			return errInside
		}
		return nil
	}
}

// An answer is that to the last request of a chain of redirects. Its body must be closed.
type answer struct {
	*http.Response
	address string // where it came from
}

// get follows redirects from address, which may says is allowed, with each hop as well, until ctx ends.
func (c *Client) get(ctx context.Context, method, address, accept string, may func(address string) (string, error)) (a answer, err error) {
	for range maxHops + 1 {
		if a.address, err = may(address); err != nil {
			return a, err
		}
		request, err := http.NewRequestWithContext(ctx, method, a.address, nil)
		if err != nil {
			return a, errNoWay
		}
		request.Header.Set("User-Agent", userAgent)
		request.Header.Set("Accept", accept)
		if a.Response, err = c.http.Do(request); err != nil {
			return a, explained(ctx, err)
		}
		next, err := a.Location()
		if a.StatusCode < 300 || a.StatusCode > 399 || err != nil {
			return a, nil
		}
		_ = a.Body.Close() // nothing of it is read
		address = next.String()
	}
	return a, errHops
}

// explained returns why a request failed, without what only this server should know: a name that leads inside looks
// like one that nobody has.
func explained(ctx context.Context, err error) error {
	var lookup *net.DNSError
	var silent net.Error
	switch {
	case errors.Is(err, errInside):
		return errNoHost
	case ctx.Err() != nil, errors.As(err, &silent) && silent.Timeout():
		return errSilent
	case errors.As(err, &lookup):
		return errNoHost
	}
	return errNoWay
}
