package public

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/exchange"
	"shunt/api/jsonbody"
	"shunt/api/page"
	"shunt/api/qrcode"
	"shunt/api/turnstile"
)

// Limits of QR codes. One takes 1 to 3 ms of a core, and anybody may ask for one. 64 waiting ones
// take 0.2 s on one core; a page in a browser requests 6 at a time. A cache would not help: there
// are 1,985 sizes of every code.
const (
	maxQRCodesWaiting = 64
	maxQRCodesCaller  = 16 // of one network, waiting ones included
	qrCodePatience    = 5 * time.Second
)

// QRCodes draws the QR codes of short addresses.
type QRCodes struct {
	*peeker
	log    *slog.Logger
	Places *turnstile.Turnstile
	cores  *turnstile.Turnstile // for all work that keeps a core busy
}

func newQRCodes(p *peeker, log *slog.Logger, cores *turnstile.Turnstile) *QRCodes {
	places := turnstile.New(turnstile.Limits{
		Places: turnstile.HalfTheCores(), PerCaller: maxQRCodesCaller, Waiting: maxQRCodesWaiting, Patience: qrCodePatience,
	})
	return &QRCodes{p, log, places, cores}
}

// The width of a PNG, in pixels.
const (
	minQRPixels     = 64
	maxQRPixels     = 2048
	defaultQRPixels = 512
)

// serveSVG is GET /{code}.svg.
func (q *QRCodes) serveSVG(ctx *fasthttp.RequestCtx, code []byte) {
	q.serve(ctx, code, "image/svg+xml", func(c qrcode.Code) ([]byte, error) { return c.SVG(), nil })
}

// servePNG is GET /{code}.png?size=.
func (q *QRCodes) servePNG(ctx *fasthttp.RequestCtx, code []byte) {
	q.serve(ctx, code, "image/png", func(c qrcode.Code) ([]byte, error) {
		pixels, err := sizeAsked(ctx)
		switch {
		case err != nil:
			return nil, err
		case pixels < c.MinPixels():
			return nil, jsonbody.FieldError("size", "range", fmt.Sprintf("must be at least %d for an address of this length", c.MinPixels()))
		}
		return c.PNG(pixels), nil
	})
}

// sizeAsked returns the parameter size. Other parameters are ignored, as they are in a redirect.
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

// serve answers with the QR code of a short address, drawn by draw. The code never changes as
// long as the link exists.
func (q *QRCodes) serve(ctx *fasthttp.RequestCtx, code []byte, contentType string, draw func(qrcode.Code) ([]byte, error)) {
	link, found := q.peek(ctx, code)
	if !found {
		return
	}
	image, err := q.draw(q.key(ctx), q.pages.Domains.ShortURL(link.Domain, link.Code), draw)
	if err != nil {
		exchange.Fail(ctx, q.log, err)
		return
	}
	guardPage(ctx, page.AssetPolicy)
	h := &ctx.Response.Header
	h.Set("Cache-Control", "public, max-age=300")
	h.SetContentType(contentType)
	ctx.Response.SetBodyRaw(image)
}

// draw calls draw with the code of text for the caller of key, in turn with other QR codes and then
// with all costly work.
func (q *QRCodes) draw(key turnstile.Key, text string, draw func(qrcode.Code) ([]byte, error)) (image []byte, err error) {
	err = q.Places.Do(key, func() error {
		return q.cores.Do(key, func() error {
			c, err := qrcode.Encode(text)
			if err == nil {
				image, err = draw(c)
			}
			return err
		})
	})
	return image, err
}
