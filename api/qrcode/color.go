package qrcode

import (
	"encoding/hex"
	"math"
	"strings"
)

// A Color is that of the modules or of what is behind them.
type Color struct {
	R, G, B uint8
	None    bool // nothing is drawn: what lies below the picture is seen
}

// Colors of a code by default.
var (
	Black = Color{}
	White = Color{R: 255, G: 255, B: 255}
)

// noColor is how None is written.
const noColor = "transparent"

// ParseColor reads #rrggbb or #rgb, with or without the #, or the word transparent.
func ParseColor(text string) (c Color, ok bool) {
	if text == noColor {
		return Color{None: true}, true
	}
	digits := strings.TrimPrefix(text, "#")
	if len(digits) == 3 {
		digits = string([]byte{digits[0], digits[0], digits[1], digits[1], digits[2], digits[2]})
	}
	b, err := hex.DecodeString(digits)
	if err != nil || len(b) != 3 {
		return Color{}, false
	}
	return Color{R: b[0], G: b[1], B: b[2]}, true
}

// String returns c as ParseColor reads it.
func (c Color) String() string {
	if c.None {
		return noColor
	}
	return "#" + hex.EncodeToString([]byte{c.R, c.G, c.B})
}

// luminance is the relative luminance of c, 0 to 1 (WCAG 2.2).
func (c Color) luminance() float64 {
	linear := func(v uint8) float64 {
		s := float64(v) / 255
		if s <= 0.04045 {
			return s / 12.92
		}
		return math.Pow((s+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
}

// MinContrast is the least contrast at which a code is drawn. See "Decisions" in doc.go.
const MinContrast = 3

// Contrast returns by how much light is lighter than dark, as the contrast ratio of WCAG 2.2: 21 for black on white;
// below 1 if light is the darker of both. A background of None counts as white, because that is what most codes are put
// on.
func Contrast(dark, light Color) float64 {
	if light.None {
		light = White
	}
	return (light.luminance() + 0.05) / (dark.luminance() + 0.05)
}
