package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"shunt/api"
	"shunt/api/accesslog"
	"shunt/api/admin"
	"shunt/api/brand"
	"shunt/api/visitor"
	"shunt/api/wire"
	"shunt/cmd/shunt/activation"
	"shunt/cmd/shunt/certs"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/memory"
	"shunt/cmd/shunt/node"
	"shunt/cmd/shunt/notify"
	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/socket"
	"shunt/engine"
)

func newServe(program string, stderr io.Writer) *cobra.Command {
	cfg := serveConfig{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve redirects and the API",
		Long: `Serve redirects and the API. The first start needs no configuration: it makes the data folder and says
what to do next.

SIGTERM (or Ctrl-C) drains: open requests are finished, every hit is written, and the exit code is 0. It
takes at most 8 s: a request that has come in part, or whose client does not read, is cut off after 5 s.
A second signal stops at once; even then no answered hit is lost, because the next start replays them.

SIGHUP reads the settings again, as the next start would. Certificates, rate limits (--limit-*), the
block list, --log-level and --trusted-proxy change at once, or, if anything is wrong, nothing does; a
log line names the settings that need a restart. The access log is opened again, for logrotate, and the
file of --geoip is read again.

What redirects do not need may be missing: a file of --geoip or --brand-logo that cannot be read is a
warning. Certificates and the block list must be there at the start. If their files, or that of --geoip,
go bad while the server runs, what they said last stays in force.

Under systemd, the server takes the sockets that a socket unit names public, http and admin
(FileDescriptorName=) instead of --listen, --http-redirect-listen and --admin-listen, so that clients
wait during a restart; it reports its state (Type=notify) and feeds the watchdog (WatchdogSec=).

With --cluster it is one of several nodes that have the same links: 'shunt help cluster'.`,
		Example: `  shunt serve
  shunt serve --data /var/lib/shunt --listen :8080 --base-url https://sho.rt --trusted-proxy 10.0.0.0/8
  shunt serve --config /etc/shunt.toml`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s := &server{
				cfg: &cfg, say: console.New(stderr, cfg.logFormat, cfg.logLevel), program: program, parts: newServeStack(),
				settings: newReloader(cmd),
			}
			return s.serve(cmd.Context())
		},
	}
	addServeSettings(cmd, &cfg)
	return cmd
}

// serve runs the server until ctx ends or a signal comes, and stops it. A second signal ends it in
// the middle of stopping. SIGHUP reloads the settings.
func (s *server) serve(ctx context.Context) error {
	if err := s.meetManager(); err != nil {
		return err
	}
	if err := s.cfg.check(); err != nil {
		return errors.Join(err, s.passed.Close())
	}
	addSparePs()
	signals, hangups := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(signals)
	defer signal.Stop(hangups)
	ctx, drain := context.WithCancel(ctx)
	defer drain()

	ended := make(chan error, 1)
	go func() { ended <- s.run(ctx) }()
	for first := (time.Time{}); ; {
		select {
		case err := <-ended:
			return err
		case <-hangups:
			if s.say.Deserted() {
				drain() // Ctrl-C is out of reach
			} else {
				s.settings.ask()
			}
		case sig := <-signals:
			if first.IsZero() {
				first = time.Now()
				drain()
			} else if time.Since(first) > sameSignal {
				return fmt.Errorf("stopped at once by a second signal (%v); the next start replays the hits of the journal", sig)
			}
		}
	}
}

// sameSignal is how long a signal counts as the first one: timeout(1), make and process managers
// signal a process and its group.
const sameSignal = 200 * time.Millisecond

// server is the process of serve: start fills it from top to bottom.
type server struct {
	cfg     *serveConfig
	say     *console.Console
	program string // how this one was called
	parts   *stack

	settings *reloader
	manager  *notify.Notifier   // nil: none waits for this process
	passed   activation.Sockets // by the service manager
	draining atomic.Bool

	countries            *visitor.CountryFile // nil without --geoip
	brand                brand.Brand
	certs                certs.Source   // nil: no HTTPS
	blocks               *api.BlockFile // nil without --block-list
	access               *accesslog.Log // nil without --access-log
	public, admin, local net.Listener
	redirects            net.Listener // to HTTPS; nil: none
	memory               *memory.Limit
	core                 core
	node                 *node.Node                 // nil: of no cluster
	nodes                net.Listener               // for other nodes; nil: of no cluster
	served               atomic.Pointer[api.Server] // nil before the core is there
}

// run serves until ctx ends or a part fails, and stops every part that it has started.
func (s *server) run(ctx context.Context) error {
	err := s.start(ctx)
	if err == nil {
		select {
		case <-ctx.Done():
			s.draining.Store(true)
			s.manager.Stopping(s.status())
			s.say.Draining()
		case err = <-s.parts.fails():
		}
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = nil // stopped while loading
	}
	if err = errors.Join(err, withoutLateStore(s.parts.stop(), s.say.Log)); err == nil {
		s.say.Stopped()
	}
	return err
}

