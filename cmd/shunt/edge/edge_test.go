package edge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"shunt/api"
	"shunt/api/account"
	"shunt/api/certificate"
	"shunt/api/domain"
	"shunt/api/edges"
	"shunt/cmd/shunt/certs/certtest"
	"shunt/cmd/shunt/porttest"
	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage"
	"shunt/storage/clusterlog"
	"shunt/storage/replicate"
)

// machine is a server in a test: a writer, or an edge of one.
type machine struct {
	t            *testing.T
	dir          string
	address      string // of its public listener; held over restarts
	store        *storage.Store
	rows         *replicate.Rows
	engine       *engine.Engine
	accounts     *account.Accounts
	domains      *domain.Domains
	certificates *certificate.Certificates
	writer       *Writer
	server       *api.Server
	node         *Node // nil: a writer
	log          *logs
	options      func(*api.Options) // nil: as they are
	stops        []func()
}

// logs keeps what is logged.
type logs struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns it all.
func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logs) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), text)
}

// run runs fn until the machine stops.
func (m *machine) run(fn func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- fn(ctx) }()
	m.stops = append(m.stops, func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			m.t.Errorf("a part ended with %v", err)
		}
	})
}

func (m *machine) onStop(stop func() error) {
	m.stops = append(m.stops, func() { expect.NoError(m.t, stop()) })
}

func (m *machine) stop() {
	for i := len(m.stops) - 1; i >= 0; i-- {
		m.stops[i]()
	}
	m.stops = nil
}

func (m *machine) logger() *slog.Logger { return slog.New(slog.NewTextHandler(m.log, nil)) }

func (m *machine) openStore(key *[16]byte, create bool) error {
	o := storage.Options{Create: create, Logger: slog.New(slog.DiscardHandler), Replicate: replicate.New, VisitorKey: key}
	store, err := storage.Open(filepath.Join(m.dir, "store"), o)
	if err != nil {
		return err
	}
	m.store, m.rows = store, replicate.Of(store)
	m.onStop(store.Close)
	m.run(store.Run)
	m.accounts, m.domains = account.New(store.Accounts(), nil), domain.New(store.Domains(), nil)
	m.certificates = certificate.New(store.Certificates(), nil)
	m.run(func(ctx context.Context) error { return m.accounts.Run(ctx, m.logger()) })
	return nil
}

// serve opens the engine over the store, and serves.
func (m *machine) serve() {
	m.t.Helper()
	var err error
	m.engine, err = engine.Open(m.store, engine.Options{
		JournalDir: filepath.Join(m.dir, "journal"), Rings: 2, RingRecords: 1 << 12, FlushInterval: 20 * time.Millisecond, Cluster: m.node != nil, EdgeOfWriter: m.node != nil,
		Logger: m.logger(),
	})
	expect.OK(m.t, err)
	m.onStop(m.engine.Close)
	m.run(m.engine.Run)
	o := api.Options{Engine: m.engine, Accounts: m.accounts, Domains: m.domains, BaseURL: "http://127.0.0.1:8080", Logger: m.logger(), Version: "test", NoDashboard: true}
	expect.OK(m.t, m.certificates.Changed())
	if m.node != nil {
		m.node.Use(m.engine, m.accounts, nil, m.domains, m.certificates)
		m.node.Answer(&o, nil)
	} else {
		m.writer = NewWriter(m.store, m.engine, m.accounts, m.logger())
		o.Edges = m.writer.Calls()
		m.run(m.writer.Run)
	}
	if m.options != nil {
		m.options(&o)
	}
	server, err := api.NewServer(o)
	expect.OK(m.t, err)
	m.server = server
	ln := m.listen()
	served := make(chan error, 1)
	go func() { served <- server.ServePublic(ln) }()
	expect.OK(m.t, m.engine.Load(m.t.Context(), func(uint64) {}))
	m.stops = append(m.stops, func() {
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		defer cancel()
		_ = server.Shutdown(ctx)
		<-served
	})
	if m.node != nil {
		m.run(m.node.Run)
	}
}

func (m *machine) listen() (ln net.Listener) {
	m.t.Helper()
	until(m.t, "nobody else listens at "+m.address, func() (ok bool) {
		var err error
		ln, err = net.Listen("tcp", m.address)
		return err == nil
	})
	return ln
}

func newWriter(t *testing.T) *machine {
	m := &machine{t: t, dir: t.TempDir(), address: porttest.Hold(t, "127.0.0.1"), log: new(logs)}
	m.start()
	t.Cleanup(m.stop)
	return m
}

// start starts a writer.
func (m *machine) start() {
	m.t.Helper()
	expect.OK(m.t, m.openStore(nil, true))
	m.serve()
}

// token makes a token for an edge.
func (m *machine) token(name string) (secret, id string) {
	m.t.Helper()
	admin, _, err := m.accounts.EnsureAdmin()
	expect.OK(m.t, err)
	t, text, err := m.accounts.IssueToken(account.CallerOf(admin), account.TokenDraft{Name: name, Scopes: []account.Scope{account.Edge}})
	expect.OK(m.t, err)
	return text, t.ID
}

