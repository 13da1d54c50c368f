package visit

import (
	"bytes"
	"cmp"
	"log/slog"
	"strings"
	"time"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/page"
	"shunt/api/problem"
	"shunt/api/words"
)

// New returns a dashboard with the pages of c, which Parse has returned. It starts no goroutine.
func New(o Options, c Content) *Dashboard {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Languages == nil {
		o.Languages = words.New()
	}
	d := &Dashboard{Options: o, content: c, views: c.views.with(c, o.Languages), keep: newKeep(o.Now), zones: newZones()}
	d.routes = compressed(d.router().Handler)
	return d
}

// Serve answers a request whose path begins with Root.
func (d *Dashboard) Serve(ctx *fasthttp.RequestCtx) { d.routes(ctx) }

// maxCompressed is the size of an answer above which compression, which takes no turn, would keep a core busy for long.
const maxCompressed = 1 << 20

// compressed compresses the answers of handle, except for large ones and for streams: their events must not wait in a
// buffer, and their reads must stay on the goroutine of the connection.
func compressed(handle fasthttp.RequestHandler) fasthttp.RequestHandler {
	compress := fasthttp.CompressHandlerBrotliLevel(func(*fasthttp.RequestCtx) {}, page.BrotliLevel, fasthttp.CompressDefaultCompression)
	return func(ctx *fasthttp.RequestCtx) {
		if handle(ctx); !ctx.Response.IsBodyStream() && len(ctx.Response.Body()) <= maxCompressed {
			compress(ctx)
		}
	}
}

// router returns the router of the pages. It corrects no path: a wrong one is a 404.
func (d *Dashboard) router() *router.Router {
	r := router.New()
	r.RedirectTrailingSlash = false
	r.RedirectFixedPath = false
	r.HandleOPTIONS = false
	r.NotFound = d.handler(&Row{Path: "none", Who: Anybody, Handle: (*Request).Missing})
	r.MethodNotAllowed = d.handler(&Row{Path: "none", Who: Anybody, Handle: (*Request).wrongMethod})
	for i := range d.content.Rows {
		p := &d.content.Rows[i]
		h := d.handler(p)
		r.Handle(p.Method, p.Path, h)
		if p.Method == fasthttp.MethodGet {
			r.Handle(fasthttp.MethodHead, p.Path, h)
		}
	}
	for path, asset := range d.views.assets {
		r.GET(path, asset.serve)
		r.HEAD(path, asset.serve)
	}
	return r
}

// handler returns a handler that calls p, shows its errors as pages, and measures and counts its
// requests.
func (d *Dashboard) handler(p *Row) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		start := time.Now()
		guard(ctx)
		r := &Request{Dashboard: d, Ctx: ctx, Row: p}
		if err := r.serve(); err != nil {
			r.fail(err)
		}
		d.Answered(p.Path, ctx.Method(), ctx.Response.StatusCode(), time.Since(start))
	}
}

// serve answers the request if its sender may make it.
func (r *Request) serve() error {
	if err := r.Sessions.Secure(r.Ctx); err != nil {
		return err
	}
	if err := r.identify(); err != nil {
		return err
	}
	if err := r.Sessions.Allow(r.Ctx, r.Caller, r.Row.Who == Creating); err != nil {
		return err
	}
	if r.Posts() {
		if err := r.Sessions.Own(r.Ctx); err != nil {
			return err
		}
		if r.Row.ChangesAccounts() {
			if err := r.Sessions.MayChangeAccounts(r.Ctx); err != nil {
				return err
			}
		}
		if err := r.readForm(); err != nil {
			return err
		}
	}
	switch {
	case r.Row.Who != Anybody && !r.SignedIn():
		return r.content.AskToSignIn(r)
	case r.Row.Who == Admins && r.Caller.User.Role != account.RoleAdmin:
		return r.Missing()
	case (r.Row.Who == Changing || r.Row.Who == Creating) && !r.Edits():
		return r.Missing()
	}
	return r.Row.Handle(r)
}

// maxFields bounds the fields of a form. A field takes more than 100 bytes of memory, which are kept
// for later requests: 8 MiB of empty fields would take more than half a gigabyte.
const maxFields = 256

var errTooManyFields = problem.New(problem.BadRequest, "the form has more than %d fields", maxFields)

// readForm reads a form that has files, and bounds the fields of any other.
func (r *Request) readForm() error {
	if r.Uploads() {
		return r.readParts()
	}
	if bytes.Count(r.Ctx.PostBody(), []byte{'&'}) >= maxFields {
		return errTooManyFields
	}
	return nil
}

// wrongMethod answers a request whose method the page does not have. The router has set Allow, with
// OPTIONS, which pages do not have either.
func (r *Request) wrongMethod() error {
	allow := string(r.Ctx.Response.Header.Peek("Allow"))
	r.Ctx.Response.Header.Set("Allow", strings.ReplaceAll(strings.Replace(allow, "OPTIONS, ", "", 1), ", OPTIONS", ""))
	return problem.New(problem.Method, "this page cannot be asked for with the method %s", r.Ctx.Method())
}
