package serve

import (
	"errors"
	"net"
	"os"
	"sync/atomic"

	"shunt/api"
	"shunt/api/accesslog"
	"shunt/api/blocklist"
	"shunt/api/brand"
	"shunt/api/visitor"
	"shunt/api/wire"
	"shunt/api/words"
	"shunt/cmd/shunt/activation"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/core"
	"shunt/cmd/shunt/edge"
	"shunt/cmd/shunt/memory"
	"shunt/cmd/shunt/notify"
	"shunt/cmd/shunt/offsite"
	"shunt/cmd/shunt/orders"
)

// server is the process of serve: start fills it from top to bottom.
type server struct {
	cfg     *serveConfig
	say     *console.Console
	program string // how this one was called
	parts   *core.Stack

	settings *reloader
	manager  *notify.Notifier   // nil: none waits for this process
	passed   activation.Sockets // by the service manager
	draining atomic.Bool

	countries            *visitor.CountryFile // nil without --geoip
	brand                brand.Brand
	languages            *words.Languages // of the pages under /_/
	certs                *orders.Source   // nil: no HTTPS
	orderer              *orders.Orderer  // nil: this server asks no authority
	blocks               *blocklist.File  // nil without --block-list
	access               *accesslog.Log   // nil without --access-log
	public, admin, local net.Listener
	redirects            net.Listener // to HTTPS; nil: none
	memory               *memory.Limit
	core                 core.Core
	node                 Node                       // nil: of no cluster, and no edge
	edge                 *edge.Node                 // node, if it is the edge of a writer; nil: it is not
	nodes                net.Listener               // for other nodes; nil: of no cluster
	keeper               *offsite.Keeper            // nil: no backups are sent
	served               atomic.Pointer[api.Server] // nil before the core is there
}

// closeListener closes ln unless its server has.
func closeListener(ln net.Listener) func() error {
	return func() error {
		if err := ln.Close(); !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	}
}

// listenOn returns the socket of that name, if the service manager passed one, or listens on address.
func (s *server) listenOn(flag, name, address string) (net.Listener, error) {
	ln, err := s.passed[name], error(nil)
	if ln == nil {
		ln, err = net.Listen("tcp", address)
	}
	if err != nil {
		program, _ := os.Executable() // "": an example without it
		return nil, console.ListenError(flag, address, program, err)
	}
	wire.DeferAccept(ln)
	s.parts.OnStop(flag, closeListener(ln))
	return ln, nil
}

// listens returns the addresses that the public can reach. Unlike --listen, they have the port that
// was drawn.
func (s *server) listens() []string {
	addresses := []string{s.public.Addr().String()}
	if s.redirects != nil {
		addresses = append(addresses, s.redirects.Addr().String())
	}
	return addresses
}

// front returns the HTTP server; nil before it is there.
func (s *server) front() *api.Server { return s.served.Load() }

// status returns a line for people who look at the service.
func (s *server) status() string {
	switch {
	case s.draining.Load():
		return "stopping"
	case s.front() == nil:
		return "starting"
	}
	return s.front().Health().Line()
}

// alive reports whether the server answers requests, as far as that does not depend on a disk: a disk
// that hangs stops no redirect, and killing the server would.
func (s *server) alive() bool { return s.front() == nil || s.front().Beat() }

// isReady tells the service manager that the server redirects.
func (s *server) isReady() { s.manager.Ready(s.status()) }
