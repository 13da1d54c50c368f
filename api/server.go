package api

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpadaptor"

	"shunt/api/account"
	"shunt/api/docs"
	"shunt/api/page"
	"shunt/api/redirect"
	"shunt/api/turnstile"
	"shunt/api/visitor"
	"shunt/engine"
)

// Options are what a Server needs.
type Options struct {
	Engine   *engine.Engine    // required
	Accounts *account.Accounts // required
	BaseURL  string            // required: an origin without path, such as https://sho.rt; short addresses begin with it
	Listens  []string          // where the public address listens, as host:port: what leads there is a loop, see ownOrigins

	TrustedProxies []netip.Prefix
	ClientIPHeader string             // default X-Forwarded-For; believed only from TrustedProxies
	CountryHeader  string             // believed only from TrustedProxies, and then before Countries; empty: none
	Countries      *visitor.Countries // of client addresses; nil: not looked up
	PrivateTargets string             // allow, refuse, or auto (default): allowed if BaseURL itself is of a private network
	RateLimits     RateLimits         // default: none; see DefaultRateLimits
	HSTSMaxAge     time.Duration      // answers over TLS demand HTTPS for so long; default: they do not
	ACMEChallenges http.Handler       // answers http-01 challenges on ServeRedirects; nil: nobody does
	CORSOrigins    []string           // whose pages may call the API, such as https://app.example; "*": everybody's; default: nobody's
	AllowHTTP      bool               // tokens may come over plain HTTP from anywhere
	Blocks         *BlockFile         // targets that are refused and not redirected to; nil: none
	RootRedirect   string             // where / leads; empty: a page
	MaxConnections int                // public ones at a time, at most 32,768; default that
	MaxPerAddress  int                // of them from one address (IPv6: from one /64); default 512; negative: no limit
	AdminHosts     []string           // hosts under which the admin address may be asked, beside loopback ones; see adminHost
	Pprof          bool               // /debug/pprof on the admin address even if that is not loopback
	Operations     Operations         // on the socket of local commands only

	Logger         *slog.Logger              // default: discards
	Version        string                    // for build_info
	StorageMetrics func() map[string]float64 // gauges, or counters if the name ends in _total; shunt_storage_ is put before
	Now            func() time.Time          // default time.Now
}

// Server is the HTTP front end: the public address, the admin address, and the socket of local commands.
type Server struct {
	engine   *engine.Engine
	accounts *account.Accounts
	baseURL  string
	targets  engine.TargetPolicy
	cors     cors
	proxies  proxies
	log      *slog.Logger
	now      func() time.Time // nil: the time at which fasthttp took the request

	allowHTTP   bool
	warnedProxy sync.Once
	hsts        string                  // the value of Strict-Transport-Security; empty: none
	challenges  fasthttp.RequestHandler // nil: none

	redirects    *redirect.Redirector
	pages        *page.Set
	cursors      cursors
	rules        *rules
	scratch      sync.Pool            // of *scratch
	rootRedirect string               // empty: a page
	docs         func() docs.Document // the reference page; made when it is first asked for
	cores        *turnstile.Turnstile // what keeps a core busy
	previews     *turnstile.Turnstile // reads of the store by previews
	qrCodes      *turnstile.Turnstile // QR codes that are drawn
	bodyLimits   map[string]endpoint  // those that have a limit of their own, by method and path
	panics       panicLog
	publicRoutes fasthttp.RequestHandler
	localRoutes  fasthttp.RequestHandler
	adminRoutes  map[string]fasthttp.RequestHandler
	adminHosts   hostSet
	pprof        bool
	metrics      *metrics

	operations Operations
	operating  sync.Mutex // held by the operation under way

	connections          connectionCounts // public ones
	live                 liveStreams
	exports              places
	heavyReads           places
	issues               places // of tokens
	public, local, admin *group
	insecure             *group
	drain                *drain
}

