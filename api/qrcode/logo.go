package qrcode

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
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
	ErrLogoBroken = errors.New("is a damaged picture")
)

// A Logo is a picture that stands in the middle of a code.
type Logo struct{ picture *image.NRGBA }

// ReadLogo decodes a PNG or JPEG file. Nothing of the file but its pixels is kept. The size of the picture is looked at
// before memory is taken for it.
func ReadLogo(file []byte) (*Logo, error) {
	decodeConfig, decode := png.DecodeConfig, png.Decode
	switch {
	case bytes.HasPrefix(file, []byte(pngSignature)):
	case bytes.HasPrefix(file, []byte{0xff, 0xd8}):
		decodeConfig, decode = jpeg.DecodeConfig, jpeg.Decode
	default:
		return nil, ErrLogoType
	}
	c, err := decodeConfig(bytes.NewReader(file))
	switch {
	case err != nil, c.Width < 1, c.Height < 1:
		return nil, ErrLogoBroken
	case c.Width > maxLogoPixels/c.Height:
		return nil, ErrLogoPixels
	}
	picture, err := decode(bytes.NewReader(file))
	if err != nil {
		return nil, ErrLogoBroken
	}
	b := picture.Bounds()
	w, h := fit(b.Dx(), b.Dy(), min(keptLogoSide, max(b.Dx(), b.Dy())))
	return &Logo{scaled(picture, w, h)}, nil
}

// fit returns the largest size of the shape of width × height that is at most side wide and high, and at least a pixel.
func fit(width, height, side int) (w, h int) {
	if width >= height {
		return side, max(1, height*side/width)
	}
	return max(1, width*side/height), side
}

// scaled returns a picture of w × h pixels, each of which is the mean of those of p that it covers; of a larger
// picture, the nearest.
func scaled(p image.Image, w, h int) *image.NRGBA {
	from, to := p.Bounds(), image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			to.SetNRGBA(x, y, meanOf(p, image.Rect(
				from.Min.X+x*from.Dx()/w, from.Min.Y+y*from.Dy()/h,
				from.Min.X+(x+1)*from.Dx()/w, from.Min.Y+(y+1)*from.Dy()/h,
			)))
		}
	}
	return to
}

// meanOf returns the mean color of a part of p; of an empty part, that of its first pixel.
func meanOf(p image.Image, part image.Rectangle) color.NRGBA {
	part.Max.X, part.Max.Y = max(part.Max.X, part.Min.X+1), max(part.Max.Y, part.Min.Y+1)
	var r, g, b, a, n uint64
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			pr, pg, pb, pa := p.At(x, y).RGBA() // multiplied by pa, as a mean needs it
			r, g, b, a, n = r+uint64(pr), g+uint64(pg), b+uint64(pb), a+uint64(pa), n+1
		}
	}
	if a == 0 {
		return color.NRGBA{}
	}
	return color.NRGBA{uint8(r * 0xff / a), uint8(g * 0xff / a), uint8(b * 0xff / a), uint8(a / n >> 8)}
}

// png returns the logo as a PNG file.
func (l *Logo) png() []byte {
	var b bytes.Buffer
	_ = png.Encode(&b, l.picture) // a bytes.Buffer never fails, and the size is valid
	return b.Bytes()
}

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