// start starts the parts in the order in which they rely on each other. Whatever can refuse comes
// before what writes.
func (s *server) start(ctx context.Context) error {
	s.parts.run("service manager", func(ctx context.Context) error { return s.manager.Run(ctx, s.status) })
	s.parts.run("watchdog", func(ctx context.Context) error { return s.manager.Watch(ctx, s.alive) })
	s.readCountries()
	s.readBrand()
	if err := s.chooseCertificates(); err != nil {
		return err
	}
	if err := s.readBlocks(); err != nil {
		return err
	}
	if err := s.openAccessLog(); err != nil {
		return err
	}
	if err := s.openNode(); err != nil {
		return err
	}
	if err := s.listen(); err != nil {
		return err
	}
	baseURL, err := s.cfg.data.resolveBaseURL(s.public.Addr().String())
	if err != nil {
		return err
	}
	if err := s.openData(ctx); err != nil {
		return err
	}
	s.parts.run("engine", s.core.engine.Run)
	if err := s.serveAPI(baseURL); err != nil {
		return err
	}
	if err := s.core.store.NoteBaseURL(baseURL); err != nil {
		return err
	}
	s.say.Listening(console.Addresses{
		Version: versionText(), BaseURL: baseURL, Data: s.cfg.data.dataDir,
		Public: s.scheme() + s.public.Addr().String(), Admin: "http://" + s.admin.Addr().String(),
	}, s.core.created)
	s.isReady() // codes are answered from the store until they are loaded
	if err := s.core.load(ctx, s.say); err != nil {
		return err
	}
	if s.node != nil {
		s.parts.run("cluster", s.node.Run) // stopped first: another node leads while clients finish here
	}
	if s.node == nil || !s.node.Edge() {
		if err := s.sayNext(baseURL); err != nil {
			return err
		}
	}
	s.say.Ready(s.core.engine.Metrics().Links)
	return nil
}

// readCountries reads the file of --geoip. From then on it is read again when it changes. Without it,
// everything works but countries, so a bad file is a warning.
func (s *server) readCountries() {
	if s.cfg.geoIP != "" {
		s.countries = visitor.OpenCountryFile(s.cfg.geoIP, s.say.Log)
		s.parts.run("countries", s.countries.Run)
	}
}

// countryFigures returns the state of the file of countries, nil if there is none.
func (s *server) countryFigures() func() admin.CountryFile {
	if s.countries == nil {
		return nil
	}
	return func() admin.CountryFile { return admin.CountryFile(s.countries.State()) }
}

// readBrand reads the file of --brand-logo. Pages without a logo have a name, so a bad file is a warning.
func (s *server) readBrand() {
	var err error
	if s.brand, err = s.cfg.brand.read(); err != nil {
		s.say.Log.Warn("the public pages have no logo; it is read once, at start", slog.Any("cause", err))
	}
}

// readBlocks reads the file of --block-list. From then on it is read again when it changes. A start
// without it is refused: links that it forbids would redirect, and nobody would see that.
func (s *server) readBlocks() (err error) {
	if s.cfg.blockList == "" {
		return nil
	}
	if s.blocks, err = api.OpenBlockFile(s.cfg.blockList, s.say.Log); err != nil {
		return fmt.Errorf("--block-list: %w (without the list, links that it blocks would work; if it is to block nothing, make an empty file)", err)
	}
	s.parts.run("block list", s.blocks.Run)
	return nil
}

// listen takes the ports before the data is opened: a second server on a port fails before it has
// touched its data.
func (s *server) listen() (err error) {
	if s.public, err = s.listenOn("--listen", activation.Public, s.cfg.data.listen); err != nil {
		return err
	}
	if s.cfg.https.redirectListen != "" {
		if s.redirects, err = s.listenOn("--http-redirect-listen", activation.HTTP, s.cfg.https.redirectListen); err != nil {
			return err
		}
	}
	if s.node != nil {
		if s.nodes, err = s.node.Listener(wire.DeferAccept); err != nil {
			return err
		}
		s.parts.onStop("--cluster-listen", closeListener(s.nodes))
	}
	s.admin, err = s.listenOn("--admin-listen", activation.Admin, s.cfg.adminListen)
	return err
}

// openNode reads the certificates of a node of a cluster.
func (s *server) openNode() (err error) {
	if s.cfg.cluster.Cluster != "" {
		s.node, err = node.Open(&s.cfg.cluster, s.say.Log)
	}
	if err == nil && s.node != nil {
		err = s.node.CheckRole()
	}
	return err
}

