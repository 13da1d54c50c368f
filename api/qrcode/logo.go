package qrcode

import (
	"errors"
	"fmt"
	"image"

	"shunt/api/picture"
)

// Limits of a logo. A picture of 2,000,000 pixels takes some 32 MB while it is decoded.
const (
	MaxLogoBytes  = 1 << 20
	maxLogoPixels = 2_000_000
	keptLogoSide  = 512 // pixels: it is made that small at once
)

// Errors of logos.
var (
	ErrLogoType   = errors.New("must be a PNG or JPEG file")
	ErrLogoPixels = fmt.Errorf("must have at most %d pixels in all", maxLogoPixels)
	ErrLogoBroken = picture.ErrBroken
)

// A Logo is a picture that stands in the middle of a code.
type Logo struct{ picture *image.NRGBA }

// ReadLogo decodes a PNG or JPEG file. Nothing of the file but its pixels is kept.
func ReadLogo(file []byte) (*Logo, error) {
	p, err := picture.Decode(file, maxLogoPixels, picture.PNG, picture.JPEG)
	switch err {
	case nil:
	case picture.ErrType:
		return nil, ErrLogoType
	case picture.ErrPixels:
		return nil, ErrLogoPixels
	default:
		return nil, err
	}
	b := p.Bounds()
	w, h := picture.Fit(b.Dx(), b.Dy(), min(keptLogoSide, max(b.Dx(), b.Dy())))
	return &Logo{picture.Scaled(p, w, h)}, nil
}

// png returns the logo as a PNG file.
func (l *Logo) png() []byte { return picture.EncodePNG(l.picture) }

// A square is a part of a code, in modules.
type square struct{ at, side int }

// has reports whether a module is in s, whose place is the same in both directions.
func (s square) has(x, y int) bool {
	return x >= s.at && y >= s.at && x < s.at+s.side && y < s.at+s.side
}

// The share of a code's side that is left to a logo, in percent: see "Decisions" in doc.go.
const (
	logoShareQ = 18
	logoShareH = 22
)

// logoSquare returns the modules in the middle that are left to the logo; none without one. The side is odd, as that of
// each code is, so that the square covers whole modules.
func (q Code) logoSquare() square {
	if q.style.Logo == nil {
		return square{}
	}
	inside, share := q.width-2*q.style.Margin, logoShareQ
	if q.style.Level == H {
		share = logoShareH
	}
	side := (inside*share/100 - 1) | 1
	return square{(q.width - side) / 2, side}
}

// logoRoom is how much of the square is left free at each side of the logo, in modules.
const logoRoom = 0.5

// logoPlace returns where a logo is drawn: its corner and its size, in modules.
func (q Code) logoPlace() (x, y, w, h float64) {
	b, room := q.style.Logo.picture.Bounds(), float64(q.logoSquare().side)-2*logoRoom
	scale := room / float64(max(b.Dx(), b.Dy()))
	w, h = float64(b.Dx())*scale, float64(b.Dy())*scale
	return (float64(q.width) - w) / 2, (float64(q.width) - h) / 2, w, h
}
