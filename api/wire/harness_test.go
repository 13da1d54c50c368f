package wire

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/problem"
	"shunt/api/turnstile"
	"shunt/api/wire/conns"
	"shunt/api/wire/http1"
	"shunt/engine/expect"
)

// A site is a group that serves one listener on a socket. /x is redirected, everything else is
// 404. /large is 200 and accepts large bodies of senders that name their user in Authorization.
type site struct {
	*Group
	t    *testing.T
	addr string
	l    *listener
}

// largeLimit is the limit of a body of a user to /large.
const largeLimit = 1 << 20

func newGroup(lim conns.Limits) *Group {
	return &Group{
		Limits: lim, Patience: conns.DefaultPatience, Drain: NewDrain(), Log: testLogger(io.Discard),
		Handle: func(ctx *fasthttp.RequestCtx) {
			switch string(ctx.Path()) {
			case "/x":
				ctx.Redirect("http://a/", fasthttp.StatusFound)
			case "/large":
				ctx.SetStatusCode(fasthttp.StatusOK)
			default:
				ctx.SetStatusCode(fasthttp.StatusNotFound)
			}
		},
		WriteProblem: func(ctx *fasthttp.RequestCtx, p problem.Problem) {
			ctx.SetStatusCode(p.Kind.Status)
			ctx.Response.Header.Set("Retry-After", p.Kind.RetryAfter)
			ctx.SetBodyString(p.Kind.Code + ": " + p.Detail)
		},
		MaxBody: func(h *fasthttp.RequestHeader) (int, turnstile.Key) {
			var user uint32
			who := string(h.Peek(fasthttp.HeaderAuthorization))
			if _, err := fmt.Sscanf(who, "user %d", &user); err != nil || string(h.RequestURI()) != "/large" {
				return http1.MaxBodyBytes, turnstile.Key{}
			}
			return largeLimit, turnstile.Key{User: user}
		},
	}
}

// newSite serves a group until the test's end.
func newSite(t *testing.T, lim conns.Limits) *site {
	t.Helper()
	return newSiteOn(t, newGroup(lim), nil)
}

// newSecureSite is newSite with TLS.
func newSecureSite(t *testing.T) *site {
	t.Helper()
	return newSiteOn(t, newGroup(conns.Limits{Connections: conns.MaxConnections, Counts: new(conns.Counts)}), tlsConfig())
}

func tlsConfig() *tls.Config {
	source := httptest.NewTLSServer(nil) // for its certificate
	defer source.Close()
	return &tls.Config{Certificates: source.TLS.Certificates, NextProtos: []string{"http/1.1"}}
}

// newSiteOn serves g until the test's end, over TLS if config is set.
func newSiteOn(t *testing.T, g *Group, config *tls.Config) *site {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(t, err)
	if config != nil {
		ln = tls.NewListener(ln, config)
	}
	return serveSite(t, g, ln)
}

// serveSite serves g on ln until the test's end.
func serveSite(t *testing.T, g *Group, ln net.Listener) *site {
	t.Helper()
	st := &site{Group: g, t: t, addr: ln.Addr().String()}
	var serving sync.WaitGroup
	serving.Go(func() { expect.NoError(t, g.Serve(ln)) })
	t.Cleanup(func() {
		g.shutDown(t)
		serving.Wait()
	})
	for st.l == nil {
		g.mu.Lock()
		if len(g.mu.listeners) > 0 {
			st.l = g.mu.listeners[0]
		}
		g.mu.Unlock()
		runtime.Gosched()
	}
	return st
}

// shutDown ends serving and cuts all connections.
func (g *Group) shutDown(t *testing.T) {
	t.Helper()
	g.Drain.Begin()
	expect.NoError(t, g.CloseListeners())
	g.mu.Lock()
	for _, l := range g.mu.listeners {
		l.CloseAll()
	}
	g.mu.Unlock()
	expect.NoError(t, g.Shutdown(context.Background()))
	g.Drain.End()
}

// await waits until holds is true of a connection.
func (l *listener) await(holds func(c *conns.Served) bool) {
	for found := false; !found; runtime.Gosched() {
		for _, c := range l.conns() {
			found = found || holds(c)
		}
	}
}

// conns returns the connections that fasthttp owns.
func (l *listener) conns() (all []*conns.Served) {
	l.EachServed(func(c *conns.Served) { all = append(all, c) })
	return all
}

