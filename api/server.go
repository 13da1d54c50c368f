package api

import (
	"cmp"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/absent"
	"shunt/api/account"
	"shunt/api/admin"
	"shunt/api/auth"
	"shunt/api/cluster"
	"shunt/api/dashboard"
	"shunt/api/domain"
	"shunt/api/domains"
	foreign "shunt/api/doors"
	"shunt/api/exchange"
	"shunt/api/failures"
	"shunt/api/fetch"
	"shunt/api/folder"
	"shunt/api/folders"
	"shunt/api/limit"
	"shunt/api/links"
	"shunt/api/ops"
	"shunt/api/page"
	"shunt/api/password"
	"shunt/api/problem"
	"shunt/api/public"
	"shunt/api/redirect"
	"shunt/api/shed"
	"shunt/api/turnstile"
	"shunt/api/wire"
	"shunt/api/wire/conns"
	"shunt/api/wire/http1"
	"shunt/api/wire/loop"
	"shunt/api/words"
	"shunt/engine"
)

// A Server is the HTTP front end: the public address, the admin address, and the socket of local
// commands.
type Server struct {
	engine   *engine.Engine
	accounts *account.Accounts
	domains  *domain.Domains
	folders  *folder.Folders
	baseURL  string
	targets  engine.TargetPolicy
	proxies  http1.Proxies
	version  string
	log      *slog.Logger
	now      exchange.Clock

	auth         *auth.Authenticator
	limiter      *auth.Limiter
	metrics      *admin.Metrics
	adminAddress *admin.Address
	accountCalls *accountCalls
	edgeList     *edgeList
	calls        *ops.Calls
	linkCalls    *links.Calls
	domainCalls  domains.Calls
	folderCalls  folders.Calls
	fetches      *fetch.Calls
	checks       *fetch.Checks
	live         *links.Live
	panics       exchange.PanicLog

	redirects   *redirect.Redirector
	pages       public.Pages
	gatekeeper  *public.Gatekeeper
	linkWords   *password.Hasher     // hashes the passwords of links
	others      *public.Router       // pages
	dashboard   *dashboard.Dashboard // nil: none
	doors       *foreign.Doors
	front       *front
	cores       *turnstile.Turnstile // for all work that keeps a core busy
	heavy       links.Heavy
	shedder     *shed.Shedder
	stall       stallMark
	router      *apiRouter
	bodyLimits  *bodyLimits
	localRoutes fasthttp.RequestHandler

	connections          conns.Counts // public ones
	latency              loop.Latency
	public, local, admin *wire.Group
	insecure, nodes      *wire.Group
	clustered            *clustered // nil: no cluster
	passing              *passing   // nil: no edge
	drain                *wire.Drain
	ending               chan struct{} // closed by Shutdown
}

// NewServer returns a server that does not serve yet. It starts no goroutine.
func NewServer(o Options) (*Server, error) {
	checked, err := o.check()
	if err != nil {
		return nil, err
	}
	s := &Server{
		engine: o.Engine, accounts: o.Accounts, domains: o.Domains, folders: o.Folders, baseURL: strings.TrimSuffix(o.BaseURL, "/"), targets: checked.targets,
		proxies: http1.Proxies{
			Trusted: o.TrustedProxies, CountryHeader: o.CountryHeader, HostHeader: o.HostHeader,
			Header: cmp.Or(o.ClientIPHeader, fasthttp.HeaderXForwardedFor),
		},
		log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)), now: o.Now, version: o.Version,
		drain: wire.NewDrain(), ending: make(chan struct{}),
	}
	if err := o.Domains.Begin(s.baseURL); err != nil {
		return nil, err
	}
	if o.Folders != nil {
		if err := o.Folders.Changed(); err != nil {
			return nil, err
		}
	}
	s.targets.OwnHost = o.Domains.Registered
	s.buildRedirects(o)
	s.pages = public.Pages{Set: page.New(checked.site), Languages: public.NewTranslated(checked.site, cmp.Or(o.Languages, words.New())), Domains: o.Domains, Blocked: s.targets.Blocked}
	s.buildBounds(&o)
	s.buildCallers(o)
	s.buildCalls(o)
	s.buildAdmin(o, checked.adminHosts)
	s.buildRoutes(o, checked)
	s.buildListeners(o)
	return s, nil
}

