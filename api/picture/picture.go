// Package picture decodes pictures that others have made, and makes them smaller. It looks at the size before it takes
// memory for the pixels, and keeps nothing of a file but these. It is a leaf: it imports none of our packages.
package picture

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
)

// Errors of Decode.
var (
	ErrType   = errors.New("is of another type")
	ErrPixels = errors.New("has too many pixels")
	ErrBroken = errors.New("is a damaged picture")
)

// A Type is a type of files.
type Type struct {
	signature string
	config    func(io.Reader) (image.Config, error)
	decode    func(io.Reader) (image.Image, error)
}

// The types. Of a GIF the first picture counts.
var (
	PNG  = Type{"\x89PNG\r\n\x1a\n", png.DecodeConfig, png.Decode}
	JPEG = Type{"\xff\xd8", jpeg.DecodeConfig, jpeg.Decode}
	GIF  = Type{"GIF8", gif.DecodeConfig, gif.Decode}
)

// A JPEG is made of scans, each of which goes through the whole picture: one of few bytes could keep a core busy for
// minutes. Progressive pictures have about ten.
const maxScans = 64

var scan = []byte{0xff, 0xda}

// Decode decodes a file of one of types, which its first bytes say, if it has at most maxPixels.
func Decode(file []byte, maxPixels int, types ...Type) (image.Image, error) {
	for _, t := range types {
		if !bytes.HasPrefix(file, []byte(t.signature)) {
			continue
		}
		c, err := t.config(bytes.NewReader(file))
		switch {
		case err != nil, c.Width < 1, c.Height < 1:
			return nil, ErrBroken
		case c.Width > maxPixels/c.Height:
			return nil, ErrPixels
		}
		if bytes.Count(file, scan) > maxScans {
			return nil, ErrBroken
		}
		p, err := t.decode(bytes.NewReader(file))
		if err != nil || p.Bounds().Empty() || p.Bounds().Dx() > c.Width || p.Bounds().Dy() > c.Height {
			return nil, ErrBroken
		}
		return p, nil
	}
	return nil, ErrType
}

// Fit returns the largest size of the shape of width × height that is at most side wide and high, and at least a pixel.
func Fit(width, height, side int) (w, h int) {
	if width >= height {
		return side, max(1, height*side/width)
	}
	return max(1, width*side/height), side
}

// Scaled returns a picture of w × h pixels, each of which is the mean of those of p that it covers; of a larger
// picture, the nearest.
func Scaled(p image.Image, w, h int) *image.NRGBA {
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

// EncodePNG returns p as a PNG file.
func EncodePNG(p image.Image) []byte {
	var b bytes.Buffer
	_ = png.Encode(&b, p) // a bytes.Buffer never fails, and the size is valid
	return b.Bytes()
}
