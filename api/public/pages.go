package public

import (
	"strings"
	"sync"

	"github.com/valyala/fasthttp"

	"shunt/api/domain"
	"shunt/api/exchange"
	"shunt/api/page"
	"shunt/api/problem"
	"shunt/api/redirect"
	"shunt/api/urlpath"
	"shunt/api/words"
	"shunt/engine"
)

// Pages are the pages of this site.
type Pages struct {
	*page.Set             // in English
	Languages *Translated // the same in other languages
	Domains   *domain.Domains
	Blocked   *engine.BlockList // nil: nothing is blocked
}

// A Translated is the pages of a site in each language but English. They are written when somebody first asks for them.
type Translated struct {
	languages *words.Languages
	sets      map[*words.Catalog]func() *page.Set
}

// NewTranslated returns the pages of site in languages.
func NewTranslated(site page.Site, languages *words.Languages) *Translated {
	t := &Translated{languages, make(map[*words.Catalog]func() *page.Set)}
	for _, c := range languages.All()[1:] {
		t.sets[c] = sync.OnceValue(func() *page.Set { return page.NewIn(c, site) })
	}
	return t
}

// in returns the pages in the language that suits the visitor best.
func (s Pages) in(ctx *fasthttp.RequestCtx) Pages {
	accepted := ctx.Request.Header.Peek(fasthttp.HeaderAcceptLanguage)
	if s.Languages == nil || len(accepted) == 0 {
		return s
	}
	if c := s.Languages.languages.For("", string(accepted)); c != nil {
		s.Set = s.Languages.sets[c]()
	}
	return s
}

// Answer sends the page of an outcome, or a problem if the client prefers JSON; or it redirects to where the domain of
// the request sends visitors instead.
func (s Pages) Answer(ctx *fasthttp.RequestCtx, o redirect.Outcome) {
	if to := s.fallback(ctx, o); to != "" {
		redirectTo(ctx, to)
		return
	}
	s.answerError(ctx, o)
}

// fallback returns where the domain of a request sends visitors in place of an outcome; empty: nowhere. No hit is
// counted.
func (s Pages) fallback(ctx *fasthttp.RequestCtx, o redirect.Outcome) (to string) {
	if !ctx.IsGet() && !ctx.IsHead() {
		return ""
	}
	d := s.domain(ctx)
	switch {
	case o.IsUnknown() && d.NotFoundURL != "":
		path, _ := urlpath.Split(ctx.Request.Header.RequestURI())
		to = d.NotFoundFor(strings.TrimPrefix(string(path), "/"))
	case o == redirect.Expired, o == redirect.Exhausted:
		to = d.ExpiredURL
	}
	if to == "" || len(to) > engine.MaxTargetBytes || s.Blocked.BlocksText(to) {
		return ""
	}
	return to
}

// domain returns the domain of a request.
func (s Pages) domain(ctx *fasthttp.RequestCtx) *domain.Domain {
	if d := s.Domains.Numbered(DomainOf(ctx, s.Domains)); d != nil {
		return d
	}
	return s.Domains.Default() // it was removed a moment ago
}

// DomainOf returns the domain of a request.
func DomainOf(ctx *fasthttp.RequestCtx, domains *domain.Domains) engine.Domain {
	h := &ctx.Request.Header
	return domains.Of(urlpath.Authority(h.RequestURI(), h.Host()))
}

// redirectTo redirects to a target that is no link's.
func redirectTo(ctx *fasthttp.RequestCtx, target string) {
	ctx.SetStatusCode(fasthttp.StatusFound)
	ctx.Response.Header.SetCanonical(exchange.NameLocation, engine.AppendASCII(nil, []byte(target)))
	ctx.Response.Header.SetCanonical(exchange.NameCacheControl, redirect.NeverStore)
}

// answerError is Answer without the fallbacks of domains.
func (s Pages) answerError(ctx *fasthttp.RequestCtx, o redirect.Outcome) {
	s = s.in(ctx)
	p := s.Error(o)
	if o == redirect.Locked {
		s.answerAsk(ctx, p)
		return
	}
	h := &ctx.Response.Header
	h.Set("Vary", "Accept")
	if p.Kind == problem.Method {
		h.Set("Allow", "GET, HEAD")
	}
	if page.PrefersJSON(ctx.Request.Header.PeekAll("Accept")) {
		exchange.WriteProblem(ctx, problem.Problem{Kind: p.Kind, Detail: p.Detail})
		return
	}
	if p.Kind.RetryAfter != "" {
		h.Set("Retry-After", p.Kind.RetryAfter)
	}
	h.Set("Cache-Control", "no-store")
	ctx.SetStatusCode(p.Kind.Status)
	s.write(ctx, p.HTML)
}