// newEdge returns an edge of the server at an address, which has not started.
func newEdge(t *testing.T, of, token string) *machine {
	t.Helper()
	m := &machine{t: t, dir: t.TempDir(), address: porttest.Hold(t, "127.0.0.1"), log: new(logs)}
	m.setToken(token)
	m.node = m.newNode(of)
	t.Cleanup(m.stop)
	return m
}

func (m *machine) setToken(token string) {
	m.t.Helper()
	expect.OK(m.t, os.WriteFile(filepath.Join(m.dir, "token"), []byte(token+"\n"), 0o600))
}

func (m *machine) newNode(of string) *Node {
	m.t.Helper()
	s := Settings{Of: "http://" + of, TokenFile: filepath.Join(m.dir, "token")}
	expect.OK(m.t, s.Check(false))
	n, err := Open(&s, m.logger())
	expect.OK(m.t, err)
	return n
}

// tryStartEdge starts an edge as serve does.
func (m *machine) tryStartEdge() error {
	m.t.Helper()
	err := m.openStore(nil, false)
	if errors.Is(err, storage.ErrNoStore) {
		key, err := m.node.VisitorKey(m.t.Context())
		if err != nil {
			return err
		}
		expect.OK(m.t, m.openStore(&key, true))
	} else if err != nil {
		return err
	}
	if err := m.node.Join(m.t.Context(), m.store); err != nil {
		return err
	}
	m.serve()
	return nil
}

func (m *machine) startEdge() {
	m.t.Helper()
	expect.OK(m.t, m.tryStartEdge())
}

// restartEdge stops an edge and starts it again.
func (m *machine) restartEdge() {
	m.t.Helper()
	of := strings.TrimPrefix(m.node.settings.Of, "http://")
	m.stop()
	m.node = m.newNode(of)
	m.startEdge()
}

var noRedirects = &http.Client{
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Timeout: time.Minute,
	Transport: &http.Transport{DisableKeepAlives: true},
}

// get asks a machine for a code.
func (m *machine) get(code string) (status int, location string) {
	resp, err := noRedirects.Get("http://" + m.address + "/" + code)
	if err != nil {
		return 0, ""
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, resp.Header.Get("Location")
}

// link makes a link at a writer.
func (m *machine) link(code, target string, maxHits uint64) {
	m.t.Helper()
	admin, _, err := m.accounts.EnsureAdmin()
	expect.OK(m.t, err)
	policy := engine.TargetPolicy{}
	parsed, err := policy.Parse(target)
	expect.OK(m.t, err)
	m.create(engine.Draft{Domain: engine.DefaultDomain, Alias: code, Owner: admin.ID, Target: parsed, MaxHits: maxHits})
}

// create makes a link at a writer. On a busy disk a write may take longer than its caller is told of; then the alias is
// taken by the try before.
func (m *machine) create(d engine.Draft) {
	m.t.Helper()
	unknown := false
	until(m.t, "the link "+d.Alias+" is made", func() bool {
		_, _, err := m.engine.Create(m.t.Context(), d)
		switch {
		case errors.Is(err, engine.ErrOutcomeUnknown):
			unknown = true
			return false
		case errors.Is(err, engine.ErrOverloaded):
			return false
		case unknown && errors.Is(err, engine.ErrTaken):
			return true
		}
		expect.OK(m.t, err)
		return true
	})
}

// until waits for something that must come.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		expect.MustThat(t, time.Now().Before(deadline), "a minute later: %s", what)
	}
}

// hits returns the hits of a code at a writer.
func (m *machine) hits(code string) uint64 {
	m.t.Helper()
	stats, err := m.engine.Stats(m.t.Context(), engine.Key{Domain: engine.DefaultDomain, Code: code})
	expect.OK(m.t, err)
	return stats.Hits
}

// redirects waits until a machine redirects a code to a target.
func (m *machine) redirects(code, target string) {
	m.t.Helper()
	until(m.t, code+" redirects to "+target, func() bool {
		status, location := m.get(code)
		return status == 302 && location == target
	})
}

// TestAnEdgeRedirectsWithAndWithoutItsWriter starts an edge from nothing, follows links there, and stops its writer.
// Hits count at the writer once, those from the time without it, too.
func TestAnEdgeRedirectsWithAndWithoutItsWriter(t *testing.T) {
	w := newWriter(t)
	w.link("first", "https://a.example/", 0)
	secret, _ := w.token("frankfurt")
	e := newEdge(t, w.address, secret)
	e.startEdge()
	counted := uint64(0)
	follow := func(code string, n int) {
		for range n {
			status, _ := e.get(code)
			expect.MustEqual(t, status, 302, "%s at the edge", code)
			counted++
		}
	}
	follow("first", 10)
	w.link("second", "https://b.example/", 0)
	e.redirects("second", "https://b.example/")
	until(t, "the hits of the edge are at its writer", func() bool { return w.hits("first") == counted })
	w.stop()
	follow("first", 7)
	e.restartEdge()
	follow("first", 5)
	status, _ := e.get("second")
	expect.Equal(t, status, 302, "the other link, after a restart without the writer")
	status, _ = e.get("nothing")
	expect.Equal(t, status, 404, "a link that does not exist")
	w.start()
	until(t, "the hits from the time without the writer are there", func() bool { return w.hits("first") == counted })
	w.link("third", "https://c.example/", 0)
	e.redirects("third", "https://c.example/")
	_, _, _, logged := w.rows.EdgeLog()
	expect.That(t, logged, "the writer keeps no log for its edge")
	until(t, "the outbox is empty", func() bool { return e.rows.Metrics().OutboxFirst == e.rows.Metrics().OutboxNext })
}

