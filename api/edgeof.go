package api

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/auth"
	foreign "shunt/api/doors"
	"shunt/api/edges"
	"shunt/api/exchange"
	"shunt/api/ops"
	"shunt/api/page"
	"shunt/api/problem"
	"shunt/api/public"
	"shunt/api/relay"
	"shunt/api/urlpath"
	"shunt/api/wire"
	"shunt/api/wire/http1"
)

// EdgeOf is what a server that is an edge of a writer knows of it; zero: it is none. Any goroutine may call its
// functions.
type EdgeOf struct {
	Writer  string             // origin of the writer; empty: this is no edge
	Process string             // edges.ProcessField
	Revoked func() bool        // the writer refuses this edge: nothing redirects
	Stale   func() bool        // the writer has not answered for some time
	Token   func() string      // of this edge
	Refused func(token string) // is told that the writer refuses a token
	TLS     *tls.Config        // of connections to the writer; nil: as usual
}

// passing passes calls of the API and pages on from an edge to its writer: an edge has neither accounts nor figures.
type passing struct {
	EdgeOf
	transport *http.Transport
	proxies   *http1.Proxies
	https     *auth.HTTPS
	places    *ops.Places
	pages     public.Pages
	fixed     func(path []byte) bool // pages that are the same on every server
	noPages   bool
	doors     *foreign.Doors
	ending    <-chan struct{} // closed when the server shuts down
}

// Limits of requests that an edge passes on.
const (
	maxPassed       = 256 // at a time, with live figures and exports: the writer takes 512 connections from one address
	maxPassedClient = 64  // of them, of the clients of one network

	passDial    = 2 * time.Second
	passAnswer  = 30 * time.Second // until an answer begins: a large request takes seconds
	passSilence = 5 * time.Second  // that, once the writer does not answer this edge itself
	passLook    = 500 * time.Millisecond

	// passIdle is shorter than that of servers and proxies, so that hardly a request is sent on a connection that ends.
	passIdle = 4 * time.Second

	maxPassedWhole = 1 << 20 // of an answer that is read before it is sent, in bytes
)

// proxyOf is http.ProxyFromEnvironment, but none for plain HTTP: a proxy would need another form of the address than
// relay.To has.
func proxyOf(r *http.Request) (*url.URL, error) {
	if r.URL.Scheme != "https" {
		return nil, nil
	}
	return http.ProxyFromEnvironment(r)
}

// newTransport returns the connections of an edge to its writer.
func newTransport(config *tls.Config) *http.Transport {
	return &http.Transport{
		Proxy: proxyOf, DialContext: (&net.Dialer{Timeout: passDial}).DialContext, TLSHandshakeTimeout: passDial,
		TLSClientConfig: config, ResponseHeaderTimeout: passAnswer, DisableCompression: true,
		MaxIdleConns: maxPassedClient, MaxIdleConnsPerHost: maxPassedClient, IdleConnTimeout: passIdle,
	}
}

// over returns what answers instead of routes.
func (p *passing) over(routes fasthttp.RequestHandler) fasthttp.RequestHandler {
	if p == nil {
		return routes
	}
	return func(ctx *fasthttp.RequestCtx) {
		path, query := urlpath.Split(ctx.Request.Header.RequestURI())
		ofAPI := bytes.HasPrefix(path, []byte(apiPrefix))
		switch {
		case passedOn(ctx) || ofAPI && bytes.HasPrefix(path, []byte(apiRoot+edges.PathPrefix)):
			ctx.Response.Header.Set(edges.ProcessField, p.Process)
			ctx.Response.Header.Set(relay.RefusedField, "1")
			writeError(ctx, p.notHere())
		case ofAPI || p.doors.At(path) != nil:
			if err := p.pass(ctx, path, query); err != nil {
				writeError(ctx, err)
			}
		case bytes.HasPrefix(path, []byte(page.Root)) && !p.noPages && !p.fixed(path):
			if err := p.pass(ctx, path, query); err != nil {
				said, _ := problem.Of(err)
				p.pages.AnswerProblem(ctx, said)
			}
		default:
			routes(ctx)
		}
	}
}

func writeError(ctx *fasthttp.RequestCtx, err error) {
	said, _ := problem.Of(err)
	exchange.WriteProblem(ctx, said)
}

// overSocket returns what answers local commands instead of routes: here has the paths of those about this server.
func (p *passing) overSocket(routes fasthttp.RequestHandler, here map[string]bool) fasthttp.RequestHandler {
	if p == nil {
		return routes
	}
	return func(ctx *fasthttp.RequestCtx) {
		path, _ := urlpath.Split(ctx.Request.Header.RequestURI())
		if !bytes.HasPrefix(path, []byte(apiPrefix)) || here[string(withoutSlash(path))] {
			routes(ctx)
			return
		}
		writeError(ctx, p.notHere())
	}
}

// notHere is the problem of a call that must be sent to the writer.
func (p *passing) notHere() error {
	return problem.New(problem.Stale, "this server is an edge and has links only; ask %s", p.Writer)
}