// buildRedirects builds the parts that answer requests for codes.
func (s *Server) buildRedirects(o Options) {
	if o.Blocks != nil {
		s.targets.Blocked = &o.Blocks.List
	}
	s.redirects = redirect.New(o.Engine, o.Countries, s.targets.Blocked, s.now.Time())
}

// buildBounds builds the limits of work that runs at once.
func (s *Server) buildBounds(o *Options) {
	s.cores = links.NewCores()
	s.accounts.ShareCores(s.cores)
	s.linkWords = password.New(engine.Cores(), public.MaxTypedCaller)
	s.linkWords.ShareCores(s.cores)
	s.calls = s.newCalls(o.BeginScan)
	s.fetches = fetch.NewCalls(o.Fetch, s.targets, s.now.Time)
	s.checks = fetch.NewChecks(s.fetches, s.calls, s.log)
	s.heavy = links.Heavy{Ops: s.calls}
	s.shedder = shed.New(func(now time.Time) time.Duration { return s.public.Pressed(now) })
}

// newCalls returns the calls on links and their figures.
func (s *Server) newCalls(beginScan func() (end func())) *ops.Calls {
	return ops.New(ops.Options{
		Engine: s.engine, Accounts: s.accounts, Domains: s.domains, Folders: s.folders, Targets: s.targets, Cores: s.cores,
		State: s.redirects.State, StateNow: s.redirects.StateNow, Missed: s.missed, Wrote: s.wrote,
		BeginScan: beginScan,
		Passwords: s.linkWords, Now: s.now.Time, Countries: s.proxies.CountryHeader != "" || s.redirects.KnowsCountries(), Logger: s.log,
	})
}

// wrote counts a write of a link.
func (s *Server) wrote(op string, n int, err error) {
	s.metrics.Wrote(op, n, err)
	s.stall.note(s.now.Time(), err)
}

// missed is an ops.MissedFunc.
func (s *Server) missed(top int, of func(engine.Domain) bool) ops.Misses {
	data, total, since := s.redirects.Missed(top, of)
	m := ops.Misses{Data: make([]ops.MissedCode, 0, len(data)), Total: total, Since: since}
	for _, c := range data {
		host := s.calls.HostIn(c.Domain)
		if c.Domain != engine.DefaultDomain && host == "" {
			continue // its domain was removed meanwhile
		}
		m.Data = append(m.Data, ops.MissedCode{Domain: host, Code: c.Code, Count: c.Count, Error: c.Error})
	}
	return m
}

// buildCallers builds the parts that identify callers and limit their rates.
func (s *Server) buildCallers(o Options) {
	https := &auth.HTTPS{
		Proxies: &s.proxies, AllowHTTP: o.AllowHTTP, SecureBase: strings.HasPrefix(s.baseURL, "https://"), Log: s.log,
	}
	s.auth = &auth.Authenticator{
		Accounts: o.Accounts, HTTPS: https, Cookies: auth.Cookies{HTTPS: https}, Pages: auth.OwnPages{Origin: auth.OriginOf(s.baseURL), Root: dashboard.Root},
		Origins: auth.Origins{Proxies: &s.proxies, Networks: o.AuditClients}, Failures: failures.New(s.log, o.LogClients, s.now.Time()), Now: s.now,
		Failed: func() { s.metrics.AuthFailed() }, NoUsers: o.EdgeOf.Writer != "" || o.Cluster.State != nil && o.Cluster.State.Edge(),
	}
	s.limiter = &auth.Limiter{Rules: limit.New(o.RateLimits, s.now.Time()), Proxies: &s.proxies, Now: s.now}
	s.panics.Out = s.log
}

