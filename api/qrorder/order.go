package qrorder

import (
	"errors"
	"fmt"

	"shunt/api/jsonbody"
	"shunt/api/qrcode"
	"shunt/api/redirect"
	"shunt/engine"
)

// A Format is that of a picture.
type Format string

// The formats.
const (
	SVG Format = "svg"
	PNG Format = "png"
	PDF Format = "pdf"
)

// Formats are all formats.
var Formats = []string{string(SVG), string(PNG), string(PDF)}

// MediaType returns the media type of a format.
func (f Format) MediaType() string {
	switch f {
	case PNG:
		return "image/png"
	case PDF:
		return "application/pdf"
	}
	return "image/svg+xml"
}

// Limits of a picture.
const (
	MinPixels   = 64
	MaxPixels   = 4096 // 35 cm at 300 dpi
	maxMargin   = 16   // modules
	minMM       = 5
	maxMM       = 1000
	minDPI      = 72
	maxDPI      = 2400
	defaultDPI  = 300
	defaultMM   = 50 // of a PDF, whose page has a size
	maxMMDigits = 3  // after the point
)

// An Order is what somebody asks for. Take it from New.
type Order struct {
	Format Format
	Style  qrcode.Style
	MM     float64 // the side of the picture, margin included; 0: none is asked for
	DPI    int     // 0: none is asked for
	Pixels int     // the side of a PNG; 0: none is asked for
	Bare   bool    // the address is the short address alone

	MaxPixels     int // the most that may be asked for
	DefaultPixels int // if neither Pixels nor MM is asked for

	levelled bool // a level is asked for
}

// New returns the order of somebody who asks for nothing in particular.
func New() *Order {
	return &Order{Format: SVG, Style: qrcode.Usual, MaxPixels: MaxPixels, DefaultPixels: 512}
}

// AddLogo adds a logo. Without a level, the order gets the highest.
func (o *Order) AddLogo(file []byte) error {
	if len(file) > qrcode.MaxLogoBytes {
		return jsonbody.FieldError("logo", "too_long", fmt.Sprintf("must be at most %d KiB", qrcode.MaxLogoBytes>>10))
	}
	logo, err := qrcode.ReadLogo(file)
	switch {
	case errors.Is(err, qrcode.ErrLogoPixels):
		return jsonbody.FieldError("logo", "range", err.Error())
	case err != nil:
		return jsonbody.FieldError("logo", "format", err.Error())
	}
	o.Style.Logo = logo
	if !o.levelled {
		o.Style.Level = qrcode.H
	}
	return nil
}

// Check returns what is wrong with o as a whole; nil: nothing.
func (o *Order) Check() error {
	var invalid engine.InvalidError
	s := &o.Style
	switch c := qrcode.Contrast(s.Color, s.Background); {
	case s.Color.None:
		invalid = append(invalid, jsonbody.FieldError("color", "format", "must be a color such as #1d3557"))
	case c < 1:
		invalid = append(invalid, jsonbody.FieldError("color", "contrast", "must be darker than the background, or it would not scan"))
	case c < qrcode.MinContrast:
		invalid = append(invalid, jsonbody.FieldError("color", "contrast",
			fmt.Sprintf("has a contrast of %.1f to the background; a code scans well from %d on", c, qrcode.MinContrast)))
	}
	if s.Logo != nil && s.Level < qrcode.Q {
		invalid = append(invalid, jsonbody.FieldError("level", codeConflict, "must be Q or H with a logo, which hides a part of the code"))
	}
	if o.Format == PNG {
		invalid = jsonbody.AppendError(invalid, "size", o.checkPixels())
	}
	if len(invalid) > 0 {
		return invalid
	}
	return nil
}

// codeConflict is the code of the error of a value that does not fit another one.
const codeConflict = "conflict"

// checkPixels returns what is wrong with the size of a PNG.
func (o *Order) checkPixels() error {
	switch n := o.side(); {
	case o.MM > 0 && o.Pixels > 0:
		return jsonbody.FieldError("size", codeConflict, "must not be given with mm: mm and dpi say how many pixels it has")
	case n > o.MaxPixels:
		return jsonbody.FieldError("mm", "range", fmt.Sprintf("makes a picture of %d pixels a side; at most %d are drawn, and SVG and PDF have no limit", n, o.MaxPixels))
	}
	return nil
}

// side returns how many pixels a side of a PNG has.
func (o *Order) side() int {
	switch {
	case o.Pixels > 0:
		return o.Pixels
	case o.MM > 0:
		return qrcode.Pixels(o.MM, o.density())
	}
	return o.DefaultPixels
}

// density returns the dpi of a picture whose size on paper is known.
func (o *Order) density() int {
	if o.DPI == 0 {
		return defaultDPI
	}
	return o.DPI
}

// Address returns the address in the code of a link.
func (o *Order) Address(shortURL string) string {
	if o.Bare {
		return shortURL
	}
	return shortURL + "?" + redirect.ScanMark
}

// Draw returns the code of a link as a picture. It takes some ms of a core, more with a logo. Check comes before.
func (o *Order) Draw(shortURL string) ([]byte, error) {
	c, err := qrcode.Encode(o.Address(shortURL), o.Style)
	if err != nil {
		return nil, jsonbody.FieldError("level", "range", "has no room for an address of this length")
	}
	switch o.Format {
	case PDF:
		return c.PDF(o.page()), nil
	case SVG:
		return c.SVG(o.MM), nil
	}
	n, dpi := o.side(), o.DPI
	if n < c.MinPixels() {
		return nil, o.tooSmall(c.MinPixels())
	}
	if o.MM > 0 {
		dpi = o.density()
	}
	return c.PNG(n, dpi), nil
}

// page returns the side of a PDF.
func (o *Order) page() float64 {
	if o.MM == 0 {
		return defaultMM
	}
	return o.MM
}

// tooSmall returns the error of a PNG that has less than a pixel for a module.
func (o *Order) tooSmall(least int) error {
	if o.MM > 0 {
		return jsonbody.FieldError("mm", "range", fmt.Sprintf("makes a picture of %d pixels; an address of this length needs %d", o.side(), least))
	}
	return jsonbody.FieldError("size", "range", fmt.Sprintf("must be at least %d for an address of this length", least))
}
