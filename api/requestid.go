package api

import (
	"bytes"
	"log/slog"
	"math/bits"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/accesslog"
	"shunt/api/account"
	"shunt/api/redirect"
	"shunt/api/wire/http1"
)

// This file gives requests for the API and for pages an id, by which the lines that logs, the audit
// log and a proxy have about one request are found. Redirects, and other answers to codes, have
// none: they would be larger, and nothing is logged about them one by one.

// headerRequestID has the id of a request, and of its answer. It is the only place where the server
// keeps the id while it answers.
const headerRequestID = "X-Request-Id"

var nameRequestID = []byte(headerRequestID)

// The bounds of an id: those that are made have 95 bits, so that two requests have the same one
// only by a chance of 1 to 10⁹ in 10⁹ requests.
const (
	maxRequestID  = 64 // characters of an id that a client sends
	madeRequestID = 16
	idCharacters  = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// nameRequest gives the answer its id: that of the request if it has exactly one line of it, with 1
// to 64 of the characters 0-9, A-Z, a-z, _ and -, otherwise a new one. So an id can stand in any log
// line or header as it is.
func nameRequest(ctx *fasthttp.RequestCtx) {
	sent := ctx.Request.Header.PeekAll(headerRequestID)
	if len(sent) == 1 && isRequestID(sent[0]) {
		ctx.Response.Header.SetCanonical(nameRequestID, sent[0])
		return
	}
	made := newRequestID(rand.Uint64(), rand.Uint64())
	ctx.Response.Header.SetCanonical(nameRequestID, made[:])
}

// newRequestID returns an id of random numbers. Each makes half of the characters, as the leading digits of a
// fraction to base 62, of which eight take 48 of its 64 bits: a number for each character took 0.2 µs.
func newRequestID(first, second uint64) (id [madeRequestID]byte) {
	for i := range madeRequestID / 2 {
		var digit uint64
		digit, first = bits.Mul64(first, uint64(len(idCharacters)))
		id[i] = idCharacters[digit]
		digit, second = bits.Mul64(second, uint64(len(idCharacters)))
		id[madeRequestID/2+i] = idCharacters[digit]
	}
	return id
}

// named returns handle for requests that have an id.
func named(handle fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		nameRequest(ctx)
		handle(ctx)
	}
}

func isRequestID(id []byte) bool {
	for _, c := range id {
		if !('0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || c == '_' || c == '-') {
			return false
		}
	}
	return 1 <= len(id) && len(id) <= maxRequestID
}

// requestID returns the id that nameRequest has given the request; empty: none.
func requestID(ctx *fasthttp.RequestCtx) string {
	return string(ctx.Response.Header.Peek(headerRequestID))
}

// inLog returns the id of a request for a log line. Handlers write nothing of the zero Attr that
// stands for a request without an id.
func inLog(ctx *fasthttp.RequestCtx) slog.Attr {
	id := requestID(ctx)
	if id == "" {
		return slog.Attr{}
	}
	return slog.String("request_id", id)
}

// loggerOf returns log with the id of the request in each line, for what outlives its handler.
func loggerOf(ctx *fasthttp.RequestCtx, log *slog.Logger) *slog.Logger { return log.With(inLog(ctx)) }

// noteAccess logs an answered request in the access log.
func noteAccess(log *accesslog.Log, ctx *fasthttp.RequestCtx, proxies *http1.Proxies, took time.Duration) {
	if !log.Due() {
		return
	}
	h := &ctx.Request.Header
	e := accesslog.Entry{
		NowMs: time.Now().UnixMilli(), Method: ctx.Method(), Path: h.RequestURI(), HTTP10: !h.IsHTTP11(),
		Status: ctx.Response.StatusCode(), Bytes: -1, Took: took, RequestID: ctx.Response.Header.Peek(headerRequestID),
		Client: proxies.ClientAddr(ctx, http1.PeerAddr(ctx)), UserAgent: h.UserAgent(), Referrer: h.Referer(),
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

// noteAccess logs a plain request that was answered with status and a body of so many bytes.
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

// Origins say where requests come from.
type origins struct {
	proxies  *http1.Proxies
	networks bool // callers have the network of their client
}

// Of the address of a client, origins have this many bits: networks that providers give to a
// customer or more, so that no line of the audit log is about one machine.
const (
	originBits4 = 24
	originBits6 = 48
)

// of returns where a request that nameRequest has named came from.
func (o origins) of(ctx *fasthttp.RequestCtx) account.Origin {
	from := account.Origin{RequestID: requestID(ctx), Local: !isLimited(ctx)}
	if o.networks && !from.Local {
		from.Network = originNetwork(o.proxies.ClientAddr(ctx, http1.PeerAddr(ctx)))
	}
	return from
}

func originNetwork(client netip.Addr) netip.Prefix {
	bits := originBits4
	if client.Is6() {
		bits = originBits6
	}
	network, _ := client.Prefix(bits) // fails only above the bits of the address
	return network
}