// buildCalls builds the handlers of the API's calls.
func (s *Server) buildCalls(o Options) {
	s.accountCalls = &accountCalls{
		accounts: o.Accounts, calls: s.calls, auth: s.auth, limiter: s.limiter, baseURL: s.baseURL, noDashboard: o.NoDashboard,
	}
	s.edgeList = &edgeList{Edges: o.Edges, accounts: o.Accounts, now: s.now.Time, since: s.now.Time()}
	stale := func() bool { return false }
	if o.Cluster.State != nil {
		stale = o.Cluster.State.Stale
	}
	s.live = links.NewLive(s.calls, stale, s.ending, s.log)
	s.domainCalls = domains.Calls{Domains: s.domains, Engine: s.engine, Targets: s.targets, Certificates: o.Certificates, Places: domains.NewPlaces(), Now: s.now.Time}
	s.folderCalls = folders.Calls{Folders: s.folders, Accounts: o.Accounts, Ops: s.calls}
	s.linkCalls = &links.Calls{Ops: s.calls, Heavy: &s.heavy, Limiter: s.limiter, Ending: s.ending, Log: s.log}
}

// buildAdmin builds the pages of the admin address.
func (s *Server) buildAdmin(o Options, hosts admin.Hosts) {
	sources := s.metricSources(o)
	s.metrics = admin.NewMetrics(o.Version, sources)
	s.adminAddress = admin.NewAddress(sources, s.metrics, s.drain.Begun)
	s.adminAddress.Hosts, s.adminAddress.Profiles = hosts, o.Pprof
	s.adminAddress.Stalled, s.adminAddress.Now = func() bool { return s.stall.stalled(s.now.Time()) }, s.now.Time
	s.adminAddress.PrefersJSON = page.PrefersJSON
}

// Health returns the health of the server as it is now, as /readyz says it. Any goroutine may call it.
func (s *Server) Health() admin.Health { return s.adminAddress.Health() }

// buildRoutes builds the routers that pass a request to its endpoint.
func (s *Server) buildRoutes(o Options, checked checkedOptions) {
	s.dashboard = s.newDashboard(checked.site, o.Languages, o.EdgeOf.Writer != "")
	s.others = s.newPublic(checked, o.Certificates.Nonce)
	s.gatekeeper = public.NewGatekeeper(public.GatekeeperOptions{
		Pages: s.pages, Redirects: s.redirects, Engine: o.Engine, Limiter: s.limiter, HTTPS: s.auth.HTTPS, Hasher: s.linkWords,
		Places: s.others.Previews.Places, Now: s.now, Log: s.log, Ask: o.Unlock,
	})
	ofEdges := &edgeCalls{
		Edges: o.Edges, engine: o.Engine, accounts: o.Accounts, auth: s.auth, limiter: s.limiter, ending: s.ending, log: s.log,
		proxies: &s.proxies, known: &s.edgeList.known, now: s.now.Time,
		gatekeeper: s.gatekeeper,
		copies:     ops.NewPlaces("copies for edges", maxCopies, maxCopies), challenges: o.ACMEChallenges,
	}
	network := slices.Concat(s.endpoints(), ofEdges.endpoints())
	s.bodyLimits = newBodyLimits(s.auth, network, largeForms(s.dashboard))
	s.router = &apiRouter{
		limiter: s.limiter, origins: s.auth.Origins, metrics: s.metrics, cors: checked.cors, log: s.log, shedder: s.shedder, page: s.others.Serve, dashboard: s.dashboard,
		edgeOf: o.EdgeOf.Writer,
	}
	s.doors = checked.doors.Open(s.house())
	s.front = &front{
		redirects: s.redirects, proxies: &s.proxies, limiter: s.limiter, domains: s.domains, pages: s.pages, others: s.others, gatekeeper: s.gatekeeper, hsts: auth.NewHSTS(o.HSTSMaxAge), now: s.now,
		panics: &s.panics, drain: s.drain, latency: &s.latency, routes: s.router.routes(s.auth.OverNetwork, network, s.doors), refused: o.EdgeOf.Revoked, process: o.EdgeOf.Process,
	}
	s.front.access = o.Access
	if o.Absent.Ask != nil {
		s.front.absent = absent.New(o.Absent, s.now.Time())
	}
	s.front.scratch.New = newScratch
	operator := &operator{operations: o.Operations, engine: o.Engine, ending: s.ending, log: s.log}
	local := slices.Concat(s.endpoints(), operator.endpoints(), s.accountCalls.localEndpoints())
	s.localRoutes = s.router.routes(s.auth.OverSocket, local, nil)
	s.buildCluster(o, operator)
	s.passing = s.newPassing(o)
	s.front.routes = s.passing.over(ofEdges.received(s.front.routes))
	s.localRoutes = exchange.Named(s.passing.overSocket(s.localRoutes, operator.paths()))
}

