package api

import (
	"bytes"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/absent"
	"shunt/api/accesslog"
	"shunt/api/auth"
	"shunt/api/domain"
	"shunt/api/edges"
	"shunt/api/exchange"
	"shunt/api/problem"
	"shunt/api/public"
	"shunt/api/redirect"
	"shunt/api/relay"
	"shunt/api/urlpath"
	"shunt/api/wire"
	"shunt/api/wire/http1"
	"shunt/api/wire/loop"
	"shunt/engine"
)

// scratch is the memory that a redirect needs besides its RequestCtx. Scratches are kept in a pool.
type scratch struct {
	request redirect.Request
	memo    [2]uint64 // of the request
	buf     []byte    // of Redirector.Decide
}

// scratchBytes is enough for all but one in a thousand locations. A longer location enlarges its
// scratch for good.
const scratchBytes = 512

// front is the handler of the public address: it passes codes to the redirector, everything else to
// the router. It is the hot path, so it calls the redirector itself, without a table of handlers.
type front struct {
	redirects  *redirect.Redirector
	proxies    *http1.Proxies
	limiter    *auth.Limiter
	domains    *domain.Domains
	pages      public.Pages
	others     *public.Router     // what domains but the default one have beside redirects
	gatekeeper *public.Gatekeeper // of links with a password
	hsts       auth.HSTS
	now        exchange.Clock
	panics     *exchange.PanicLog
	drain      *wire.Drain
	latency    *loop.Latency           // of requests that fasthttp reads; wire measures the others
	heads      datedHeads              // of answerPlain
	scratch    sync.Pool               // of *scratch
	routes     fasthttp.RequestHandler // of every path that is not a code
	access     *accesslog.Log          // nil: none
	absent     *absent.Asker           // about unknown codes; nil: nobody is asked
	process    string                  // edges.ProcessField, of an edge
	refused    func() bool             // reports whether this edge is out of service; nil: never
}

func newScratch() any { return &scratch{buf: make([]byte, 0, scratchBytes)} }

// handle answers every request on the public address.
func (f *front) handle(ctx *fasthttp.RequestCtx) {
	if f.access == nil {
		f.answer(ctx)
		return
	}
	start := time.Now()
	f.answer(ctx)
	if !isHeld(ctx) {
		noteAccess(f.access, ctx, f.proxies, time.Since(start))
	}
}

func (f *front) answer(ctx *fasthttp.RequestCtx) {
	defer f.panics.Recovered(ctx)
	if f.drain.Begun() {
		ctx.SetConnectionClose()
	}
	takeHost(ctx, f.proxies)
	if f.refused != nil && f.refused() {
		exchange.NameRequest(ctx)
		ctx.Response.Header.Set(edges.ProcessField, f.process)
		exchange.WriteProblem(ctx, problem.Problem{Kind: problem.Stale, Detail: "this edge was taken out of service"})
		return
	}
	uri := ctx.Request.Header.RequestURI()
	in := f.domains.Of(urlpath.Authority(uri, ctx.Request.Header.Host()))
	path, query := urlpath.Split(uri)
	call := bytes.HasPrefix(path, []byte(apiPrefix)) // which no link has at its path
	if !call && f.serveLink(ctx, in, path, query) {
		return
	}
	f.hsts.Demand(ctx)
	exchange.NameRequest(ctx)
	if in != engine.DefaultDomain {
		f.others.ServeDomain(ctx, path)
		return
	}
	f.routes(ctx)
}

// takeHost makes a request one for the host that a trusted proxy says the visitor asked for, if it says so (see
// http1.Proxies.NamedHost), so that all who answer it know only that host.
func takeHost(ctx *fasthttp.RequestCtx, proxies *http1.Proxies) {
	if proxies.HostHeader == "" {
		return
	}
	host := proxies.NamedHost(ctx, http1.PeerAddr(ctx))
	if host == nil {
		return
	}
	uri := ctx.Request.Header.RequestURI()
	if urlpath.IsAbsolute(uri) {
		uri = urlpath.OriginForm(uri)
	}
	ctx.Request.SetRequestURIBytes(uri) // also if it is the same: fasthttp forgets what it has read of it
	ctx.Request.Header.SetHostBytes(host)
}

// A meaning is what the path of a request may mean: a link.
type meaning struct {
	code, query []byte
	rest        []byte // see redirect.Request
	orElse      bool   // the path may mean something else: if no link has the code, this is not the answer
}

