package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"shunt/api"
	"shunt/api/fetch"
	"shunt/api/wire"
	"shunt/cmd/shunt/activation"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/core"
	"shunt/cmd/shunt/edge"
	"shunt/cmd/shunt/memory"
	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/socket"
	"shunt/cmd/shunt/usage"
	"shunt/cmd/shunt/version"
	"shunt/engine"
	"shunt/storage"
)

// New returns the command serve. program is how this program was called, for advice.
func New(program string, cluster Cluster, stderr io.Writer) *cobra.Command {
	cfg := serveConfig{addNode: cluster}
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

What redirects do not need may be missing: a file of --geoip, --language-file or --brand-logo that
cannot be read is a warning. Certificates and the block list must be there at the start. If their
files, or that of --geoip, go bad while the server runs, what they said last stays in force.

Under systemd, the server takes the sockets that a socket unit names public, http and admin
(FileDescriptorName=) instead of --listen, --http-redirect-listen and --admin-listen, so that clients
wait during a restart; it reports its state (Type=notify) and feeds the watchdog (WatchdogSec=).`,
		Example: `  shunt serve
  shunt serve --data /var/lib/shunt --listen :8080 --base-url https://sho.rt --trusted-proxy 10.0.0.0/8
  shunt serve --config /etc/shunt.toml`,
		Args: usage.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s := &server{
				cfg: &cfg, say: console.New(stderr, cfg.logFormat, cfg.logLevel), program: program, parts: core.NewServeStack(),
				settings: newReloader(cmd, cluster),
			}
			return s.serve(cmd.Context())
		},
	}
	if cluster != nil {
		cmd.Long += "\n\nWith --cluster it is one of several nodes that have the same links: 'shunt help cluster'."
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

// run serves until ctx ends or a part fails, and stops every part that it has started.
func (s *server) run(ctx context.Context) error {
	err := s.start(ctx)
	if err == nil {
		select {
		case <-ctx.Done():
			s.draining.Store(true)
			s.manager.Stopping(s.status())
			s.say.Draining()
		case err = <-s.parts.Fails():
		}
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = nil // stopped while loading
	}
	if err = errors.Join(err, core.WithoutLateStore(s.parts.Stop(), s.say.Log)); err == nil {
		s.say.Stopped()
	}
	return err
}

// start starts the parts in the order in which they rely on each other. Whatever can refuse comes
// before what writes.
func (s *server) start(ctx context.Context) error {
	s.parts.Run("service manager", func(ctx context.Context) error { return s.manager.Run(ctx, s.status) })
	s.parts.Run("watchdog", func(ctx context.Context) error { return s.manager.Watch(ctx, s.alive) })
	s.readCountries()
	s.readBrand()
	s.readTexts()
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
	baseURL, err := s.cfg.data.ResolveBaseURL(s.public.Addr().String())
	if err != nil {
		return err
	}
	if err := s.openData(ctx); err != nil {
		return err
	}
	s.parts.Run("engine", s.core.Engine.Run)
	if err := s.serveAPI(baseURL); err != nil {
		return err
	}
	if err := s.core.Store.NoteBaseURL(baseURL); err != nil {
		return err
	}
	s.say.Listening(console.Addresses{
		Version: version.Text(), BaseURL: baseURL, Data: s.cfg.data.Dir,
		Public: s.scheme() + s.public.Addr().String(), Admin: "http://" + s.admin.Addr().String(),
	}, s.core.Created)
	s.isReady() // codes are answered from the store until they are loaded
	if err := s.core.Load(ctx, s.say); err != nil {
		return err
	}
	s.keepBackups()
	if s.node != nil {
		s.parts.Run("cluster", s.node.Run) // stopped first: another node leads while clients finish here
	}
	if s.node == nil || !s.node.Edge() {
		if err := s.sayNext(baseURL); err != nil {
			return err
		}
	}
	s.say.Ready(s.core.Engine.Metrics().Links)
	return nil
}

// listen takes the ports before the data is opened: a second server on a port fails before it has
// touched its data.
func (s *server) listen() (err error) {
	if s.public, err = s.listenOn("--listen", activation.Public, s.cfg.data.Listen); err != nil {
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
	}
	if s.nodes != nil {
		s.parts.OnStop("--cluster-listen", closeListener(s.nodes))
	}
	if s.edge != nil {
		s.edge.ListensAt(s.public.Addr())
	}
	s.admin, err = s.listenOn("--admin-listen", activation.Admin, s.cfg.adminListen)
	return err
}

// openData opens the store, which locks the folder, then the socket in it, then the engine.
func (s *server) openData(ctx context.Context) (err error) {
	defer func() { err = s.cfg.data.Mend(err) }()
	s.core.Serves = true
	path, err := socket.Path(s.cfg.data.Dir)
	if err != nil {
		return err
	}
	if err := s.cfg.data.RefuseForeign(); err != nil {
		return err
	}
	s.chooseMemory()
	if err := s.openJoined(ctx); err != nil {
		return err
	}
	s.parts.Run("heap", memory.NewHeapKeeper(s.core.Store.Metrics).Run)
	if err := s.warnOfOpenFolder(); err != nil {
		return err
	}
	if s.local, err = socket.Listen(path); err != nil {
		return err
	}
	s.parts.OnStop("socket", closeListener(s.local))
	options := engine.Options{
		FlushInterval: s.cfg.flushInterval, KeptHours: s.cfg.keptHours, KeptDays: s.cfg.keptDays, KeptAuditDays: s.cfg.audit.keptDays,
		Full: s.memory.AskFull, Logger: s.say.Log, Cluster: s.node != nil, EdgeOfWriter: s.edge != nil,
	}
	if err := s.core.OpenEngine(s.parts, &s.cfg.data, options); err != nil {
		return err
	}
	if s.node != nil {
		s.node.Use(s.core.Engine, s.core.Accounts, s.core.Folders, s.core.Domains, s.core.Certificates)
	}
	s.parts.Run("memory limit", s.memory.Run)
	return nil
}

// fixZone has the store keep days of the zone that is set.
func (s *server) fixZone() error {
	err := s.core.Store.FixZone(s.cfg.timeZone)
	if errors.Is(err, storage.ErrOtherZone) {
		return settings.UsageErrorf("--time-zone is %s, but %s keeps days of %s since its first start; leave --time-zone out, "+
			"or move the links into a new store with 'shunt export' and 'shunt import' (figures by the day begin anew there)",
			s.cfg.timeZone.Name(), core.Absolute(s.cfg.data.Dir), s.core.Store.Zone().Name())
	}
	return err
}

// serveAPI serves the three ways in. While links are being loaded, they answer so.
func (s *server) serveAPI(baseURL string) error {
	o := s.core.APIOptions(&s.cfg.data, baseURL, s.say.Log)
	o.TrustedProxies, o.ClientIPHeader = s.cfg.trustedProxies, s.cfg.clientIPHeader
	o.CountryHeader, o.HostHeader = s.cfg.countryHeader, s.cfg.hostHeader
	if s.countries != nil {
		o.Countries = &s.countries.Countries
	}
	o.Metrics.Countries = s.countryFigures()
	o.Blocks, o.RootRedirect = s.blocks, s.cfg.rootRedirect
	if s.cfg.fetchTitles {
		o.Fetch = fetch.New(fetch.Options{})
	}
	o.Brand, o.NoDashboard, o.Doors, o.Languages = s.brand, s.cfg.noDashboard, s.cfg.doors, s.languages
	o.Listens, o.AdminHosts = s.listens(), s.cfg.adminHosts
	o.AllowHTTP, o.Pprof, o.CORSOrigins = s.cfg.allowHTTP, s.cfg.pprof, s.cfg.corsOrigins
	s.keeper = s.newKeeper()
	o.Metrics.Offsite = s.backupFigures()
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
	s.speakHTTPS(&o)
	if s.node != nil {
		s.node.Answer(&o, &s.core)
	} else {
		writer := edge.NewWriter(s.core.Store, s.core.Engine, s.core.Accounts, s.say.Log)
		o.Edges = writer.Calls()
		s.parts.Run("edges", writer.Run)
	}
	o.Outlived = s.passed[activation.Public] != nil
	server, err := api.NewServer(o)
	if err != nil {
		return settings.UsageErrorf("%w", err)
	}
	s.served.Store(server)
	s.order()
	core.ServeOn(s.parts, "public address", server.ServePublic, s.public)
	if s.redirects != nil {
		core.ServeOn(s.parts, "redirect address", server.ServeRedirects, s.redirects)
	}
	if s.nodes != nil {
		core.ServeOn(s.parts, "cluster address", server.ServeCluster, s.nodes)
	}
	core.ServeOn(s.parts, "admin address", server.ServeAdmin, s.admin)
	core.ServeOn(s.parts, "socket", server.ServeLocal, s.local)
	s.parts.Run("settings", s.reloadWhenAsked)
	core.DrainOnStop(s.parts, server, s.say.Log)
	s.core.SettleOnStop(s.parts)
	if s.cfg.allowHTTP {
		s.say.Log.Warn("tokens are accepted over plain HTTP from anywhere (--allow-http)")
	}
	return nil
}
