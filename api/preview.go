package api

import (
	"errors"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/preview"
	"shunt/api/redirect"
	"shunt/api/turnstile"
	"shunt/engine"
)

// Limits of previews, which read the store: a preview takes some 10 µs, or a few ms from a disk.
// Then 1,024 waiting ones take 0.5 s.
const (
	maxPreviews        = 16
	maxPreviewsCaller  = 64 // of one network, those that wait included
	maxPreviewsWaiting = 1024
	previewPatience    = 5 * time.Second
)

func newPreviews() *turnstile.Turnstile {
	return turnstile.New(turnstile.Limits{
		Places: maxPreviews, PerCaller: maxPreviewsCaller, Waiting: maxPreviewsWaiting, Patience: previewPatience,
	})
}

// servePreview is GET /{code}+: where the link leads and since when it exists.
func (s *Server) servePreview(ctx *fasthttp.RequestCtx, code []byte) {
	peeked, o := s.peek(ctx, code)
	if o != redirect.Redirected {
		s.pages.answer(ctx, o)
		return
	}
	created, err := s.createdAt(strangerKey(ctx, &s.proxies), string(code), peeked.ID)
	switch {
	case errors.Is(err, engine.ErrNotFound): // deleted since
		s.pages.answer(ctx, redirect.UnknownCode)
	case err != nil:
		fail(ctx, s.log, err)
	default:
		ctx.Response.Header.Set("Cache-Control", "no-store")
		writeHTML(ctx, s.pages.HTML(preview.Title, preview.Body(string(code), peeked, created)))
	}
}

func (s *Server) createdAt(key turnstile.Key, code string, id uint64) (at time.Time, err error) {
	err = s.previews.Do(key, func() (err error) {
		at, err = s.engine.CreatedAt(code, id)
		return err
	})
	return at, err
}