// pass answers ctx with the writer's answer. Errors are problems.
func (p *passing) pass(ctx *fasthttp.RequestCtx, path, query []byte) error {
	key := auth.StrangerKey(ctx, p.proxies)
	if err := p.places.Take(key); err != nil {
		return err
	}
	leave := sync.OnceFunc(func() { p.places.Leave(key) })
	resp, stop, err := p.send(ctx, path, query)
	if err != nil {
		leave()
		return err
	}
	end := func() { stop(); leave() }
	if resp.Header.Get(relay.RefusedField) != "" {
		end()
		return p.refused(resp)
	}
	resp.Header.Del("Strict-Transport-Security") // is about this host, so this server says it
	if length := resp.ContentLength; !ctx.IsHead() && (length < 0 || length > maxPassedWhole) {
		relay.AnswerStream(ctx, resp, relay.Stream{Ending: p.ending, Renew: wire.Renew, Sent: wire.Sent, AwaitEnd: wire.AwaitEnd, Stop: end, Overtaken: p.Stale})
		return nil
	}
	defer end()
	late := time.AfterFunc(passAnswer, end)
	defer late.Stop()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return p.unanswered(ctx, path)
	}
	relay.AnswerWhole(ctx, resp, body)
	return nil
}

// send sends ctx to the writer. stop ends the answer, whose body need not be read.
func (p *passing) send(ctx *fasthttp.RequestCtx, path, query []byte) (resp *http.Response, stop func(), err error) {
	sent := fasthttp.AcquireRequest()
	defer fasthttp.ReleaseRequest(sent)
	p.prepare(sent, ctx)
	target := string(path)
	if len(query) > 0 {
		target += "?" + string(query)
	}
	begun := false
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { begun = true }}
	sending, cancel := context.WithCancel(httptrace.WithClientTrace(context.Background(), trace))
	req, err := relay.To(sending, p.Writer, target, sent, bytes.NewReader(bytes.Clone(sent.Body())))
	if err != nil {
		cancel()
		return nil, nil, err
	}
	if p.doors.At(path) != nil {
		sendOnce(req)
	}
	unwatch := p.watch(cancel)
	resp, err = p.transport.RoundTrip(req)
	unwatch()
	switch {
	case err == nil:
		return resp, func() { cancel(); _ = resp.Body.Close() }, nil
	case begun:
		err = p.unanswered(ctx, path)
	default:
		err = p.unreached()
	}
	cancel()
	return nil, nil, err
}

// sendOnce keeps net/http from sending a GET or HEAD again after a kept connection has ended: a GET at a door may
// create a link. It sends again what has no body, or one that it can have again.
func sendOnce(req *http.Request) {
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		return
	}
	req.GetBody = nil
	if req.Body == http.NoBody {
		req.Body = io.NopCloser(bytes.NewReader(nil)) // not sent either: net/http looks for a first byte
	}
}

// prepare makes req the request of ctx as it goes to the writer.
func (p *passing) prepare(req *fasthttp.Request, ctx *fasthttp.RequestCtx) {
	relay.Prepare(req, ctx, edges.TokenField, edges.HostField, relay.ClientField, relay.PlainField, relay.RefusedField)
	h := &req.Header
	auth.DropForwarding(h, p.proxies)
	h.Set(edges.TokenField, p.Token())
	h.Set(edges.HostField, string(ctx.Request.Header.Host()))
	peer := http1.PeerAddr(ctx)
	client := net.TCPAddr{IP: p.proxies.ClientAddr(ctx, peer).AsSlice()}
	if tcp, ok := ctx.RemoteAddr().(*net.TCPAddr); ok {
		client.Port = tcp.Port
	}
	h.Set(relay.ClientField, relay.ClientText(&client))
	h.Set(relay.PlainField, relay.Digit(!p.https.Reached(ctx)))
}

// watch calls giveUp when a request has waited for long and the writer does not answer this edge itself. stop ends the
// watch.
func (p *passing) watch(giveUp func()) (stop func()) {
	ended := make(chan struct{})
	timer := time.AfterFunc(passSilence, func() {
		for !p.Stale() {
			select {
			case <-time.After(passLook):
			case <-ended:
				return
			}
		}
		giveUp()
	})
	return func() {
		timer.Stop()
		close(ended)
	}
}

// refused is the problem if the writer does not take what this edge passes on.
func (p *passing) refused(resp *http.Response) error {
	if resp.StatusCode == fasthttp.StatusUnauthorized {
		p.Refused(resp.Request.Header.Get(edges.TokenField))
		return problem.New(problem.Stale, "the server of this edge refuses its token; redirects may end")
	}
	return problem.New(problem.Stale, "%s takes no requests from edges at present", p.Writer)
}

// unreached is the problem if the writer has certainly not got a request.
func (p *passing) unreached() error {
	return problem.New(problem.Stale, "this edge does not reach its server, %s; nothing was changed, and redirects go on", p.Writer)
}

// unanswered is the problem if the writer may have got a request.
func (p *passing) unanswered(ctx *fasthttp.RequestCtx, path []byte) error {
	if !p.doors.MayWrite(ctx, path) {
		return p.unreached()
	}
	return problem.New(problem.OutcomeUnknown, "the server of this edge, %s, did not answer; the write may have happened", p.Writer)
}
