package links

import (
	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/exchange"
	"shunt/api/problem"
	"shunt/api/qrcode"
	"shunt/api/qrorder"
)

// MaxLogoBytes is the limit of the body of DrawQRCodeWithLogo.
const MaxLogoBytes = qrcode.MaxLogoBytes

// logoTypes are the media types of logos. What a file is, its first bytes say.
var logoTypes = []string{"image/png", "image/jpeg", "application/octet-stream"}

// DrawQRCode is GET /links/{code}/qr.
func (l *Calls) DrawQRCode(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	return l.drawQRCode(ctx, caller, nil)
}

// DrawQRCodeWithLogo is POST /links/{code}/qr. The body is the logo, which is kept nowhere.
func (l *Calls) DrawQRCodeWithLogo(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	body := exchange.BodyOf(ctx)
	if !body.Is(logoTypes...) {
		return problem.New(problem.MediaType, "Content-Type must be image/png or image/jpeg, and the body the logo")
	}
	return l.drawQRCode(ctx, caller, append([]byte{}, body.Text...)) // not nil
}

func (l *Calls) drawQRCode(ctx *fasthttp.RequestCtx, caller account.Caller, logo []byte) error {
	order := qrorder.New()
	whose, err := l.Ops.ParseQRCode(caller, ctx.QueryArgs(), order)
	if err != nil {
		return err
	}
	code, err := codeAsked(ctx)
	if err != nil {
		return err
	}
	picture, err := l.Ops.QRCode(caller, code, whose, order, logo)
	if err != nil {
		return err
	}
	return exchange.Write(ctx, fasthttp.StatusOK, order.Format.MediaType(), picture)
}
