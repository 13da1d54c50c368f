package public

import (
	"log/slog"
	"slices"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/exchange"
	"shunt/api/jsonbody"
	"shunt/api/page"
	"shunt/api/qrorder"
	"shunt/api/turnstile"
	"shunt/engine"
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

// maxQRPixels is the largest side of a PNG that anybody may ask for.
const maxQRPixels = 2048

// serveSVG is GET /{code}.svg, with the parameters of package qrorder that an SVG can have.
func (q *QRCodes) serveSVG(ctx *fasthttp.RequestCtx, code []byte) {
	q.serve(ctx, code, qrorder.SVG, []string{"format", "size", "dpi"})
}

// servePNG is GET /{code}.png.
func (q *QRCodes) servePNG(ctx *fasthttp.RequestCtx, code []byte) {
	q.serve(ctx, code, qrorder.PNG, []string{"format"})
}

// orderOf reads the parameters of package qrorder but some. Other parameters are ignored, as they are in a redirect.
func orderOf(ctx *fasthttp.RequestCtx, f qrorder.Format, but []string) (*qrorder.Order, error) {
	o := qrorder.New()
	o.Format, o.MaxPixels = f, maxQRPixels
	var invalid engine.InvalidError
	for _, name := range qrorder.Names {
		values := ctx.QueryArgs().PeekMulti(name)
		switch {
		case len(values) == 0, slices.Contains(but, name):
		case len(values) > 1:
			invalid = append(invalid, jsonbody.FieldError(name, "duplicate", "must not be given twice"))
		default:
			invalid = jsonbody.AppendError(invalid, name, qrorder.Parameters[name](o, string(values[0])))
		}
	}
	if len(invalid) > 0 {
		return nil, invalid
	}
	return o, o.Check()
}

// serve answers with the QR code of a short address. It stays as it is as long as the link exists.
func (q *QRCodes) serve(ctx *fasthttp.RequestCtx, code []byte, f qrorder.Format, but []string) {
	link, found := q.peek(ctx, code)
	if !found {
		return
	}
	var picture []byte
	order, err := orderOf(ctx, f, but)
	if err == nil {
		picture, err = q.draw(q.key(ctx), q.pages.Domains.ShortURL(link.Domain, link.Code), order)
	}
	if err != nil {
		exchange.Fail(ctx, q.log, err)
		return
	}
	guardPage(ctx, page.AssetPolicy)
	h := &ctx.Response.Header
	h.Set("Cache-Control", "public, max-age=300")
	h.SetContentType(f.MediaType())
	ctx.Response.SetBodyRaw(picture)
}

// draw draws the code of an address for the caller of key, in turn with other QR codes and then with all costly work.
func (q *QRCodes) draw(key turnstile.Key, shortURL string, order *qrorder.Order) (picture []byte, err error) {
	err = q.Places.Do(key, func() error {
		return q.cores.Do(key, func() (err error) {
			picture, err = order.Draw(shortURL)
			return err
		})
	})
	return picture, err
}
