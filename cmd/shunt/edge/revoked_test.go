package edge

import (
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"shunt/api/account"
	"shunt/api/edges"
	"shunt/engine"
	"shunt/engine/expect"
)

// gate passes the calls of an edge on to its writer. It can be closed, and it can hold copies in their middle.
type gate struct {
	address string
	closed  atomic.Bool
	holds   atomic.Bool // copies, after copyBegins
	held    chan struct{}
	open    chan struct{} // closed: copies that are held go on
	opened  func()        // closes open
}

// copyBegins is how much of a copy that is held an edge gets, in bytes.
const copyBegins = 100_000

func newGate(t *testing.T, to string) *gate {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(t, err)
	g := &gate{address: ln.Addr().String(), held: make(chan struct{}, 1), open: make(chan struct{})}
	g.opened = sync.OnceFunc(func() { close(g.open) })
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Transport: &http.Transport{DisableKeepAlives: true}}
	proxy.Rewrite = func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: to}) }
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	proxy.ModifyResponse = func(r *http.Response) error {
		if g.holds.Load() && strings.HasSuffix(r.Request.URL.Path, edges.CopyPath) {
			r.Body = &heldBody{ReadCloser: r.Body, left: copyBegins, gate: g}
		}
		return nil
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.closed.Load() {
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(w, r)
	})}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	t.Cleanup(func() {
		g.opened()
		_ = server.Close()
		<-served
	})
	return g
}

// heldBody is a copy that is held.
type heldBody struct {
	io.ReadCloser
	left int
	gate *gate
}

// Read implements io.Reader.
func (h *heldBody) Read(p []byte) (int, error) {
	if h.left <= 0 {
		select {
		case h.gate.held <- struct{}{}:
		default:
		}
		<-h.gate.open
	}
	n, err := h.ReadCloser.Read(p[:min(len(p), 4096)])
	h.left -= n
	return n, err
}

// revoke revokes a token of an edge.
func (m *machine) revoke(id string) {
	m.t.Helper()
	admin, _, err := m.accounts.EnsureAdmin()
	expect.OK(m.t, err)
	expect.OK(m.t, m.accounts.RevokeToken(account.Caller{}, admin.ID, id))
}

// waiting returns how many hits are in the outbox of an edge.
func (m *machine) waiting() uint64 {
	m.t.Helper()
	n, err := m.rows.WaitingHits(m.rows.Metrics().OutboxFirst - 1)
	expect.OK(m.t, err)
	return n
}

// TestARevokedEdgeKeepsItsOutbox revokes an edge whose hits have not come, and restarts it: its outbox has exactly
// these, and they count once as soon as it has another token.
func TestARevokedEdgeKeepsItsOutbox(t *testing.T) {
	w := newWriter(t)
	w.link("code", "https://a.example/", 0)
	secret, id := w.token("frankfurt")
	g := newGate(t, w.address)
	e := newEdge(t, g.address, secret)
	e.startEdge()
	redirectsOf(e, 3)
	until(t, "the first hits came", func() bool { return w.hits("code") == 3 && e.waiting() == 0 })
	g.closed.Store(true)
	redirectsOf(e, 9)
	until(t, "the others are in the outbox", func() bool { return e.waiting() == 9 })
	w.revoke(id)
	g.closed.Store(false)
	until(t, "the edge knows", e.node.source.revoked.Load)
	kept := func(when string) {
		t.Helper()
		for _, path := range []string{"code", "code+", "other", ""} {
			status, _ := e.get(path)
			expect.Equal(t, status, 503, "/%s %s", path, when)
		}
		expect.Equal(t, e.waiting(), 9, "hits in the outbox %s", when)
		expect.Equal(t, w.hits("code"), 3, "hits at the writer %s", when)
	}
	kept("after it was revoked")
	g.closed.Store(true)
	e.restartEdge()
	kept("after a restart without the writer")
	g.closed.Store(false)
	other, _ := w.token("frankfurt")
	e.setToken(other)
	until(t, "the hits that it kept came", func() bool { return w.hits("code") == 12 && e.waiting() == 0 })
	e.redirects("code", "https://a.example/")
	until(t, "and one more", func() bool { return w.hits("code") == 13 })
}

