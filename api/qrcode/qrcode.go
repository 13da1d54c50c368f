package qrcode

import (
	"fmt"
	"image/color"

	"github.com/boombuler/barcode"
	"github.com/boombuler/barcode/qr"
)

// quietModules is the width of the white margin that scanners need (ISO/IEC 18004, 5.3.8).
const quietModules = 4

// A Code holds the modules of a QR code with its margin.
type Code struct {
	modules barcode.Barcode
	width   int // in modules, margin included
}

// Encode returns the code of text at level M: 15 % of it may be unreadable.
func Encode(text string) (Code, error) {
	modules, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return Code{}, fmt.Errorf("encoding a QR code: %w", err)
	}
	return Code{modules, modules.Bounds().Dx() + 2*quietModules}, nil
}

// MinPixels is the width of the smallest PNG of q: one pixel a module.
func (q Code) MinPixels() int { return q.width }

// black reports whether a module is black. Those of the margin are not.
func (q Code) black(x, y int) bool {
	x, y = x-quietModules, y-quietModules
	inside := q.width - 2*quietModules
	return x >= 0 && y >= 0 && x < inside && y < inside && q.modules.At(x, y) == color.Black
}

// SVG draws q as a path of runs of black modules, one unit a module.
func (q Code) SVG() []byte {
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