// serveLink answers a request whose path may be that of a link. A code that has a link comes before all else
// that its path might mean.
func (f *front) serveLink(ctx *fasthttp.RequestCtx, in engine.Domain, path, query []byte) (served bool) {
	rules, deeper := f.domains.SettingsOf(in), bytes.LastIndexByte(path, '/') > 0
	named := meaning{code: urlpath.Code(path), query: query}
	exact := named.code != nil && !urlpath.MayBeSpoilt(named.code)
	if named.orElse = !exact || deeper; named.code != nil && f.serveCode(ctx, in, rules.Folds, named) {
		return true
	}
	if !exact && !rules.KeepsEnds {
		code, query := urlpath.SpoiltCode(path, query)
		named = meaning{code: code, query: query, orElse: deeper}
		if code != nil && f.serveCode(ctx, in, rules.Folds, named) {
			return true
		}
	}
	if deeper && f.serveBeginning(ctx, in, &rules, path, query) {
		return true
	}
	if named.orElse = false; named.code == nil {
		return false
	}
	return f.serveCode(ctx, in, rules.Folds, named)
}

// serveBeginning answers a request whose path begins with a code whose link passes the rest on, unless the path is that
// of a page about a link.
func (f *front) serveBeginning(ctx *fasthttp.RequestCtx, in engine.Domain, rules *domain.Settings, path, query []byte) (served bool) {
	if code := f.others.LinkOfPage(path, rules.KeepsEnds); code != nil &&
		f.redirects.Known(auth.StrangerKey(ctx, f.proxies), engine.KeyView{Domain: in, Code: code}, rules.Folds) != redirect.UnknownCode {
		return false
	}
	for code, rest := range urlpath.Beginnings(path) {
		if f.serveCode(ctx, in, rules.Folds, meaning{code, query, rest, true}) {
			return true
		}
	}
	return false
}

// serveCode calls the redirector for fasthttp. If the path may mean something else, a code that no link has is not
// answered nor counted, and serveCode returns false.
func (f *front) serveCode(ctx *fasthttp.RequestCtx, in engine.Domain, fold bool, as meaning) (served bool) {
	sc := f.scratch.Get().(*scratch)
	method := ctx.Method()
	head := string(method) == fasthttp.MethodHead
	peer, now := http1.PeerAddr(ctx), f.now.Of(ctx)
	headers := ctx.Request.Header.RawHeaders()
	sc.memo = [2]uint64{}
	query, scan := as.query, false
	if len(query) > 0 {
		query, scan = redirect.TakeScan(query)
	}
	sc.request = redirect.Request{
		KeyView:   engine.KeyView{Domain: in, Code: as.code},
		Fold:      fold,
		Rest:      as.rest,
		Query:     query,
		Scan:      scan,
		UserAgent: ctx.UserAgent(),
		Referrer:  ctx.Request.Header.Referer(),
		Headers:   headers,
		Country:   f.proxies.CountryCode(ctx, peer),
		Client:    f.proxies.ClientAddr(ctx, peer),
		NowMs:     now.UnixMilli(),
		Safe:      head || string(method) == fasthttp.MethodGet,
		Post:      string(method) == fasthttp.MethodPost,
		Head:      head,
		Prefetch:  redirect.IsPrefetch(headers),
		Memo:      &sc.memo,
	}
	d := f.decide(ctx, sc, now)
	served = !as.orElse || !d.Outcome.IsUnknown()
	switch {
	case !served:
	case !sc.request.Safe && (d.Outcome == redirect.Redirected || d.Outcome == redirect.WrongMethod) && public.IsTyped(ctx):
		d.Release()
		public.AnswerOpened(ctx)
	default:
		f.commit(ctx, sc, d, now)
	}
	sc.request = redirect.Request{} // nothing of ctx outlives it
	f.scratch.Put(sc)
	return served
}

// decide decides about the request in sc, and waits for the store or another server if one of them must be asked.
func (f *front) decide(ctx *fasthttp.RequestCtx, sc *scratch, now time.Time) (d redirect.Decision) {
	if d, sc.buf = f.redirects.Decide(sc.buf[:0], &sc.request); d.Unread {
		d, sc.buf = f.redirects.DecideUnread(auth.StrangerKey(ctx, f.proxies), sc.buf[:0], &sc.request)
	}
	if f.absent != nil && d.Outcome == redirect.UnknownCode && sc.request.Safe && sc.request.Rest == nil && f.absent.Ask(sc.request.KeyView, auth.StrangerKey(ctx, f.proxies).Network, now) {
		d, sc.buf = f.redirects.Decide(sc.buf[:0], &sc.request)
	}
	return d
}