// TestAnEdgeShowsCardsAndAppLinksWithoutItsWriter makes one link with a card before, and one after an edge has taken
// its copy.
func TestAnEdgeShowsCardsAndAppLinksWithoutItsWriter(t *testing.T) {
	w := newWriter(t)
	card := func(code string) {
		admin, _, err := w.accounts.EnsureAdmin()
		expect.OK(t, err)
		w.create(engine.Draft{Alias: code, Owner: admin.ID, Target: "https://a.example/", Texts: engine.Texts{Title: "for its owner"}, Card: engine.Card{Title: "card of " + code}})
	}
	card("early")
	secret, _ := w.token("frankfurt")
	e := newEdge(t, w.address, secret)
	e.startEdge()
	card("late")
	_, err := w.domains.Edit(account.Caller{}, "127.0.0.1:8080", engine.TargetPolicy{}, func(d *domain.Domain) error {
		d.AssetLinks = `[{"relation": []}]`
		return nil
	})
	expect.OK(t, err)
	e.redirects("late", "https://a.example/")
	until(t, "the edge has the app links", func() bool { return e.ask("GET", "/.well-known/assetlinks.json", "").body == `[{"relation":[]}]` })
	w.stop()
	for _, code := range []string{"early", "late"} {
		a := e.ask("GET", "/"+code, "", "User-Agent", "Slackbot 1.0")
		expect.That(t, a.status == 200 && strings.Contains(a.body, `<meta property="og:title" content="card of `+code+`">`), "%s: %+v", code, a)
		expect.Equal(t, e.ask("GET", "/"+code, "").status, 302, "%s for everybody else", code)
	}
	expect.Equal(t, e.ask("GET", "/.well-known/assetlinks.json", "").status, 200, "app links")
}

// TestAnEdgeHasTheDomainsOfItsWriter adds domains before and after an edge has taken its copy.
func TestAnEdgeHasTheDomainsOfItsWriter(t *testing.T) {
	w := newWriter(t)
	secret, _ := w.token("frankfurt")
	add := func(host string) {
		one, err := w.domains.Add(account.Caller{}, domain.Domain{Host: host}, engine.TargetPolicy{})
		expect.OK(t, err)
		w.create(engine.Draft{Domain: one.Number, Alias: "x", Owner: engine.OwnerIn(one.Number, 1), Target: "https://" + host + ".example/"})
	}
	w.link("x", "https://default.example/", 0)
	add("early.test")
	e := newEdge(t, w.address, secret)
	e.startEdge()
	add("late.test")
	leads := func() {
		t.Helper()
		for host, target := range map[string]string{"early.test": "https://early.test.example/", "late.test": "https://late.test.example/", "other.test": "https://default.example/"} {
			until(t, host+" leads to its own link at the edge", func() bool { return e.getAs(host, "x") == target })
		}
	}
	leads()
	e.restartEdge()
	leads()
	expect.OK(t, expect.Err(w.domains.Edit(account.Caller{}, "late.test", engine.TargetPolicy{}, func(d *domain.Domain) error {
		d.Host, d.NotFoundURL = "later.test", "https://example.org/nobody"
		return nil
	})))
	until(t, "the new host leads to the link", func() bool { return e.getAs("later.test", "x") == "https://late.test.example/" })
	until(t, "an unknown code leads to the fallback", func() bool { return e.getAs("later.test", "nobody") == "https://example.org/nobody" })
	until(t, "the old host is of the default domain", func() bool { return e.getAs("late.test", "x") == "https://default.example/" })
}

// TestAnEdgeHasTheCertificatesAndChallengesOfItsWriter gets certificates before and after an edge has taken its copy.
func TestAnEdgeHasTheCertificatesAndChallengesOfItsWriter(t *testing.T) {
	a := certtest.NewAuthority(t)
	chain, key := a.Issue()
	w := newWriter(t)
	secret, _ := w.token("frankfurt")
	tried := certificate.Host{Name: "localhost", Chain: chain, Key: key, TriedAt: time.Now()}
	expect.OK(t, w.certificates.Tried(tried))
	expect.OK(t, w.certificates.SetAccountKey([]byte("first")))
	w.link("x", "https://default.example/", 0)
	e := newEdge(t, w.address, secret)
	e.startEdge()
	has := func(chain []byte) func() bool {
		return func() bool { h := e.certificates.Of("localhost"); return h != nil && bytes.Equal(h.Chain, chain) }
	}
	until(t, "the edge has the certificate", has(chain))
	expect.OK(t, w.certificates.Expect(certificate.Challenge{Token: "token", Host: "localhost", Text: "answer", Chain: chain, Key: key}))
	until(t, "the edge answers the challenge", func() bool { text, _ := e.certificates.Answer("localhost", "token"); return text == "answer" })
	expect.OK(t, w.certificates.Settle("token"))
	until(t, "the challenge is over", func() bool { return e.certificates.Proof("localhost") == nil })
	expect.That(t, e.certificates.AccountKey() == nil, "the copy for an edge has the key of the account")
	tried.Chain, tried.Key = a.Issue()
	expect.OK(t, w.certificates.SetAccountKey([]byte("second")))
	expect.OK(t, w.certificates.Tried(tried))
	until(t, "the edge has the new certificate", has(tried.Chain))
	expect.That(t, e.certificates.AccountKey() == nil, "the log for edges has the key of the account")
	e.restartEdge()
	until(t, "it has it after a restart", has(tried.Chain))
	expect.OK(t, w.certificates.Forget("localhost"))
	until(t, "it is gone", func() bool { return e.certificates.Of("localhost") == nil })
}