// newPassing returns what an edge does with requests that are not for a link; nil: this is no edge.
func (s *Server) newPassing(o Options) *passing {
	if o.EdgeOf.Writer == "" {
		return nil
	}
	return &passing{
		EdgeOf: o.EdgeOf, transport: newTransport(o.EdgeOf.TLS), proxies: &s.proxies, https: s.auth.HTTPS,
		places: ops.NewPlaces("requests to the server of this edge", maxPassed, maxPassedClient),
		pages:  s.pages, fixed: s.others.IsFixed, noPages: o.NoDashboard, doors: s.doors, ending: s.ending,
	}
}

// newPublic returns what serves the pages besides those of the dashboard.
func (s *Server) newPublic(checked checkedOptions, nonce func(host, token string) (string, bool)) *public.Router {
	o := public.Options{
		BaseURL: s.baseURL, Site: checked.site, RootRedirect: checked.rootRedirect, Pages: s.pages, Nonce: nonce, Redirects: s.redirects,
		Engine: s.engine, Limiter: s.limiter, Cores: s.cores, Now: s.now, Log: s.log,
		Ask: func(k engine.KeyView, network netip.Addr, now time.Time) bool {
			return s.front.absent != nil && s.front.absent.Ask(k, network, now)
		},
	}
	if s.dashboard != nil {
		o.Dashboard = s.dashboard.Serve
	}
	return public.New(o)
}

// buildCluster builds the parts that pass requests between nodes. It wraps the routes, so they must be
// there.
func (s *Server) buildCluster(o Options, operator *operator) {
	if o.Cluster.State == nil {
		return
	}
	c := &clustered{
		engine: o.Engine, gatekeeper: s.gatekeeper, state: o.Cluster.State, forwarder: cluster.NewForwarder(o.Cluster.State, o.Cluster.TLS), here: operator.paths(),
		fixed: s.others.IsFixed, doors: s.doors,
		routes: s.front.routes, local: s.localRoutes, backup: o.Cluster.Backup, links: o.Cluster.Links, shared: o.Cluster.Shared, knows: o.Cluster.Knows,
		noPages: o.NoDashboard, copying: make(chan struct{}, maxSharedCopies),
		ending: s.ending, outbox: o.Cluster.Outbox, caps: o.Cluster.Caps, giveCopy: o.Cluster.GiveCopy, noteCopy: o.Cluster.NoteCopy, uses: o.Accounts.TakeUses, log: s.log,
	}
	s.clustered = c
	s.front.routes = c.over(s.front.routes, false)
	s.localRoutes = c.over(s.localRoutes, true)
}

// maxNodeConnections bounds the connections of other nodes of the cluster.
const maxNodeConnections = 4096

// Bounds of those of them that have not shown a certificate yet.
const (
	maxStrangers     = 256
	strangerPatience = 2 * time.Second
)