// awaitNone waits until all connections are closed.
func (l *listener) awaitNone() {
	for l.Open() > 0 {
		runtime.Gosched()
	}
}

func testLogger(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

// A reply is an HTTP response, read to its end.
type reply struct {
	status int
	header http.Header
	body   string
	close  bool
}

func readReply(t testing.TB, r *bufio.Reader, method string) reply {
	t.Helper()
	res, err := http.ReadResponse(r, &http.Request{Method: method})
	expect.OK(t, err, "reading the answer")
	body, err := io.ReadAll(res.Body)
	expect.OK(t, err, "reading the body")
	return reply{res.StatusCode, res.Header, string(body), res.Close}
}

// requestText returns a request without a body.
func requestText(method, target string) string {
	return method + " " + target + " HTTP/1.1\r\nHost: any.example\r\n\r\n"
}

// patienceOfTests ends tests that hang. No test measures it.
const patienceOfTests = 20 * time.Second

// dial opens a connection and sends raw.
func (st *site) dial(raw string) (net.Conn, *bufio.Reader) {
	st.t.Helper()
	c, err := net.Dial("tcp", st.addr)
	expect.OK(st.t, err)
	st.t.Cleanup(func() { _ = c.Close() })
	expect.NoError(st.t, c.SetDeadline(time.Now().Add(patienceOfTests)))
	expect.OK(st.t, expect.Err(io.WriteString(c, raw)))
	return c, bufio.NewReader(c)
}

// askTLS makes a request on a new connection over TLS.
func (st *site) askTLS(method, raw string) reply {
	st.t.Helper()
	c, err := tls.Dial("tcp", st.addr, &tls.Config{InsecureSkipVerify: true})
	expect.OK(st.t, err)
	defer c.Close()
	expect.NoError(st.t, c.SetDeadline(time.Now().Add(patienceOfTests)))
	expect.OK(st.t, expect.Err(io.WriteString(c, raw)))
	return readReply(st.t, bufio.NewReader(c), method)
}

// exchange sends raw on a new connection and returns all bytes that come until the server closes
// it.
func (st *site) exchange(raw string) []byte {
	st.t.Helper()
	c, r := st.dial("")
	defer c.Close()
	go func() { _, _ = io.WriteString(c, raw) }() // the server may close before it has read all
	answers, err := io.ReadAll(r)
	expect.MustThat(st.t, err == nil, "the connection was not closed: %v; got %q", err, answers)
	return answers
}

// talk sends raw, closes its side for writing and returns all bytes of the answers.
func (st *site) talk(raw string) []byte {
	st.t.Helper()
	c, r := st.dial("")
	defer c.Close()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, _ = io.WriteString(c, raw)
		_ = c.(*net.TCPConn).CloseWrite()
	}()
	answers, err := io.ReadAll(r)
	expect.MustThat(st.t, !conns.IsTimeout(err), "%q: neither answered nor closed: %q", raw, answers)
	<-sent
	return answers
}

// onlyAnswer returns the answer to a request of method and fails if another follows it.
func onlyAnswer(t testing.TB, answers []byte, method string) reply {
	t.Helper()
	r := bufio.NewReader(bytes.NewReader(answers))
	answer := readReply(t, r, method)
	rest, _ := io.ReadAll(r)
	expect.That(t, len(rest) == 0, "something comes after the answer %d: %q", answer.status, rest)
	return answer
}

// A connFrom is a connection whose other end has the address addr.
type connFrom struct {
	net.Conn
	addr net.Addr
}

func (c connFrom) RemoteAddr() net.Addr { return c.addr }

// A failing listener returns errs from Accept before it accepts.
type failing struct {
	net.Listener
	errs []error
}

func (f *failing) Accept() (net.Conn, error) {
	if len(f.errs) > 0 {
		err := f.errs[0]
		f.errs = f.errs[1:]
		return nil, err
	}
	return f.Listener.Accept()
}

func peerAt(addr string) *net.TCPAddr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(addr), 4711))
}

// listenerOf returns a listener whose connections nothing serves.
func listenerOf(ln net.Listener, lim conns.Limits, p conns.Patience, log *slog.Logger) *listener {
	return newListener(ln, &Group{Limits: lim, Patience: p, Log: log})
}
