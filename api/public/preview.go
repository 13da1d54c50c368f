package public

import (
	"errors"
	"log/slog"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/exchange"
	"shunt/api/preview"
	"shunt/api/problem"
	"shunt/api/redirect"
	"shunt/api/turnstile"
	"shunt/engine"
)

// Limits of previews, which read the store: a preview takes about 10 µs, or a few ms from a disk.
// From a disk 1,024 waiting ones take 0.5 s.
const (
	maxPreviews        = 16
	maxPreviewsCaller  = 64 // of one network, waiting ones included
	maxPreviewsWaiting = 1024
	previewPatience    = 5 * time.Second
)

// Previews serves the pages that show where a link leads.
type Previews struct {
	*peeker
	engine *engine.Engine
	log    *slog.Logger
	Places *turnstile.Turnstile // reads of the store
}

func newPreviews(p *peeker, e *engine.Engine, log *slog.Logger) *Previews {
	return &Previews{p, e, log, turnstile.New(turnstile.Limits{
		Places: maxPreviews, PerCaller: maxPreviewsCaller, Waiting: maxPreviewsWaiting, Patience: previewPatience,
	})}
}

// serve is GET /{code}+: where the link leads and since when it exists.
func (p *Previews) serve(ctx *fasthttp.RequestCtx, code []byte) {
	link, found := p.peek(ctx, code)
	if !found {
		return
	}
	if link.Locked {
		ctx.SetStatusCode(problem.Locked.Status)
		ctx.Response.Header.Set(fasthttp.HeaderWWWAuthenticate, cookieChallenge)
		ctx.Response.Header.Set("Cache-Control", "no-store")
		p.pages.writeOnce(ctx, p.pages.in(ctx).AskAt(string(engine.AppendASCII(nil, []byte("/"+link.Code)))))
		return
	}
	created, err := p.createdAt(p.key(ctx), link.Key, link.ID)
	switch {
	case errors.Is(err, engine.ErrNotFound): // deleted since peek found it
		p.pages.Answer(ctx, redirect.UnknownCode)
	case err != nil:
		exchange.Fail(ctx, p.log, err)
	default:
		ctx.Response.Header.Set("Cache-Control", "no-store")
		p.pages.writeOnce(ctx, p.pages.in(ctx).HTML(preview.Title, preview.Body(link, created)))
	}
}

func (p *Previews) createdAt(key turnstile.Key, of engine.Key, id uint64) (at time.Time, err error) {
	err = p.Places.Do(key, func() (err error) {
		var made uint64
		if made, at, err = p.engine.Made(of); err == nil && made != id {
			err = engine.ErrNotFound
		}
		return err
	})
	return at, err
}