// cookieChallenge is the challenge that a 401 must have (RFC 9110, 15.5.2): one at which browsers ask nothing
// themselves.
const cookieChallenge = `Cookie realm="link"`

// answerAsk sends a page that asks for the password of a link, or the problem if the client prefers JSON.
func (s Pages) answerAsk(ctx *fasthttp.RequestCtx, p *page.Error) {
	h := &ctx.Response.Header
	h.Set("Vary", "Accept")
	if p.Kind == problem.Locked {
		h.Set(fasthttp.HeaderWWWAuthenticate, cookieChallenge)
	}
	if page.PrefersJSON(ctx.Request.Header.PeekAll("Accept")) {
		exchange.WriteProblem(ctx, problem.Problem{Kind: p.Kind, Detail: p.Detail})
		h.SetCanonical(exchange.NameCacheControl, redirect.NeverStore)
		return
	}
	if p.Kind.RetryAfter != "" {
		h.Set("Retry-After", p.Kind.RetryAfter)
	}
	h.SetCanonical(exchange.NameCacheControl, redirect.NeverStore)
	ctx.SetStatusCode(p.Kind.Status)
	s.write(ctx, p.HTML)
	h.Set("Content-Security-Policy", s.Asks.Policy)
}

// AnswerProblem sends a page that says what is wrong, or the problem if the client prefers JSON.
func (s Pages) AnswerProblem(ctx *fasthttp.RequestCtx, p problem.Problem) {
	h := &ctx.Response.Header
	h.Set("Vary", "Accept")
	if page.PrefersJSON(ctx.Request.Header.PeekAll("Accept")) {
		exchange.WriteProblem(ctx, p)
		return
	}
	if p.Kind.RetryAfter != "" {
		h.Set("Retry-After", p.Kind.RetryAfter)
	}
	h.Set("Cache-Control", "no-store")
	ctx.SetStatusCode(p.Kind.Status)
	s = s.in(ctx)
	s.writeOnce(ctx, s.Problem(p))
}

// write sends a page of the set with the header fields that every page has.
func (s Pages) write(ctx *fasthttp.RequestCtx, html page.Text) {
	guardPage(ctx, s.Policy)
	ctx.Response.Header.SetContentType("text/html; charset=utf-8")
	writeText(ctx, html)
}

// writeOnce does what write does with a page that is made for one request.
func (s Pages) writeOnce(ctx *fasthttp.RequestCtx, html []byte) {
	guardPage(ctx, s.Policy)
	ctx.Response.Header.SetContentType("text/html; charset=utf-8")
	ctx.Response.SetBodyRaw(html)
	compress(ctx)
}

// compress compresses the answer if the client accepts that.
var compress = fasthttp.CompressHandlerBrotliLevel(func(*fasthttp.RequestCtx) {}, page.BrotliLevel, fasthttp.CompressDefaultCompression)

// writeText sends the body of t, compressed if the client accepts that. It reports whether it is.
func writeText(ctx *fasthttp.RequestCtx, t page.Text) (compressed bool) {
	if t.Gzip() == nil {
		ctx.Response.SetBodyRaw(t.Body)
		return false
	}
	h := &ctx.Response.Header
	h.Add("Vary", "Accept-Encoding")
	switch asks := &ctx.Request.Header; {
	case asks.HasAcceptEncoding("br") && t.Brotli() != nil:
		h.SetContentEncoding("br")
		ctx.Response.SetBodyRaw(t.Brotli())
	case asks.HasAcceptEncoding("gzip"):
		h.SetContentEncoding("gzip")
		ctx.Response.SetBodyRaw(t.Gzip())
	default:
		ctx.Response.SetBodyRaw(t.Body)
		return false
	}
	return true
}

// guardPage restricts what browsers may do with an answer that they show: load only what policy
// allows, show it in no frame, take its type as sent, and send no Referer to the next site.
func guardPage(ctx *fasthttp.RequestCtx, policy string) {
	h := &ctx.Response.Header
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
}