// commit counts and answers what decide has decided.
func (f *front) commit(ctx *fasthttp.RequestCtx, sc *scratch, d redirect.Decision, now time.Time) {
	if o := f.redirects.Commit(d, &sc.request); o == redirect.Redirected {
		location := len(sc.buf)
		sc.buf = d.AppendCacheControl(sc.buf)
		ctx.Response.SetStatusCode(d.Status)
		ctx.Response.Header.SetCanonical(exchange.NameLocation, sc.buf[:location])
		ctx.Response.Header.SetCanonical(exchange.NameCacheControl, sc.buf[location:])
	} else if o == redirect.Locked && sc.request.Post {
		f.hsts.Demand(ctx)
		f.gatekeeper.Answer(ctx, d.Gate(), sc.request.Rest, sc.request.Asked())
	} else {
		f.miss(ctx, &sc.request, d, o, now)
	}
	f.latency.Observe(time.Since(ctx.Time()), ctx.ConnID())
}

// miss answers a request q for a code that is not redirected to the link's target, because of outcome o of decision d.
func (f *front) miss(ctx *fasthttp.RequestCtx, q *redirect.Request, d redirect.Decision, o redirect.Outcome, now time.Time) {
	switch o {
	case redirect.Prefetched: // nobody sees the answer, so it has no page
		ctx.SetStatusCode(fasthttp.StatusServiceUnavailable)
		ctx.Response.Header.SetCanonical(exchange.NameCacheControl, exchange.NoStore)
		return
	case redirect.Fallback:
		ctx.SetStatusCode(fasthttp.StatusFound)
		ctx.Response.Header.SetCanonical(exchange.NameLocation, f.redirects.AppendFallback(nil, d))
		ctx.Response.Header.SetCanonical(exchange.NameCacheControl, redirect.NeverStore)
		return
	case redirect.Locked:
		d.Release()
	}
	f.hsts.Demand(ctx)
	if o == redirect.Carded {
		f.others.Previews.ServeCard(ctx, f.redirects.Card(d, q))
		return
	}
	if o.IsUnknown() && !f.limiter.MayMiss(ctx, q.Client, now) {
		o = redirect.TooManyMisses
	}
	f.pages.Answer(ctx, o)
	if d.ByPost {
		ctx.Response.Header.Set(fasthttp.HeaderAllow, "GET, HEAD, POST")
	}
}

// noteAccess logs an answered request in the access log.
func noteAccess(log *accesslog.Log, ctx *fasthttp.RequestCtx, proxies *http1.Proxies, took time.Duration) {
	if !log.Due() {
		return
	}
	h := &ctx.Request.Header
	peer := http1.PeerAddr(ctx)
	if c, passed := relay.Of(ctx); passed {
		peer = http1.AddrOf(c.Address)
	}
	e := accesslog.Entry{
		NowMs: time.Now().UnixMilli(), Method: ctx.Method(), Path: h.RequestURI(), HTTP10: !h.IsHTTP11(),
		Status: ctx.Response.StatusCode(), Bytes: -1, Took: took, RequestID: ctx.Response.Header.Peek(exchange.HeaderRequestID),
		Client: proxies.ClientAddr(ctx, peer), UserAgent: h.UserAgent(), Referrer: h.Referer(),
	}
	if !ctx.Response.IsBodyStream() {
		e.Bytes = len(ctx.Response.Body())
	}
	e.Prefetch = e.Status == fasthttp.StatusServiceUnavailable && redirect.IsPrefetch(h.RawHeaders())
	if len(h.RawHeaders()) == 0 { // refused before it was parsed: fasthttp would say GET /
		e.Method, e.Path = unread, unread
	}
	log.Note(&e)
}

// unread stands for what the server does not know of a request.
var unread = []byte("-")

// noteAccess logs a plain request. body is the number of bytes of its answer without the head.
func (f *front) noteAccess(r *http1.Plain, status, body int) {
	if !f.access.Due() {
		return
	}
	e := accesslog.Entry{
		NowMs: r.NowMs, Status: status, Bytes: body, Client: r.Client, UserAgent: r.UserAgent, Referrer: r.Referrer,
	}
	e.Prefetch = status == fasthttp.StatusServiceUnavailable && redirect.IsPrefetch(r.Purposes)
	method, rest, _ := bytes.Cut(r.Raw, []byte{' '})
	path, version, _ := bytes.Cut(rest, []byte{' '})
	e.Method, e.Path, e.HTTP10 = method, path, bytes.HasPrefix(version, []byte("HTTP/1.0"))
	f.access.Note(&e)
}
