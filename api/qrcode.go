package api

import (
	"fmt"
	"image/color"
	"strconv"
	"strings"
	"time"

	"github.com/boombuler/barcode"
	"github.com/boombuler/barcode/qr"
	"github.com/valyala/fasthttp"

	"shunt/api/page"
	"shunt/api/redirect"
	"shunt/api/turnstile"
)

// Limits of QR codes. One takes 1 to 3 ms of a core, and anybody may ask for one. 64 that wait take
// 0.2 s on one core; a page in a browser asks for 6 at a time. A cache would help nobody: there are
// 1,985 sizes of every code.
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

// quietModules is the white margin that readers need (ISO/IEC 18004, 5.3.8).
const quietModules = 4

// A qrCode is the modules of a QR code with its margin.
type qrCode struct {
	code  barcode.Barcode
	width int // modules, margin included
}

// newQRCode returns the code of text at level M: 15 % of it may be unreadable.
func newQRCode(text string) (qrCode, error) {
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return qrCode{}, fmt.Errorf("encoding a QR code: %w", err)
	}
	return qrCode{code, code.Bounds().Dx() + 2*quietModules}, nil
}

// black tells of a module whether it is; those of the margin are not.
func (q qrCode) black(x, y int) bool {
	x, y = x-quietModules, y-quietModules
	inside := q.width - 2*quietModules
	return x >= 0 && y >= 0 && x < inside && y < inside && q.code.At(x, y) == color.Black
}

// svg draws a path of runs, a module a unit.
func (q qrCode) svg() []byte {
	b := fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" shape-rendering="crispEdges">`+
		`<path fill="#fff" d="M0 0h%dv%[1]dH0z"/><path d="`, q.width, q.width, q.width)
	for y := range q.width {
		for x := 0; x < q.width; x++ {
			start := x
			for q.black(x, y) {
				x++
			}
			if x > start {
				b = fmt.Appendf(b, "M%d %dh%dv1h-%dz", start, y, x-start, x-start)
			}
		}
	}
	return append(b, "\"/></svg>\n"...)
}

// serveSVG is GET /{code}.svg.
func (s *Server) serveSVG(ctx *fasthttp.RequestCtx, code []byte) {
	s.serveQR(ctx, code, "image/svg+xml", func(q qrCode) ([]byte, error) { return q.svg(), nil })
}

// servePNG is GET /{code}.png?size=.
func (s *Server) servePNG(ctx *fasthttp.RequestCtx, code []byte) {
	s.serveQR(ctx, code, "image/png", func(q qrCode) ([]byte, error) {
		pixels, err := sizeAsked(ctx)
		switch {
		case err != nil:
			return nil, err
		case pixels < q.width:
			return nil, fieldError("size", "range", fmt.Sprintf("must be at least %d for so long an address", q.width))
		}
		return q.png(pixels), nil
	})
}

// sizeAsked returns the parameter size. Others are ignored, as they are behind a code.
func sizeAsked(ctx *fasthttp.RequestCtx) (int, error) {
	sizes := ctx.QueryArgs().PeekMulti("size")
	if len(sizes) == 0 {
		return defaultQRPixels, nil
	}
	pixels, err := strconv.Atoi(string(sizes[0]))
	if len(sizes) > 1 || err != nil || pixels < minQRPixels || pixels > maxQRPixels || strings.HasPrefix(string(sizes[0]), "+") {
		return 0, fieldError("size", "range", fmt.Sprintf("must be one number from %d to %d", minQRPixels, maxQRPixels))
	}
	return pixels, nil
}

// serveQR answers with the QR code of a short address, as draw draws it. It never changes as long as the link is there.
func (s *Server) serveQR(ctx *fasthttp.RequestCtx, code []byte, contentType string, draw func(qrCode) ([]byte, error)) {
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

// drawQR draws for whom key names, in turn with other QR codes and then with all that is costly.
func (s *Server) drawQR(key turnstile.Key, text string, draw func(qrCode) ([]byte, error)) (image []byte, err error) {
	err = s.qrCodes.Do(key, func() error {
		return s.cores.Do(key, func() error {
			q, err := newQRCode(text)
			if err == nil {
				image, err = draw(q)
			}
			return err
		})
	})
	return image, err
}
