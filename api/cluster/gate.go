package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
)

// A Gate refuses certificates by their names and serial numbers: in handshakes, and by closing open
// connections, in both directions. Until it has been told which are refused it accepts none, so that a restart
// does not let them in. Any goroutine may call its methods; a nil Gate refuses none.
type Gate struct {
	mu      sync.Mutex
	told    bool
	names   map[string]bool
	serials map[string]bool
	open    map[*gateConn]*x509.Certificate // connections, by the certificate at the other end
}

// NewGate returns a Gate that has been told nothing.
func NewGate() *Gate { return &Gate{open: make(map[*gateConn]*x509.Certificate)} }

var (
	errRefused     = errors.New("the certificate is refused (shunt cluster refuse)")
	errGateUntold  = errors.New("this node does not know yet which certificates are refused")
	errNoCertified = errors.New("the node at the other end has no certificate")
)

// Serial returns the serial number of a certificate as a Gate knows it: in lower-case hexadecimal.
func Serial(c *x509.Certificate) string { return c.SerialNumber.Text(16) }

// Tell replaces the refused names and serial numbers. When it returns, no connection of such a certificate is
// open.
func (g *Gate) Tell(names, serials []string) {
	g.mu.Lock()
	g.told, g.names, g.serials = true, setOf(names), setOf(serials)
	var out []*gateConn
	for c, of := range g.open {
		if g.checkLocked(of) != nil {
			out = append(out, c)
		}
	}
	g.mu.Unlock()
	for _, c := range out {
		_ = c.Close()
	}
}

func setOf(all []string) map[string]bool {
	set := make(map[string]bool, len(all))
	for _, one := range all {
		set[one] = true
	}
	return set
}

// RefusesName reports whether all certificates of that name are refused.
func (g *Gate) RefusesName(name string) bool {
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.names[name]
}

// Check returns an error unless a certificate is in service.
func (g *Gate) Check(c *x509.Certificate) error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.checkLocked(c)
}

func (g *Gate) checkLocked(c *x509.Certificate) error {
	switch {
	case !g.told:
		return errGateUntold
	case g.serials[Serial(c)], slices.ContainsFunc(c.DNSNames, func(name string) bool { return g.names[name] }):
		return fmt.Errorf("%w: %q, serial number %s", errRefused, c.DNSNames, Serial(c))
	}
	return nil
}

// gateConn is a connection below TLS, which its Gate may close.
type gateConn struct {
	net.Conn
	gate *Gate
}

// Close implements net.Conn.
func (c *gateConn) Close() error {
	c.gate.mu.Lock()
	delete(c.gate.open, c)
	c.gate.mu.Unlock()
	return c.Conn.Close()
}

// enter accepts a connection unless the certificate at its other end is refused.
func (g *Gate) enter(conn *gateConn, state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return errNoCertified
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	err := g.checkLocked(state.PeerCertificates[0])
	if err == nil {
		g.open[conn] = state.PeerCertificates[0]
	}
	return err
}

// over returns the config of the handshake on one connection.
func (g *Gate) over(conn *gateConn, config *tls.Config) *tls.Config {
	config = config.Clone()
	before := config.VerifyConnection
	config.VerifyConnection = func(state tls.ConnectionState) error {
		if before != nil {
			if err := before(state); err != nil {
				return err
			}
		}
		return g.enter(conn, state)
	}
	return config
}

// Listener returns a TLS listener over ln whose connections pass the gate.
func (g *Gate) Listener(ln net.Listener, config *tls.Config) net.Listener {
	if g == nil {
		return tls.NewListener(ln, config)
	}
	config = config.Clone()
	each := config.Clone() // without GetConfigForClient, which would be asked again
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		conn, ok := hello.Conn.(*gateConn)
		if !ok {
			return nil, errNoCertified
		}
		return g.over(conn, each), nil
	}
	return tls.NewListener(gateListener{ln, g}, config)
}

type gateListener struct {
	net.Listener
	gate *Gate
}

// Accept implements net.Listener.
func (l gateListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &gateConn{conn, l.gate}, nil
}

// Client begins TLS over conn, which passes the gate in the handshake.
func (g *Gate) Client(conn net.Conn, config *tls.Config) *tls.Conn {
	if g == nil {
		return tls.Client(conn, config)
	}
	passing := &gateConn{conn, g}
	return tls.Client(passing, g.over(passing, config))
}

// Dialer returns a function for http.Transport.DialTLSContext.
func (g *Gate) Dialer(config *tls.Config) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		over := g.Client(conn, config)
		if err := over.HandshakeContext(ctx); err != nil {
			_ = over.Close()
			return nil, err
		}
		return over, nil
	}
}
