package qr

import (
	"bytes"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/dashboard/visit"
	"shunt/api/jsonbody"
	"shunt/api/ops"
	"shunt/api/qrcode"
	"shunt/api/qrorder"
	"shunt/engine"
)

// Row is the path of the page, and of the form with a logo.
const Row = visit.Root + "link/{code}/qr"

// MaxFormBytes is the limit of the form with a logo, and FormScope what its sender needs.
const (
	MaxFormBytes = qrcode.MaxLogoBytes + 64<<10
	FormScope    = account.LinksRead
)

// pngPixels is the side of a PNG whose size on paper is not asked for.
const pngPixels = 1024

// Page is GET /_/link/{code}/qr.
func Page(r *visit.Request) error {
	return show(r, fasthttp.StatusOK, r.Whose(), readLook(r.Query), nil)
}

// Picture returns GET /_/link/{code}/qr.svg and the like.
func Picture(f qrorder.Format) func(*visit.Request) error {
	return func(r *visit.Request) error {
		picture, err := draw(r, r.Whose(), readLook(r.Query), f, nil)
		if err == nil {
			answer(r, f, picture)
		}
		return err
	}
}

// SendLogo is POST /_/link/{code}/qr: it answers with a picture as a file.
func SendLogo(r *visit.Request) error {
	w, l, f := r.SentWhose(), readLook(r.Sent), qrorder.Format(r.Sent("format"))
	logo := r.File()
	if len(logo) == 0 {
		return show(r, fasthttp.StatusUnprocessableEntity, w, l, jsonbody.FieldError("logo", "required", "choose a picture"))
	}
	picture, err := draw(r, w, l, f, logo)
	if err != nil {
		return show(r, visit.StatusOf(err), w, l, err)
	}
	code, err := ops.ParseCode(r.Segment("code"))
	if err != nil {
		return err
	}
	answer(r, f, picture)
	r.Ctx.Response.Header.Set(fasthttp.HeaderContentDisposition, `attachment; filename*=UTF-8''`+fileName(code, f))
	return nil
}

// draw draws the code of the link that the path names. logo: none is nil.
func draw(r *visit.Request, w visit.Whose, l look, f qrorder.Format, logo []byte) ([]byte, error) {
	order := qrorder.New()
	order.DefaultPixels = pngPixels
	whose, err := r.Calls.ParseQRCode(r.Caller, visit.Parameters(w.Pairs(append(l.pairs(), "format", string(f))...)...), order)
	if err != nil {
		return nil, err
	}
	code, err := ops.ParseCode(r.Segment("code"))
	if err != nil {
		return nil, err
	}
	return r.Calls.QRCode(r.Caller, code, whose, order, bytes.Clone(logo))
}

func answer(r *visit.Request, f qrorder.Format, picture []byte) {
	r.Ctx.Response.Header.SetContentType(f.MediaType())
	r.Ctx.Response.SetBodyRaw(picture)
}

// show shows the page with a look. refused says why a picture with a logo was not drawn; nil: none was asked for.
func show(r *visit.Request, status int, w visit.Whose, l look, refused error) error {
	guard, err := r.Asked(w)
	if err != nil {
		return err
	}
	code, err := ops.ParseCode(r.Segment("code"))
	if err != nil {
		return err
	}
	link, err := r.Calls.Read(r.Caller, code, guard)
	if err != nil {
		return err
	}
	v := view{Whose: w.In(link.Host), Link: link, Idle: link.State != engine.StateActive}
	_, wrong := draw(r, w, l, qrorder.PNG, nil) // which can be refused where others are not
	if refused == nil && wrong != nil {
		refused, status = wrong, visit.StatusOf(wrong)
	}
	errors := map[string]string{}
	if refused != nil {
		at, general, ok := visit.FieldErrors(refused, errorNames...)
		if !ok {
			return refused
		}
		errors, v.Error = visit.Sentences(at), visit.Sentence(general)
	}
	if v.fill(l, errors); wrong == nil {
		v.offer(l)
	}
	return r.Show(status, "link-qr", "QR code of "+code, &v)
}