// getAs asks a machine for a code of a host, and returns where it leads.
func (m *machine) getAs(host, code string) (location string) {
	req, err := http.NewRequest(http.MethodGet, "http://"+m.address+"/"+code, nil)
	expect.OK(m.t, err)
	req.Host = host
	resp, err := noRedirects.Do(req)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.Header.Get("Location")
}

// TestAnEdgeThatCannotFollowTakesACopyByItself drops the entries that an edge lacks, and ends the log: each time the
// edge has the writer's links afterwards, and no hit is lost or counted twice.
func TestAnEdgeThatCannotFollowTakesACopyByItself(t *testing.T) {
	w := newWriter(t)
	w.link("stays", "https://a.example/", 0)
	secret, _ := w.token("frankfurt")
	e := newEdge(t, w.address, secret)
	e.startEdge()
	counted := uint64(0)
	for round, lose := range []func(){
		func() { // the entries
			for more := true; more; {
				var err error
				more, err = w.rows.TrimEdgeLog(0)
				expect.OK(t, err)
			}
		},
		func() { // the log
			expect.OK(t, w.rows.EndEdgeLog())
		},
	} {
		e.stop()
		code := fmt.Sprintf("new-%d", round)
		w.link(code, "https://new.example/", 0)
		lose()
		e.node = e.newNode(w.address)
		e.startEdge()
		for range 5 {
			status, _ := e.get("stays")
			expect.MustEqual(t, status, 302)
			counted++
		}
		e.redirects(code, "https://new.example/")
		until(t, "all hits count", func() bool { return w.hits("stays") == counted })
	}
	expect.That(t, e.log.has("takes a new copy"), "the edge took no copy")
	w.link("last", "https://last.example/", 0)
	e.redirects("last", "https://last.example/")
	expect.Equal(t, w.hits("stays"), counted, "hits at the end")

	// A writer that was restored from a backup from before the edge has taken nothing, and nothing is left to give.
	until(t, "the outbox is empty", func() bool { m := e.rows.Metrics(); return m.OutboxFirst == m.OutboxNext && m.OutboxNext > 1 })
	left, err := (&source{rows: e.rows, log: e.logger()}).taken(&edges.Answer{Last: strings.Repeat("0", 16)})
	expect.OK(t, err)
	expect.That(t, !left, "hits are to be given first, and there are none: the edge never takes a copy")
}

// TestARevokedEdgeRedirectsNothing revokes the token of an edge, which is restarted while its writer is away, and
// gives it another one: its hits are still there.
func TestARevokedEdgeRedirectsNothing(t *testing.T) {
	w := newWriter(t)
	w.link("code", "https://a.example/", 0)
	secret, id := w.token("frankfurt")
	e := newEdge(t, w.address, secret)
	e.startEdge()
	admin, _, err := w.accounts.EnsureAdmin()
	expect.OK(t, err)
	w.stop() // so that hits wait
	for range 9 {
		status, _ := e.get("code")
		expect.MustEqual(t, status, 302)
	}
	w.start()
	expect.OK(t, w.accounts.RevokeToken(account.Caller{}, admin.ID, id))
	until(t, "the edge redirects nothing", func() bool { status, _ := e.get("code"); return status == 503 })
	before := w.hits("code")
	w.stop()
	e.restartEdge()
	for _, path := range []string{"code", "code+", "code.svg", "other", ""} {
		status, _ := e.get(path)
		expect.Equal(t, status, 503, "/%s at a revoked edge after a restart", path)
	}
	until(t, "it says so to load balancers", func() bool { return e.server.Health().Line() == "refused" })
	w.start()
	other, _ := w.token("frankfurt")
	e.setToken(other)
	e.redirects("code", "https://a.example/")
	expect.That(t, e.server.Health().Line() != "refused", "it redirects, and says that it does not")
	until(t, "the hits that it kept count", func() bool { return w.hits("code") >= 10 })
	expect.That(t, before <= 9, "a revoked edge has given %d hits", before)
}