// joinCluster makes the store, which nobody uses yet, one of the cluster.
func (s *server) joinCluster(ctx context.Context) error {
	if s.node == nil {
		if id, member := node.ClusterOf(s.core.store); member {
			return fmt.Errorf("%s is of the cluster %v: start with --cluster, or take it out of the cluster (shunt cluster leave)", s.cfg.data.dataDir, id)
		}
		return nil
	}
	if err := s.node.Join(ctx, s.core.store); err != nil {
		return err
	}
	s.parts.onStop("cluster's log", s.node.Close)
	return s.node.Check(ctx)
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
	s.parts.onStop(flag, closeListener(ln))
	return ln, nil
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

// openData opens the store, which locks the folder, then the socket in it, then the engine.
func (s *server) openData(ctx context.Context) (err error) {
	defer func() { err = s.cfg.data.mend(err) }()
	s.core.serves = true
	path, err := socket.Path(s.cfg.data.dataDir)
	if err != nil {
		return err
	}
	if err := s.cfg.data.refuseForeign(); err != nil {
		return err
	}
	s.chooseMemory()
	edge := s.node != nil && s.node.Edge()
	if err := s.core.openStore(s.parts, &s.cfg.data, !edge, s.say.Log); err != nil {
		return edgeError(edge, err)
	}
	if err := s.joinCluster(ctx); err != nil {
		return err
	}
	s.parts.run("heap", memory.NewHeapKeeper(s.core.store.Metrics).Run)
	if err := s.warnOfOpenFolder(); err != nil {
		return err
	}
	if s.local, err = socket.Listen(path); err != nil {
		return err
	}
	s.parts.onStop("socket", closeListener(s.local))
	options := engine.Options{
		FlushInterval: s.cfg.flushInterval, KeptHours: s.cfg.keptHours, KeptDays: s.cfg.keptDays, KeptAuditDays: s.cfg.audit.keptDays,
		Full: s.memory.Full, Logger: s.say.Log, Cluster: s.node != nil,
	}
	if err := s.core.openEngine(s.parts, &s.cfg.data, options); err != nil {
		return err
	}
	if s.node != nil {
		s.node.Use(s.core.engine, s.core.accounts)
	}
	s.parts.run("memory limit", s.memory.Run)
	return nil
}

// serveAPI serves the three ways in. While links are being loaded, they answer so.
func (s *server) serveAPI(baseURL string) error {
	o := s.core.apiOptions(&s.cfg.data, baseURL, s.say.Log)
	o.TrustedProxies, o.ClientIPHeader = s.cfg.trustedProxies, s.cfg.clientIPHeader
	o.CountryHeader = s.cfg.countryHeader
	if s.countries != nil {
		o.Countries = &s.countries.Countries
	}
	o.Metrics.Countries = s.countryFigures()
	o.Blocks, o.RootRedirect = s.blocks, s.cfg.rootRedirect
	o.Brand, o.NoDashboard = s.brand, s.cfg.noDashboard
	o.Listens, o.AdminHosts = s.listens(), s.cfg.adminHosts
	o.AllowHTTP, o.Pprof, o.CORSOrigins = s.cfg.allowHTTP, s.cfg.pprof, s.cfg.corsOrigins
	o.Metrics.Reloads = s.settings.figures
	o.Metrics.Memory = s.memoryFigures()
	o.MaxPerAddress, o.RateLimits = s.cfg.perAddress, s.cfg.rateLimits
	s.cfg.logs.apply(&o)
	s.cfg.audit.apply(&o)
	o.Access = s.access
	if s.cfg.connections > 0 {
		o.MaxConnections = min(o.MaxConnections, s.cfg.connections)
	}
	if s.cfg.front == "fasthttp" {
		o.Front = api.FrontFasthttp
	}
	if s.node != nil {
		o.Metrics.Cluster = s.node.Figures
		o.Cluster = api.Cluster{State: s.node, TLS: s.node.TLS(), Outbox: s.node.Outbox, Caps: s.node.GrantCaps, GiveCopy: s.node.GiveCopy, NoteCopy: s.node.NoteCopy, Backup: func(name string, w io.Writer) error {
			if err := s.node.HoldForCopy(name); err != nil {
				return err
			}
			return s.core.sendBackup(w)
		}, Links: s.core.sendLinks}
	}
	s.speakHTTPS(&o)
	o.Outlived = s.passed[activation.Public] != nil
	server, err := api.NewServer(o)
	if err != nil {
		return settings.UsageErrorf("%w", err)
	}
	s.served.Store(server)
	serveOn(s.parts, "public address", server.ServePublic, s.public)
	if s.redirects != nil {
		serveOn(s.parts, "redirect address", server.ServeRedirects, s.redirects)
	}
	if s.nodes != nil {
		serveOn(s.parts, "cluster address", server.ServeCluster, s.nodes)
	}
	serveOn(s.parts, "admin address", server.ServeAdmin, s.admin)
	serveOn(s.parts, "socket", server.ServeLocal, s.local)
	s.parts.run("settings", s.reloadWhenAsked)
	drainOnStop(s.parts, server, s.say.Log)
	s.parts.onStop("settling", func() error { // first: it goes on while clients finish
		s.core.store.Settle(s.parts.began.Add(settleBy))
		s.core.engine.CloseBy(s.parts.began.Add(flushBy))
		return nil
	})
	if s.cfg.allowHTTP {
		s.say.Log.Warn("tokens are accepted over plain HTTP from anywhere (--allow-http)")
	}
	return nil
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
