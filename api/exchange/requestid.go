package exchange

import (
	"log/slog"
	"math/bits"
	"math/rand/v2"

	"github.com/valyala/fasthttp"
)

// This file gives requests for the API and for pages an id, by which the lines that logs, the audit
// log and a proxy have about one request are found. Redirects, and other answers to codes, have
// none: they would be larger, and nothing is logged about them one by one.

// HeaderRequestID has the id of a request, and of its answer. It is the only place where the server
// keeps the id while it answers.
const HeaderRequestID = "X-Request-Id"

var nameRequestID = []byte(HeaderRequestID)

// The bounds of an id: those that are made have 95 bits, so that two requests have the same one
// only by a chance of 1 to 10⁹ in 10⁹ requests.
const (
	maxRequestID  = 64 // characters of an id that a client sends
	madeRequestID = 16
	idCharacters  = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// NameRequest gives the answer its id: that of the request if it has exactly one line of it, with 1
// to 64 of the characters 0-9, A-Z, a-z, _ and -, otherwise a new one. So an id can stand in any log
// line or header as it is.
func NameRequest(ctx *fasthttp.RequestCtx) {
	sent := ctx.Request.Header.PeekAll(HeaderRequestID)
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

// Named returns handle for requests that have an id.
func Named(handle fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		NameRequest(ctx)
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

// RequestID returns the id that NameRequest has given the request; empty: none.
func RequestID(ctx *fasthttp.RequestCtx) string {
	return string(ctx.Response.Header.Peek(HeaderRequestID))
}

// inLog returns the id of a request for a log line. Handlers write nothing of the zero Attr that
// stands for a request without an id.
func inLog(ctx *fasthttp.RequestCtx) slog.Attr {
	id := RequestID(ctx)
	if id == "" {
		return slog.Attr{}
	}
	return slog.String("request_id", id)
}

// LoggerOf returns log with the id of the request in each line, for what outlives its handler.
func LoggerOf(ctx *fasthttp.RequestCtx, log *slog.Logger) *slog.Logger { return log.With(inLog(ctx)) }
