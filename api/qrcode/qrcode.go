package qrcode

import (
	"fmt"
	"image/color"
	"math"

	"github.com/boombuler/barcode"
	"github.com/boombuler/barcode/qr"
)

// QuietModules is the width of the margin that scanners need (ISO/IEC 18004, 5.3.8).
const QuietModules = 4

// A Level says how much of a code may be unreadable.
type Level uint8

// The levels: some 7, 15, 25 and 30 %.
const (
	L = Level(qr.L)
	M = Level(qr.M)
	Q = Level(qr.Q)
	H = Level(qr.H)
)

// A Style says how a code looks.
type Style struct {
	Color, Background Color
	Margin            int // modules
	Level             Level
	Logo              *Logo // nil: none. It needs the level Q or H
}

// Usual is the style of a code of which nothing is asked for.
var Usual = Style{Color: Black, Background: White, Margin: QuietModules, Level: M}

// A Code holds the modules of a QR code with its margin.
type Code struct {
	modules barcode.Barcode
	style   Style
	width   int // in modules, margin included
	logo    square
}

// Encode returns the code of text in a style.
func Encode(text string, s Style) (Code, error) {
	modules, err := qr.Encode(text, qr.ErrorCorrectionLevel(s.Level), qr.Auto)
	if err != nil {
		return Code{}, fmt.Errorf("encoding a QR code: %w", err)
	}
	q := Code{modules: modules, style: s, width: modules.Bounds().Dx() + 2*s.Margin}
	q.logo = q.logoSquare()
	return q, nil
}

// MinPixels is the width of the smallest PNG of q: one pixel a module.
func (q Code) MinPixels() int { return q.width }

// mmPerInch is the number of millimetres in an inch.
const mmPerInch = 25.4

// Pixels returns how many pixels a side of mm has at dpi.
func Pixels(mm float64, dpi int) int { return int(math.Round(mm / mmPerInch * float64(dpi))) }

// black reports whether a module is drawn. Those of the margin and below the logo are not.
func (q Code) black(x, y int) bool {
	if q.logo.has(x, y) {
		return false
	}
	x, y = x-q.style.Margin, y-q.style.Margin
	inside := q.width - 2*q.style.Margin
	return x >= 0 && y >= 0 && x < inside && y < inside && q.modules.At(x, y) == color.Black
}

// runs calls draw for each run of n drawn modules of a row, which begins at x.
func (q Code) runs(draw func(x, y, n int)) {
	for y := range q.width {
		for x := 0; x < q.width; x++ {
			start := x
			for q.black(x, y) {
				x++
			}
			if x > start {
				draw(start, y, x-start)
			}
		}
	}
}
