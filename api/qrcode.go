package api

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/jsonbody"
	"shunt/api/page"
	"shunt/api/qrcode"
	"shunt/api/redirect"
	"shunt/api/turnstile"
)

// Limits of QR codes. One takes 1 to 3 ms of a core, and anybody may ask for one. 64 waiting ones
// take 0.2 s on one core; a page in a browser requests 6 at a time. A cache would not help: there
// are 1,985 sizes of every code.
const (
	maxQRCodesWaiting = 64
	maxQRCodesCaller  = 16 // of one network, those that wait included
	qrCodePatience    = 5 * time.Second
)

func newQRCodes() *turnstile.Turnstile {
	return turnstile.New(turnstile.Limits{
		Places: turnstile.HalfTheCores(), PerCaller: maxQRCodesCaller, Waiting: maxQRCodesWaiting, Patience: qrCodePatience,
	})
}

// The width of a PNG, in pixels.
const (
	minQRPixels     = 64
	maxQRPixels     = 2048
	defaultQRPixels = 512
)

// serveSVG is GET /{code}.svg.
func (s *Server) serveSVG(ctx *fasthttp.RequestCtx, code []byte) {
	s.serveQR(ctx, code, "image/svg+xml", func(q qrcode.Code) ([]byte, error) { return q.SVG(), nil })
}

// servePNG is GET /{code}.png?size=.
func (s *Server) servePNG(ctx *fasthttp.RequestCtx, code []byte) {
	s.serveQR(ctx, code, "image/png", func(q qrcode.Code) ([]byte, error) {
		pixels, err := sizeAsked(ctx)
		switch {
		case err != nil:
			return nil, err
		case pixels < q.MinPixels():
			return nil, jsonbody.FieldError("size", "range", fmt.Sprintf("must be at least %d for so long an address", q.MinPixels()))
		}
		return q.PNG(pixels), nil
	})
}

// sizeAsked returns the parameter size. Others are ignored, as they are after a code.
func sizeAsked(ctx *fasthttp.RequestCtx) (int, error) {
	sizes := ctx.QueryArgs().PeekMulti("size")
	if len(sizes) == 0 {
		return defaultQRPixels, nil
	}
	pixels, err := strconv.Atoi(string(sizes[0]))
	if len(sizes) > 1 || err != nil || pixels < minQRPixels || pixels > maxQRPixels || strings.HasPrefix(string(sizes[0]), "+") {
		return 0, jsonbody.FieldError("size", "range", fmt.Sprintf("must be one number from %d to %d", minQRPixels, maxQRPixels))
	}
	return pixels, nil
}

// serveQR answers with the QR code of a short address, drawn by draw. The code never changes as
// long as the link exists.
func (s *Server) serveQR(ctx *fasthttp.RequestCtx, code []byte, contentType string, draw func(qrcode.Code) ([]byte, error)) {
	if _, o := s.peek(ctx, code); o != redirect.Redirected {
		s.pages.answer(ctx, o)
		return
	}
	image, err := s.drawQR(strangerKey(ctx, &s.proxies), s.baseURL+"/"+string(code), draw)
	if err != nil {
		fail(ctx, s.log, err)
		return
	}
	guardPage(ctx, page.AssetPolicy)
	h := &ctx.Response.Header
	h.Set("Cache-Control", "public, max-age=300")
	h.SetContentType(contentType)
	ctx.Response.SetBodyRaw(image)
}

// drawQR draws for the caller that key names, in turn with other QR codes and then with all costly
// work.
func (s *Server) drawQR(key turnstile.Key, text string, draw func(qrcode.Code) ([]byte, error)) (image []byte, err error) {
	err = s.qrCodes.Do(key, func() error {
		return s.cores.Do(key, func() error {
			q, err := qrcode.Encode(text)
			if err == nil {
				image, err = draw(q)
			}
			return err
		})
	})
	return image, err
}