// TestNothingElseIsAnEdge tries to start edges that cannot be.
func TestNothingElseIsAnEdge(t *testing.T) {
	w := newWriter(t)
	w.link("code", "https://a.example/", 0)
	other := newWriter(t)
	secret, _ := w.token("frankfurt")
	admin, _, err := w.accounts.EnsureAdmin()
	expect.OK(t, err)
	_, all, err := w.accounts.IssueToken(account.CallerOf(admin), account.TokenDraft{Name: "all", Scopes: account.AllScopes})
	expect.OK(t, err)
	wrong := newEdge(t, w.address, "shunt_wrong")
	expect.Error(t, wrong.tryStartEdge(), errRevoked, "a token that is none")
	wrong = newEdge(t, w.address, all)
	expect.Error(t, wrong.tryStartEdge(), errRevoked, "a token of an admin")
	e := newEdge(t, w.address, secret)
	e.startEdge()
	second := newEdge(t, e.address, secret)
	expect.Error(t, second.tryStartEdge(), errEdge, "an edge of an edge")
	e.stop()
	e.node = e.newNode(e.address) // itself
	e.startEdge()
	until(t, "it says that it has asked itself", func() bool { return e.log.has("leads back to this edge itself") })
	status, _ := e.get("code")
	expect.Equal(t, status, 302, "meanwhile")
	e.stop()
	foreign, _ := other.token("frankfurt")
	e.setToken(foreign)
	e.node = e.newNode(other.address)
	e.startEdge()
	until(t, "another server refuses its folder", func() bool { return e.log.has("that of an edge of another server") })
	expect.Equal(t, len(edgesOf(t, other)), 0, "edges that the other server knows")
	status, _ = e.get("code")
	expect.Equal(t, status, 302, "after another server refused it")
	e.stop()
	own := newWriter(t)
	own.link("own", "https://own.example/", 0)
	own.stop()
	ofOwn, _ := w.token("rome")
	own.setToken(ofOwn)
	own.node = own.newNode(w.address)
	err = own.tryStartEdge()
	expect.That(t, err != nil && strings.Contains(err.Error(), "server of its own"), "the folder of a server: %v", err)
	lost := newEdge(t, porttest.Hold(t, "127.0.0.1"), secret)
	expect.That(t, lost.tryStartEdge() != nil, "a new edge started without its writer")
	loop := newEdge(t, w.address, secret)
	loop.node.ListensAt(addressOf(t, w.address))
	expect.Error(t, loop.tryStartEdge(), errLoop, "an address at which the edge itself listens")
}

func addressOf(t *testing.T, text string) net.Addr {
	t.Helper()
	a, err := net.ResolveTCPAddr("tcp", text)
	expect.OK(t, err)
	return a
}

func edgesOf(t *testing.T, w *machine) []string {
	t.Helper()
	names, err := w.rows.EdgeNames()
	expect.OK(t, err)
	return names
}