// newCopying returns a writer and an edge that redirects and takes a copy, which does not go on. It has code, a capped
// and a locked link, and long ones.
func newCopying(t *testing.T, long int) (w, e *machine, g *gate, id string) {
	w = newWriter(t)
	w.link("code", "https://a.example/", 0)
	w.link("capped", "https://a.example/", 1000)
	w.create(engine.Draft{Alias: "locked", Owner: 1, Target: "https://a.example/", Password: hashOf(t, "open sesame")})
	var writers sync.WaitGroup
	for range 20 {
		writers.Go(func() {
			for range long / 20 {
				w.create(engine.Draft{Owner: 1, Target: "https://a.example/" + strings.Repeat("x", 4000)})
			}
		})
	}
	writers.Wait()
	secret, id := w.token("frankfurt")
	g = newGate(t, w.address)
	e = newEdge(t, g.address, secret)
	e.startEdge()
	until(t, "the edge has met its writer", func() bool { return !e.node.stale() })
	g.holds.Store(true)
	expect.OK(t, w.rows.EndEdgeLog())
	<-g.held
	return w, e, g, id
}

// TestAnyRefusedCallStopsAnEdge revokes an edge while it takes a copy, and so asks for no entries. The first call that
// the writer refuses stops it: the next visitor gets 503.
func TestAnyRefusedCallStopsAnEdge(t *testing.T) {
	for name, call := range map[string]func(e *machine){
		"a code that it does not know": func(e *machine) { e.get("unknown") },
		"a link with a cap":            func(e *machine) { e.get("capped") },
		"the password of a link": func(e *machine) {
			e.ask("POST", "/locked", "password=open+sesame", "Content-Type", "application/x-www-form-urlencoded")
		},
		"a call of the API": func(e *machine) { e.ask("GET", "/api/v1/links", "") },
		"a challenge": func(e *machine) {
			e.plain().ask("GET", "/.well-known/acme-challenge/of_the-writer", "", "Host", "sho.rt")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, e, g, id := newCopying(t, 60)
			w.revoke(id)
			status, _ := e.get("code")
			expect.Equal(t, status, 302, "before the edge can know")
			call(e)
			status, _ = e.get("code")
			expect.Equal(t, status, 503, "after a call was refused")
			g.opened()
		})
	}
}

// TestACopyEndsWhenItsEdgeIsRevoked revokes an edge in the middle of a copy: it gets no more of it, and stops without
// any other call. With a new token it comes back.
func TestACopyEndsWhenItsEdgeIsRevoked(t *testing.T) {
	w, e, g, id := newCopying(t, 3000) // more than a writer sends ahead
	w.revoke(id)
	g.opened()
	until(t, "the writer ends the copy", func() bool { return w.log.has("an edge did not get its whole copy") })
	until(t, "the edge redirects nothing", func() bool { status, _ := e.get("code"); return status == 503 })
	expect.That(t, !e.log.has("takes the token of this edge again") && strings.Count(e.log.String(), "this edge has all links") == 1, "a revoked edge has a whole copy: %s", e.log)
	w.link("late", "https://late.example/", 0)
	other, _ := w.token("frankfurt")
	e.setToken(other)
	e.redirects("late", "https://late.example/")
}

// TestATokenThatWasRefusedIsReadAgain has a writer refuse a token, of which the file has another one by now.
func TestATokenThatWasRefusedIsReadAgain(t *testing.T) {
	file, told := "first", 0
	s := &secret{refused: func(error) { told++ }, again: func() (string, error) { return file, nil }}
	first := file
	s.text.Store(&first)
	file = "second"
	s.isRefused("first", errRevoked)
	expect.That(t, s.Load() == "second" && told == 0, "the token is %q, and it was told %d times", s.Load(), told)
	s.isRefused("first", errRevoked) // of an earlier call
	expect.Equal(t, told, 0, "told of a token that is not used any more")
	s.isRefused("second", errRevoked)
	expect.Equal(t, told, 1, "told of the one that is in the file")
}
