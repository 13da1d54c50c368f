package api

import (
	"bytes"
	"shunt/api/wire"

	"github.com/valyala/fasthttp"
)

// scratch is what one redirect needs beside its RequestCtx; a pool keeps it.
type scratch struct {
	request request
	buf     []byte // of answer
}

// scratchBytes is room for all but one in a thousand locations; a longer one makes its scratch larger for good.
const scratchBytes = 512

var (
	headerLocation     = []byte("Location")
	headerCacheControl = []byte("Cache-Control")
)

// handlePublic is the way of every request on the public address. Codes go to the redirector, everything else to the
// router.
func (s *Server) handlePublic(ctx *fasthttp.RequestCtx) {
	defer s.panics.recovered(ctx)
	if s.drain.Begun() {
		ctx.SetConnectionClose()
	}
	path, query := splitURI(ctx.Request.Header.RequestURI())
	if code := matchCode(path); code != nil {
		s.serveCode(ctx, code, query)
		return
	}
	s.hsts.demand(ctx)
	s.publicRoutes(ctx)
}

// serveCode is fasthttp's caller of the redirector.
func (s *Server) serveCode(ctx *fasthttp.RequestCtx, code, query []byte) {
	sc := s.scratch.Get().(*scratch)
	method := ctx.Method()
	head := string(method) == fasthttp.MethodHead
	peer := wire.PeerAddr(ctx)
	sc.request = request{
		code:      code,
		query:     query,
		userAgent: ctx.UserAgent(),
		referrer:  ctx.Request.Header.Referer(),
		country:   s.proxies.CountryCode(ctx, peer),
		client:    s.proxies.ClientAddr(ctx, peer),
		nowMs:     s.timeOf(ctx).UnixMilli(),
		safe:      head || string(method) == fasthttp.MethodGet,
		head:      head,
		prefetch:  isPrefetch(ctx.Request.Header.RawHeaders()),
	}
	var a answer
	a, sc.buf = s.redirects.answer(sc.buf[:0], &sc.request)
	if a.outcome == redirected {
		ctx.Response.SetStatusCode(a.status)
		ctx.Response.Header.SetCanonical(headerLocation, a.location)
		ctx.Response.Header.SetCanonical(headerCacheControl, a.cacheControl)
	} else {
		if a.outcome == unknownCode && !s.limiter.mayMiss(ctx, sc.request.client) {
			a.outcome = tooManyMisses
		}
		s.hsts.demand(ctx)
		writePage(ctx, a.outcome)
	}
	sc.request = request{} // nothing of ctx outlives it
	s.scratch.Put(sc)
}

// prefetchHeaders say what a request is for, in the words of today's browsers and of yesterday's.
var prefetchHeaders = [...]string{"sec-purpose:", "purpose:", "x-purpose:", "x-moz:"}

// isPrefetch tells whether a line of the raw header block names prefetch or preview, alone or among parameters
// ("prefetch;prerender"). A header may come in several lines, of which Peek sees the first; PeekAll of four names would
// be four passes over all headers, and fasthttp's iterators parse cookies or allocate.
func isPrefetch(raw []byte) bool {
	for len(raw) > 0 {
		line := raw
		if end := bytes.IndexByte(raw, '\n'); end >= 0 {
			line, raw = raw[:end], raw[end+1:]
		} else {
			raw = nil
		}
		if value := purposeOf(line); len(value) > 0 && (containsFold(value, "prefetch") || containsFold(value, "preview")) {
			return true
		}
	}
	return false
}

// purposeOf returns the value of a header line that is one of prefetchHeaders, nil of any other. Its first letter
// rules out most lines.
func purposeOf(line []byte) []byte {
	if len(line) == 0 {
		return nil
	}
	switch line[0] | 0x20 {
	case 's', 'p', 'x':
	default:
		return nil
	}
	for _, name := range prefetchHeaders {
		if len(line) > len(name) && equalFold(line[:len(name)], name) {
			return line[len(name):]
		}
	}
	return nil
}

// containsFold tells whether b contains the lower-case letters of word, in any case.
func containsFold(b []byte, word string) bool {
	for i := 0; i+len(word) <= len(b); i++ {
		if equalFold(b[i:i+len(word)], word) {
			return true
		}
	}
	return false
}

func equalFold(b []byte, word string) bool {
	for i, c := range b {
		if c|0x20 != word[i] {
			return false
		}
	}
	return true
}