// TestTheCallsOfEdgesAreForEdgesOnly sends a writer garbage, foreign places, and calls without the right token.
func TestTheCallsOfEdgesAreForEdgesOnly(t *testing.T) {
	w := newWriter(t)
	w.link("code", "https://a.example/", 0)
	secret, _ := w.token("frankfurt")
	admin, _, err := w.accounts.EnsureAdmin()
	expect.OK(t, err)
	_, all, err := w.accounts.IssueToken(account.CallerOf(admin), account.TokenDraft{Name: "all", Scopes: account.AllScopes})
	expect.OK(t, err)
	post := func(token, path string, body []byte) (status int, text string) {
		req, err := http.NewRequest(http.MethodPost, "http://"+w.address+apiRoot+path, bytes.NewReader(body))
		expect.OK(t, err)
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := noRedirects.Do(req)
		expect.OK(t, err)
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		expect.OK(t, err)
		return resp.StatusCode, string(b)
	}
	for _, path := range []string{edges.MeetPath, edges.CopyPath, edges.FollowPath, edges.CapsPath, edges.FindPath, edges.UnlockPath, edges.ChallengePath} {
		for token, want := range map[string]int{"": 401, all: 403, "shunt_x": 401} {
			status, text := post(token, path, []byte("{}"))
			expect.That(t, status == want && !strings.Contains(text, "a.example"), "%s: got %d %s, want %d", path, status, text, want)
		}
	}
	_, _, _, logged := w.rows.EdgeLog()
	expect.That(t, !logged && len(edgesOf(t, w)) == 0, "refused calls began a log, or an edge")
	whole := edges.Ask{
		Version: 1, Key: clusterlog.FingerprintOf(w.store.Identity().VisitorKey).String(), Log: clusterlog.ID{1}.String(),
		At: clusterlog.Position{Sequence: 7}.String(), Outbox: strings.Repeat("ab", 16), First: 1, Before: strings.Repeat("0", 16), NoWait: true,
	}
	change := func(f func(*edges.Ask)) []byte {
		a := whole
		f(&a)
		return edges.AppendAsk(nil, &a, nil)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	garbage := make([]byte, 300)
	for i := range garbage {
		garbage[i] = byte(rng.Uint32())
	}
	for name, body := range map[string][]byte{
		"nothing": nil, "JSON": []byte("{}"), "garbage": garbage, "half of a question": edges.AppendAsk(nil, &whole, nil)[:40],
		"no version":      change(func(a *edges.Ask) { a.Version = 0 }),
		"another key":     change(func(a *edges.Ask) { a.Key = strings.Repeat("0", 32) }),
		"no key":          change(func(a *edges.Ask) { a.Key = "" }),
		"a wrong log":     change(func(a *edges.Ask) { a.Log = "xyz" }),
		"a wrong place":   change(func(a *edges.Ask) { a.At = "1" }),
		"a wrong outbox":  change(func(a *edges.Ask) { a.Outbox = "../../etc" }),
		"the position 0":  change(func(a *edges.Ask) { a.First = 0 }),
		"no hash":         change(func(a *edges.Ask) { a.Before = "" }),
		"a wrong hash":    change(func(a *edges.Ask) { a.Before = strings.Repeat("x", 16) }),
		"a long hash":     change(func(a *edges.Ask) { a.Before += "00" }),
		"the year 10000":  change(func(a *edges.Ask) { a.ServesTill = 253402300800 }),
		"the year -2000":  change(func(a *edges.Ask) { a.ServesTill = -1 << 40 }),
		"a high position": change(func(a *edges.Ask) { a.First = 1<<64 - 2 }),
		"a high entry":    change(func(a *edges.Ask) { a.Applied = 1<<64 - 1 }),
		"many bytes":      change(func(a *edges.Ask) { a.HitsBytes = 1<<64 - 1 }),
		"a long head":     change(func(a *edges.Ask) { a.Log = strings.Repeat("a", 9000) }),
		"a wrong record":  edges.AppendAsk(nil, &whole, [][]byte{garbage}),
		"an empty record": edges.AppendAsk(nil, &whole, [][]byte{{}}),
	} {
		status, text := post(secret, edges.FollowPath, body)
		expect.That(t, status == 400, "%s: got %d %s", name, status, text)
	}
	expect.That(t, !w.log.has("panic"), "the server logs: %s", w.log)
	expect.Equal(t, w.hits("code"), 0, "hits after garbage")
	e := w.one(all, "frankfurt")
	expect.That(t, e.ServesTill == nil && e.Position == nil, "an edge that was refused says %+v", e)
	req, err := http.NewRequest(http.MethodPost, "http://"+w.address+apiRoot+edges.FollowPath, bytes.NewReader(edges.AppendAsk(nil, &whole, nil)))
	expect.OK(t, err)
	req.Header.Set("Authorization", "Bearer "+secret)
	resp, err := noRedirects.Do(req)
	expect.OK(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	expect.OK(t, err)
	a, entries, err := edges.ReadAnswer(body)
	expect.That(t, err == nil && len(entries) == 0 && a.Copy == edges.OtherLog, "a place in no log: got %+v, %d entries, %v", a, len(entries), err)
}

// flaky passes connections on, and cuts or delays them at random.
type flaky struct {
	net.Listener
	to  string
	mu  sync.Mutex
	rng *rand.Rand
	all map[net.Conn]bool
}

func newFlaky(t *testing.T, to string, seed uint64) *flaky {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(t, err)
	f := &flaky{Listener: ln, to: to, rng: rand.New(rand.NewPCG(seed, 5)), all: make(map[net.Conn]bool)}
	go func() {
		for {
			from, err := ln.Accept()
			if err != nil {
				return
			}
			go f.pass(from)
		}
	}()
	t.Cleanup(func() {
		ln.Close()
		f.cut()
	})
	return f
}

func (f *flaky) pass(from net.Conn) {
	to, err := net.Dial("tcp", f.to)
	if err != nil {
		from.Close()
		return
	}
	f.mu.Lock()
	f.all[from], f.all[to] = true, true
	limit := int64(1) << 40
	if f.rng.IntN(2) == 0 {
		limit = f.rng.Int64N(20_000) // cut in the middle of an answer
	}
	f.mu.Unlock()
	go func() {
		_, _ = io.Copy(to, from)
		to.Close()
	}()
	_, _ = io.CopyN(from, to, limit)
	from.Close()
	to.Close()
}

// cut closes all connections.
func (f *flaky) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.all {
		c.Close()
	}
	clear(f.all)
}

// TestEdgesLoseAndDoubleNothing changes links at a writer and follows others at three edges while connections are cut
// in the middle of questions and answers, edges and the writer are restarted, and the log is dropped. At the end each
// edge redirects as its writer, and each answered redirect counted once.
func TestEdgesLoseAndDoubleNothing(t *testing.T) {
	expect.Long(t)
	t.Parallel()
	w := newWriter(t)
	for n := range 20 {
		w.link(fmt.Sprintf("code-%d", n), "https://a.example/", 0)
	}
	rng := rand.New(rand.NewPCG(9, 9))
	counted := make(map[string]uint64)
	var all []*machine
	var paths []*flaky
	for n := range 3 {
		secret, _ := w.token(fmt.Sprintf("edge-%d", n))
		e := newEdge(t, w.address, secret)
		e.startEdge()
		e.stop()
		path := newFlaky(t, w.address, uint64(n))
		e.node = e.newNode(path.Addr().String())
		e.startEdge()
		all, paths = append(all, e), append(paths, path)
	}
	for round := range 60 {
		for _, e := range all {
			for range 1 + rng.IntN(10) {
				code := fmt.Sprintf("code-%d", rng.IntN(20))
				if status, _ := e.get(code); status == 302 {
					counted[code]++
				}
			}
		}
		w.link(fmt.Sprintf("round-%d", round), "https://round.example/", 0)
		i := rng.IntN(len(all))
		switch rng.IntN(6) {
		case 0, 1:
			paths[i].cut()
		case 2:
			all[i].restartEdge()
		case 3:
			if round%3 == 0 {
				w.stop()
				w.start()
			}
		case 4:
			_, err := w.rows.TrimEdgeLog(uint64(rng.IntN(2000)))
			expect.OK(t, err)
		}
	}
	for i, e := range all {
		for round := range 60 {
			e.redirects(fmt.Sprintf("round-%d", round), "https://round.example/")
		}
		until(t, fmt.Sprintf("the outbox of edge %d is empty", i), func() bool { m := e.rows.Metrics(); return m.OutboxFirst == m.OutboxNext })
	}
	for code, n := range counted {
		until(t, code+" has all its hits", func() bool { return w.hits(code) >= n })
		expect.Equal(t, w.hits(code), n, "hits of %s", code)
	}
}

// TestCopiesOfEdgesHaveALimit has as many copies under way as a writer makes at once, of which nobody reads.
func TestCopiesOfEdgesHaveALimit(t *testing.T) {
	w := newWriter(t)
	for n := range 3000 {
		w.link(fmt.Sprintf("code-%d", n), "https://a.example/"+strings.Repeat("x", 4000), 0)
	}
	names := 0
	ask := func() *http.Response {
		names++
		secret, _ := w.token(fmt.Sprintf("edge-%d", names))
		return copyFor(t, w, secret)
	}
	var first *http.Response
	for n := range 16 {
		resp := ask()
		expect.MustEqual(t, resp.StatusCode, http.StatusOK, "copy %d", n)
		if n == 0 {
			first = resp
		}
	}
	expect.Equal(t, ask().StatusCode, http.StatusServiceUnavailable, "one more")
	first.Body.Close()
	until(t, "there is room for another", func() bool { return ask().StatusCode == http.StatusOK })
}

// TestAnEdgeTakesOneCopyAtATime: whoever has one edge's token keeps no place of other edges.
func TestAnEdgeTakesOneCopyAtATime(t *testing.T) {
	w := newWriter(t)
	for n := range 3000 {
		w.link(fmt.Sprintf("code-%d", n), "https://a.example/"+strings.Repeat("x", 4000), 0)
	}
	secret, _ := w.token("frankfurt")
	first := copyFor(t, w, secret)
	expect.Equal(t, first.StatusCode, http.StatusOK)
	expect.Equal(t, copyFor(t, w, secret).StatusCode, http.StatusServiceUnavailable, "another at once")
	first.Body.Close()
	until(t, "the edge may take another", func() bool { return copyFor(t, w, secret).StatusCode == http.StatusOK })
}

// copyFor asks for a copy, and reads nothing of it.
func copyFor(t *testing.T, w *machine, secret string) *http.Response {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, "http://"+w.address+"/api/v1"+edges.CopyPath, strings.NewReader("{}"))
	expect.OK(t, err)
	req.Header.Set("Authorization", "Bearer "+secret)
	req.Header.Set("Content-Type", "application/json")
	resp, err := (&http.Client{Transport: &http.Transport{}}).Do(req)
	expect.OK(t, err)
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// putBack puts a copy of the folder of a machine that has stopped in its place.
func (m *machine) putBack(from string) {
	m.t.Helper()
	expect.OK(m.t, os.RemoveAll(m.dir))
	expect.OK(m.t, os.CopyFS(m.dir, os.DirFS(from)))
}

// TestAnEdgeWhoseFolderWasRolledBackLosesNoFurtherHit puts an older state of an edge's folder in its place, and has it
// count fewer hits than its writer has taken since, and more, before it can ask.
func TestAnEdgeWhoseFolderWasRolledBackLosesNoFurtherHit(t *testing.T) {
	for _, since := range []int{2, 9} {
		w := newWriter(t)
		w.link("code", "https://a.example/", 0)
		secret, _ := w.token("frankfurt")
		e := newEdge(t, w.address, secret)
		e.startEdge()
		counted := uint64(0)
		follow := func(times int) { // as many records
			for range times {
				next := e.rows.Metrics().OutboxNext
				status, _ := e.get("code")
				expect.MustEqual(t, status, 302)
				counted++
				until(t, "the hit is in the outbox", func() bool { return e.rows.Metrics().OutboxNext > next })
			}
		}
		follow(4)
		until(t, "the writer has all hits", func() bool { m := e.rows.Metrics(); return w.hits("code") == counted && m.OutboxFirst == m.OutboxNext })
		e.stop()
		snapshot := filepath.Join(t.TempDir(), "snapshot")
		expect.OK(t, os.CopyFS(snapshot, os.DirFS(e.dir)))
		e.node = e.newNode(w.address)
		e.startEdge()
		follow(5)
		until(t, "the writer has the hits that are rolled back", func() bool { return w.hits("code") == counted })
		e.stop()
		e.putBack(snapshot)
		w.stop()
		e.node = e.newNode(w.address)
		e.startEdge()
		follow(since)
		w.start()
		until(t, "the writer has the hits since", func() bool { return w.hits("code") == counted })
		follow(3)
		until(t, "the writer has the last hits", func() bool { return w.hits("code") == counted })
		expect.That(t, e.log.has("older than what its writer knows"), "the edge does not say that its folder was rolled back: %s", e.log)
		e.stop()
		expect.Equal(t, w.hits("code"), counted, "hits at the end")
	}
}

// TestTwoEdgesWithACopyOfOneFolderLoseNoHit starts two machines with copies of an edge's folder. The first one is
// refused as long as the other is heard; then its hits come, from another outbox.
func TestTwoEdgesWithACopyOfOneFolderLoseNoHit(t *testing.T) {
	w, silence := newWriterLater(t)
	w.link("code", "https://a.example/", 0)
	secret, _ := w.token("frankfurt")
	e, twin := newEdge(t, w.address, secret), newEdge(t, w.address, secret)
	e.startEdge()
	redirectsOf(e, 3)
	until(t, "the writer has all hits", func() bool { m := e.rows.Metrics(); return w.hits("code") == 3 && m.OutboxFirst == m.OutboxNext })
	e.stop()
	twin.putBack(e.dir)
	e.node = e.newNode(w.address)
	e.startEdge()
	until(t, "the edge has met its writer", func() bool { return !e.node.stale() })
	twin.startEdge()
	until(t, "the first one is refused", func() bool { return e.log.has("both have a copy of one data folder") })
	for range 5 {
		redirectsOf(e, 4)
		redirectsOf(twin, 3)
		time.Sleep(50 * time.Millisecond) // some flushes
	}
	until(t, "the writer has the hits of the other", func() bool { return w.hits("code") == 3+5*3 })
	until(t, "those of the first one wait", func() bool { return e.waiting() == 5*4 })
	twin.stop()
	until(t, "the writer has the hits of both", func() bool { silence(); return w.hits("code") == 3+5*7 })
	expect.That(t, e.log.has("or copied") && !twin.log.has("or copied"), "not one of the two begins another outbox")
	expect.Equal(t, strings.Count(w.log.String(), "two edges use one token"), 1, "lines about that at the writer: %s", w.log)
}

// newWriterLater returns a writer, and what lets the ten seconds pass after which an edge that stopped is not heard.
func newWriterLater(t *testing.T) (w *machine, silence func()) {
	later := new(atomic.Int64)
	w = &machine{t: t, dir: t.TempDir(), address: porttest.Hold(t, "127.0.0.1"), log: new(logs)}
	w.options = func(o *api.Options) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	}
	w.start()
	t.Cleanup(w.stop)
	var at time.Time
	return w, func() {
		if time.Since(at) > edges.Hold/2 { // a question of an edge that has stopped may be held yet
			at = time.Now()
			later.Add(int64(11 * time.Second))
		}
	}
}

