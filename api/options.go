package api

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"shunt/api/absent"
	"shunt/api/accesslog"
	"shunt/api/account"
	"shunt/api/admin"
	"shunt/api/auth"
	"shunt/api/blocklist"
	"shunt/api/brand"
	"shunt/api/cluster"
	"shunt/api/dashboard"
	"shunt/api/domain"
	"shunt/api/domains"
	foreign "shunt/api/doors"
	"shunt/api/fetch"
	"shunt/api/folder"
	"shunt/api/limit"
	"shunt/api/lock"
	"shunt/api/page"
	"shunt/api/public"
	"shunt/api/visitor"
	"shunt/api/words"
	"shunt/engine"
)

// Options are what a Server needs.
type Options struct {
	Engine   *engine.Engine    // required
	Accounts *account.Accounts // required
	Domains  *domain.Domains   // required
	Folders  *folder.Folders   // nil: there are none, and none can be made
	BaseURL  string            // required: an origin without path, such as https://sho.rt; the beginning of short addresses
	Listens  []string          // addresses of the public listeners, as host:port: a target there is a loop, see ownOrigins

	// BeginScan tells the store that an export begins, which reads all links once; end is called when it is over.
	// nil: the store need not know.
	BeginScan func() (end func())

	TrustedProxies   []netip.Prefix
	ClientIPHeader   string               // default X-Forwarded-For; used only from TrustedProxies
	CountryHeader    string               // used only from TrustedProxies, and preferred to Countries; empty: none
	HostHeader       string               // used only from TrustedProxies, and preferred to the host in the request; empty: none
	Countries        *visitor.Countries   // countries of client addresses; nil: unknown
	TargetSchemes    engine.TargetSchemes // that targets may have; nil: http and https
	PrivateTargets   string               // allow, refuse, or auto (default): allowed if BaseURL itself is of a private network
	RateLimits       limit.Limits         // default: none; see limit.Default
	HSTSMaxAge       time.Duration        // for how long answers over TLS demand HTTPS; 0: they do not
	ACMEChallenges   http.Handler         // answers http-01 challenges on ServeRedirects; nil: none
	Certificates     domains.Certificates // of domains; zero: this server does not speak HTTPS
	CORSOrigins      []string             // origins whose pages may call the API, such as https://app.example; "*": all; default: none
	AllowHTTP        bool                 // tokens may be sent over plain HTTP from anywhere
	Blocks           *blocklist.File      // refused and blocked targets; nil: none
	Fetch            *fetch.Client        // asks other servers about targets; nil: nobody does
	RootRedirect     string               // the target of /; empty: a page
	Brand            brand.Brand          // shown on the public pages
	Doors            []string             // open for clients of other shorteners, by the names of package doors
	Languages        *words.Languages     // of the pages under /_/; nil: those of the program
	NoDashboard      bool                 // there is nothing under /_/ but the reference page and the logo
	Front            Front                // of the public listeners
	Loops            int                  // event loops of each of these, where Front allows some; default: one for each core; negative: none
	Outlived         bool                 // a service manager holds the public listening sockets, and passes them to the next process
	MaxConnections   int                  // limit of open public connections; default and maximum 32,768
	AdminConnections int                  // limit of those of the admin address; default 256
	MaxPerAddress    int                  // of the public ones, from one address (IPv6: one /64); default 512; negative: unlimited
	AdminHosts       []string             // host names of the admin address, besides loopback ones; see package admin
	Pprof            bool                 // /debug/pprof on the admin address even if that is not loopback
	Operations       Operations           // offered on the socket of local commands only

	Cluster Cluster // of several nodes; zero: none
	Edges   Edges   // of this server, which is their writer; zero: it can have none
	EdgeOf  EdgeOf  // this server is an edge; zero: it is none

	// Unlock asks the server that has the passwords of links; nil: this one has. See lock.Question.
	Unlock func(context.Context, lock.Question) (lock.Answer, error)

	Absent absent.Source // who is asked about codes that this server does not know; zero: nobody

	AuditClients bool             // callers have the network of their client: a /24, or a /48 of IPv6; see account.Origin
	Access       *accesslog.Log   // of the public address; nil: none
	LogClients   bool             // lines about failed logins and refused tokens have the client's address; no other line has
	Logger       *slog.Logger     // default: discards
	Version      string           // for build_info
	Metrics      admin.Sources    // figures made elsewhere; NewServer fills in what this package makes
	Now          func() time.Time // default time.Now
}