// buildListeners builds the groups of listeners.
func (s *Server) buildListeners(o Options) {
	s.public = s.newGroup(s.front.handle, s.publicLimits(o))
	if o.Access != nil {
		refuse := s.public.WriteProblem
		s.public.WriteProblem = func(ctx *fasthttp.RequestCtx, p problem.Problem) {
			refuse(ctx, p)
			noteAccess(o.Access, ctx, &s.proxies, 0)
		}
	}
	if o.Front != FrontFasthttp {
		s.public.Plain, s.public.PlainPanic, s.public.Loops = s.front.answerPlain, s.front.answerPanic, max(0, cmp.Or(o.Loops, engine.Cores()))
		s.public.Latency = &s.latency
		s.public.Reader = http1.NewReader(&s.proxies, redirect.PurposeFields[:])
	}
	s.public.Outlived = o.Outlived
	challenges := o.ACMEChallenges
	if s.passing != nil {
		challenges = newEdgeChallenges(challenges, s.passing)
	}
	upgrade := public.NewUpgrader(s.pages, challenges).Answer
	s.insecure = s.newGroup(s.handled(func(ctx *fasthttp.RequestCtx) { takeHost(ctx, &s.proxies); upgrade(ctx) }), s.redirectLimits(o))
	s.local = s.newGroup(s.handled(s.localRoutes), conns.Limits{Connections: maxOperators})
	s.local.MaxBody = s.bodyLimits.overSocket
	if s.clustered != nil {
		s.nodes = s.newGroup(s.handled(s.clustered.receive), conns.Limits{Connections: maxNodeConnections, FirstHeads: maxStrangers})
		s.nodes.Patience.First = strangerPatience
		s.nodes.MaxBody = s.bodyLimits.overSocket
	}
	s.admin = s.newGroup(s.handleAdmin, conns.Limits{Connections: cmp.Or(o.AdminConnections, MaxAdmins)})
	s.admin.Patience.Request = admin.ProfilePatience
}

func (s *Server) newGroup(handle fasthttp.RequestHandler, lim conns.Limits) *wire.Group {
	return &wire.Group{
		Handle: handle, WriteProblem: s.router.refuseUnread, MaxBody: s.bodyLimits.overNetwork, Limits: lim,
		Patience: conns.DefaultPatience, Drain: s.drain, Log: s.log,
	}
}

func (s *Server) publicLimits(o Options) conns.Limits {
	lim := conns.Limits{Connections: MaxConnections, PerAddress: DefaultPerAddress, Exempt: &s.proxies, Counts: &s.connections}
	if o.MaxConnections > 0 {
		lim.Connections = min(lim.Connections, o.MaxConnections)
	}
	if o.MaxPerAddress != 0 {
		lim.PerAddress = max(0, o.MaxPerAddress)
	}
	return lim
}

func (s *Server) redirectLimits(o Options) conns.Limits {
	lim := s.publicLimits(o)
	lim.Connections = min(lim.Connections, public.RedirectConnections)
	lim.PerAddress = min(lim.PerAddress, public.RedirectConnections/8)
	return lim
}

// ServePublic serves redirects and the API on ln until Shutdown. ln may be a TLS listener. It may
// be called for several listeners.
func (s *Server) ServePublic(ln net.Listener) error { return s.public.Serve(ln) }

// ServeLocal serves the API to local commands on ln until Shutdown. Every client is fully trusted,
// so ln must be a Unix socket that only the owner of the data folder can open, or in memory.
func (s *Server) ServeLocal(ln net.Listener) error { return s.local.Serve(ln) }

// ServeAdmin serves /metrics, /healthz, /readyz and, if allowed, /debug/pprof on ln until Shutdown.
// It requires no token.
func (s *Server) ServeAdmin(ln net.Listener) error { return s.admin.Serve(ln) }

// ServeCluster answers other nodes of the cluster on ln, a TLS listener that has checked their
// certificates, until Shutdown.
func (s *Server) ServeCluster(ln net.Listener) error { return s.nodes.Serve(ln) }

// ServeRedirects redirects every request on ln to BaseURL until Shutdown, except for ACME
// challenges.
func (s *Server) ServeRedirects(ln net.Listener) error { return s.insecure.Serve(ln) }

// handled returns handle with the steps that every request needs: a panic is logged and answered,
// and while the server drains, answers close their connections. front.handle does the same itself,
// which saves a redirect one call.
func (s *Server) handled(handle fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		defer s.panics.Recovered(ctx)
		if s.drain.Begun() {
			ctx.SetConnectionClose()
		}
		handle(ctx)
	}
}

// handleAdmin answers every request on the admin address.
func (s *Server) handleAdmin(ctx *fasthttp.RequestCtx) {
	defer s.panics.Recovered(ctx)
	if err := s.adminAddress.Answer(ctx, http1.AddrOf(ctx.LocalAddr())); err != nil {
		exchange.Fail(ctx, s.log, err)
	}
}