// NewServer returns a server that serves nothing yet. It starts no goroutine.
func NewServer(o Options) (*Server, error) {
	if o.Engine == nil || o.Accounts == nil {
		return nil, errors.New("api: Options need an Engine and Accounts")
	}
	origin, err := parseOrigin(o.BaseURL)
	if err != nil {
		return nil, err
	}
	inOwnNetwork := engine.InOwnNetwork(origin.Host)
	refusePrivate, err := refusesPrivate(o.PrivateTargets, inOwnNetwork)
	if err != nil {
		return nil, err
	}
	targets := engine.TargetPolicy{OwnOrigins: ownOrigins(o, inOwnNetwork), RefusePrivate: refusePrivate}
	rootRedirect, err := rootRedirectOf(o, targets.OwnOrigins)
	if err != nil {
		return nil, err
	}
	cors, err := newCORS(o.CORSOrigins)
	if err != nil {
		return nil, fmt.Errorf("an origin that may call the API: %w", err)
	}
	adminHosts, err := newHostSet(o.AdminHosts)
	if err != nil {
		return nil, fmt.Errorf("a host of the admin address: %w", err)
	}
	s := &Server{
		cors: cors, engine: o.Engine, accounts: o.Accounts, baseURL: strings.TrimSuffix(o.BaseURL, "/"), targets: targets,
		pages:     page.New(origin.Host, docsPath),
		proxies:   proxies{trusted: o.TrustedProxies, header: o.ClientIPHeader, countryHeader: o.CountryHeader},
		log:       o.Logger,
		now:       o.Now,
		allowHTTP: o.AllowHTTP, rootRedirect: rootRedirect,
		cores: newCores(), previews: newPreviews(), qrCodes: newQRCodes(),
		pprof: o.Pprof, adminHosts: adminHosts, operations: o.Operations,
		drain: newDrain(),
	}
	if s.proxies.header == "" {
		s.proxies.header = fasthttp.HeaderXForwardedFor
	}
	if s.log == nil {
		s.log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	s.build(o)
	return s, nil
}

func (s *Server) build(o Options) {
	s.docs = sync.OnceValue(func() docs.Document { return docs.Page(s.baseURL) })
	s.scratch.New = func() any { return &scratch{buf: make([]byte, 0, scratchBytes)} }
	if o.Blocks != nil {
		s.targets.Blocked = &o.Blocks.list
	}
	s.redirects = redirect.New(o.Engine, o.Countries, s.targets.Blocked, s.clock())
	s.rules = newRules(o.RateLimits, s.clock())
	s.live.init()
	s.cursors = newCursors(o.Engine.VisitorKey())
	s.accounts.ShareCores(s.cores)
	s.exports = newPlaces("exports", maxExports, maxExportsCaller)
	s.heavyReads = newPlaces("lists and figures", maxHeavyReads, maxHeavyReadsCaller)
	s.issues = newPlaces("requests for tokens", maxIssues, maxIssuesCaller)
	s.metrics = newMetrics(s, o)
	s.bodyLimits = bodyLimits(s.endpoints())
	s.publicRoutes = s.routes(s.publicDoor, s.endpoints())
	s.localRoutes = s.routes(s.localDoor, append(s.endpoints(), s.operationEndpoints()...))
	s.adminRoutes = s.buildAdminRoutes()
	s.public = s.newGroup(s.handlePublic, s.publicLimits(o))
	s.insecure = s.newGroup(s.handleInsecure, s.redirectLimits(o))
	if o.HSTSMaxAge > 0 {
		s.hsts = fmt.Sprintf("max-age=%d", int64(o.HSTSMaxAge/time.Second))
	}
	if o.ACMEChallenges != nil {
		s.challenges = fasthttpadaptor.NewFastHTTPHandler(o.ACMEChallenges)
	}
	s.local = s.newGroup(s.handleLocal, limits{connections: maxOperators})
	s.local.maxBody = s.localBodyLimit
	s.admin = s.newGroup(s.handleAdmin, limits{connections: maxOperators})
	s.admin.patience.request = profilePatience
}

func (s *Server) newGroup(handle fasthttp.RequestHandler, lim limits) *group {
	return &group{
		handle: handle, refuse: s.refuseUnread, maxBody: s.bodyLimitOf, limits: lim, patience: defaultPatience, drain: s.drain, log: s.log,
	}
}

func (s *Server) publicLimits(o Options) limits {
	lim := limits{connections: MaxConnections, perAddress: DefaultPerAddress, exempt: &s.proxies, counts: &s.connections}
	if o.MaxConnections > 0 {
		lim.connections = min(lim.connections, o.MaxConnections)
	}
	if o.MaxPerAddress != 0 {
		lim.perAddress = max(0, o.MaxPerAddress)
	}
	return lim
}

func (s *Server) redirectLimits(o Options) limits {
	lim := s.publicLimits(o)
	lim.connections = min(lim.connections, RedirectConnections)
	lim.perAddress = min(lim.perAddress, RedirectConnections/8)
	return lim
}

// parseOrigin reads the base URL: http or https, a host, and nothing behind it.
func parseOrigin(baseURL string) (*url.URL, error) {
	u, err := url.Parse(baseURL)
	if err != nil {
		return nil, fmt.Errorf("base URL: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("base URL %q must be an origin without path, such as https://sho.rt", baseURL)
	}
	if _, err := (engine.TargetPolicy{}).Parse(baseURL); err != nil {
		return nil, fmt.Errorf("base URL %q: %w", baseURL, err)
	}
	return u, nil
}

// refusesPrivate reports whether private targets are refused by that policy, on a server that only its own network can
// reach or on a public one.
func refusesPrivate(policy string, inOwnNetwork bool) (bool, error) {
	switch policy {
	case "allow":
		return false, nil
	case "refuse":
		return true, nil
	case "auto", "":
		return !inOwnNetwork, nil
	}
	return false, fmt.Errorf("private targets: %q is none of allow, refuse, auto", policy)
}

// ownOrigins returns the addresses that lead back to this server. Where we listen is one of them only if the base URL is
// of our own network: whoever follows a link of a public server to 127.0.0.1:8080 comes to a machine of their own.
func ownOrigins(o Options, inOwnNetwork bool) []string {
	origins := []string{o.BaseURL}
	if !inOwnNetwork {
		return origins
	}
	for _, address := range o.Listens {
		if strings.HasPrefix(address, ":") {
			address = "0.0.0.0" + address // every address of this machine
		}
		origins = append(origins, "http://"+address)
	}
	return origins
}

// clock returns the time.
func (s *Server) clock() time.Time {
	if s.now != nil {
		return s.now()
	}
	return time.Now()
}

// timeOf returns when the request was taken.
func (s *Server) timeOf(ctx *fasthttp.RequestCtx) time.Time {
	if s.now != nil {
		return s.now()
	}
	return ctx.Time()
}

// ServePublic serves redirects and the API on ln until Shutdown. ln may be a TLS listener. It may be called for
// several listeners.
func (s *Server) ServePublic(ln net.Listener) error { return s.public.serve(ln) }

// ServeLocal serves the API to local commands on ln until Shutdown. Whoever can connect is trusted with everything:
// ln is a Unix socket that only the owner of the data folder can open, or in memory.
func (s *Server) ServeLocal(ln net.Listener) error { return s.local.serve(ln) }

// ServeAdmin serves /metrics, /healthz, /readyz and maybe /debug/pprof on ln until Shutdown. It asks for no token.
func (s *Server) ServeAdmin(ln net.Listener) error { return s.admin.serve(ln) }

// handleLocal is the way of every request on the socket of local commands.
func (s *Server) handleLocal(ctx *fasthttp.RequestCtx) {
	defer s.recovered(ctx)
	if s.drain.hasBegun() {
		ctx.SetConnectionClose()
	}
	s.localRoutes(ctx)
}