// TestASecondEdgeWithATokenIsRefused starts another edge with the token of one that runs. It takes its place once the
// first one has stopped; then that is refused, and gives its hits when the other has stopped. Calls without the fields
// by which edges are told apart are of an earlier version.
func TestASecondEdgeWithATokenIsRefused(t *testing.T) {
	w, silence := newWriterLater(t)
	w.link("code", "https://a.example/", 0)
	secret, _ := w.token("frankfurt")
	first, second := newEdge(t, w.address, secret), newEdge(t, w.address, secret)
	first.startEdge()
	until(t, "the first one has met its writer", func() bool { return !first.node.stale() })
	err := second.tryStartEdge()
	expect.MustThat(t, err != nil && strings.Contains(err.Error(), "another edge, at 127.0.0.1, uses the token of frankfurt"), "the second one: %v", err)
	expect.That(t, w.log.has("two edges use one token"), "the writer does not say it: %s", w.log)
	redirectsOf(first, 2)
	until(t, "hits of the first one came", func() bool { return w.hits("code") == 2 })
	first.restartEdge()
	redirectsOf(first, 3)
	until(t, "hits of the first one came after a restart", func() bool { return w.hits("code") == 5 && first.waiting() == 0 })
	first.stop()
	second.node = second.newNode(w.address)
	until(t, "the second one starts", func() bool { silence(); return second.tryStartEdge() == nil })
	redirectsOf(second, 4)
	until(t, "hits of the second one came", func() bool { return w.hits("code") == 9 })
	first.node = first.newNode(w.address)
	first.startEdge()
	redirectsOf(first, 5)
	until(t, "the first one is refused", func() bool { return strings.Contains(first.log.String(), "uses the token of frankfurt") })
	until(t, "its hits wait", func() bool { return first.waiting() == 5 })
	second.stop()
	until(t, "its hits came", func() bool { silence(); return w.hits("code") == 14 })
	first.stop()
	status := w.ask("POST", "/api/v1"+edges.CopyPath, "{}", "Authorization", "Bearer "+secret).status
	expect.Equal(t, status, 200, "an edge of an earlier version")
}