// Cluster is how a Server reaches the other nodes of its cluster.
type Cluster struct {
	State cluster.State
	TLS   *tls.Config // for connections to them

	// Backup writes a backup to w, as a tar stream, for a node of that name that begins.
	Backup func(node string, w io.Writer) error

	// Links is Backup for an edge: of what it may have.
	Links func(w io.Writer) error

	// Shared writes what all nodes share to w, or of it what an edge keeps. Knows reports whether a node of that name
	// has proved that it has the cluster's data: see cluster.ProofOf.
	Shared func(ctx context.Context, links bool, w io.Writer) error
	Knows  func(node string, proof []byte) bool

	// Outbox returns the records of this node's outbox after a position, for a node of that name, which
	// has applied those through it, and will not need those through kept again. known is the id of the outbox that it
	// knows. If that is not this outbox, the records begin with the first.
	Outbox func(node string, q cluster.OutboxQuery) (cluster.Outbox, error)

	// Caps is engine.GrantCaps in the cluster.
	Caps func(ctx context.Context, asks []engine.CapAsk) ([]engine.CapAnswer, error)

	// GiveCopy ends the admission of a node, unless it needs none, and notes in the audit log that it gets a copy. The
	// error is cluster.ErrNotAdmitted. NoteCopy does it at the node that leads.
	GiveCopy func(ctx context.Context, c cluster.Copy) error
	NoteCopy func(ctx context.Context, c cluster.Copy) error
}

// A Front is who answers the requests of the public listeners.
type Front uint8

const (
	FrontAuto     Front = iota // plain requests are answered without fasthttp: by event loops where there are some, or else in its lane
	FrontFasthttp              // fasthttp answers all of them
)

// checkedOptions are the parsed values of the texts in Options.
type checkedOptions struct {
	targets      engine.TargetPolicy
	rootRedirect string
	cors         auth.CORS
	adminHosts   admin.Hosts
	doors        foreign.Chosen
	site         page.Site
}

func (o Options) check() (p checkedOptions, err error) {
	if o.Engine == nil || o.Accounts == nil || o.Domains == nil {
		return p, errors.New("api: Options need an Engine, Accounts and Domains")
	}
	origin, err := parseOrigin(o.BaseURL)
	if err != nil {
		return p, err
	}
	if err := o.Brand.Check(); err != nil {
		return p, err
	}
	p.site = page.Site{Host: origin.Host, Docs: public.DocsPath, Brand: o.Brand}
	if !o.NoDashboard {
		p.site.SignIn = dashboard.Root
	}
	inOwnNetwork := engine.InOwnNetwork(origin.Host)
	p.targets.OwnOrigins, p.targets.Schemes = ownOrigins(o, inOwnNetwork), o.TargetSchemes
	if p.targets.RefusePrivate, err = refusesPrivate(o.PrivateTargets, inOwnNetwork); err != nil {
		return p, err
	}
	if p.rootRedirect, err = rootRedirectOf(o, p.targets.OwnOrigins); err != nil {
		return p, err
	}
	if p.cors, err = auth.NewCORS(o.CORSOrigins); err != nil {
		return p, fmt.Errorf("an origin that may call the API: %w", err)
	}
	if p.adminHosts, err = admin.ParseHosts(o.AdminHosts); err != nil {
		return p, fmt.Errorf("a host of the admin address: %w", err)
	}
	if p.doors, err = foreign.Named(o.Doors); err != nil {
		return p, err
	}
	return p, nil
}

// parseOrigin reads the base URL: http or https, a host, and nothing after it.
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

// refusesPrivate reports whether policy refuses private targets. inOwnNetwork means that only its
// own network can reach the server.
func refusesPrivate(policy string, inOwnNetwork bool) (bool, error) {
	switch policy {
	case "allow":
		return false, nil
	case "refuse":
		return true, nil
	case "auto", "":
		return !inOwnNetwork, nil
	}
	return false, fmt.Errorf("private targets: %q must be allow, refuse or auto", policy)
}

// ownOrigins returns the origins that lead back to this server. The listeners' addresses do so only
// if the base URL is in our own network: a visitor that follows a link of a public server to
// 127.0.0.1:8080 reaches their own machine.
func ownOrigins(o Options, inOwnNetwork bool) engine.Origins {
	origins := []string{o.BaseURL}
	if !inOwnNetwork {
		return engine.ParseOrigins(origins...)
	}
	for _, address := range o.Listens {
		if strings.HasPrefix(address, ":") {
			address = "0.0.0.0" + address // every address of this machine
		}
		origins = append(origins, "http://"+address)
	}
	return engine.ParseOrigins(origins...)
}

// rootRedirectOf returns the target of /, in the normal form of targets; empty: / is a page.
func rootRedirectOf(o Options, ownOrigins engine.Origins) (string, error) {
	if o.RootRedirect == "" {
		return "", nil
	}
	target, err := engine.TargetPolicy{OwnOrigins: ownOrigins, Schemes: engine.WebSchemes}.ParseTyped(o.RootRedirect)
	if err != nil {
		return "", fmt.Errorf("root redirect %q: %s", o.RootRedirect, strings.TrimPrefix(err.Error(), "url: "))
	}
	return target, nil
}
