package qrorder

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"shunt/api/jsonbody"
	"shunt/api/qrcode"
)

// Parameters read the parameters of an order, by name. An error has no field.
var Parameters = map[string]func(o *Order, value string) error{
	"format": readFormat, "color": readColor, "background": readBackground, "margin": readMargin, "level": readLevel,
	"mm": readMM, "dpi": readDPI, "size": readSize, "track": readTrack,
}

// Names are the names of all parameters, in the order of a form.
var Names = []string{"format", "color", "background", "margin", "level", "mm", "dpi", "size", "track"}

func readFormat(o *Order, value string) error {
	if !slices.Contains(Formats, value) {
		return jsonbody.FieldError("", "range", "must be svg, png or pdf")
	}
	o.Format = Format(value)
	return nil
}

func readColor(o *Order, value string) error {
	c, ok := qrcode.ParseColor(value)
	if !ok || c.None {
		return jsonbody.FieldError("", "format", "must be a color such as #1d3557")
	}
	o.Style.Color = c
	return nil
}

func readBackground(o *Order, value string) error {
	c, ok := qrcode.ParseColor(value)
	if !ok {
		return jsonbody.FieldError("", "format", "must be a color such as #ffffff, or transparent")
	}
	o.Style.Background = c
	return nil
}

func readMargin(o *Order, value string) (err error) {
	o.Style.Margin, err = whole(value, 0, maxMargin)
	return err
}

// levels are the letters of levels.
var levels = []string{qrcode.L: "L", qrcode.M: "M", qrcode.Q: "Q", qrcode.H: "H"}

func readLevel(o *Order, value string) error {
	at := slices.Index(levels, value)
	if at < 0 {
		return jsonbody.FieldError("", "range", "must be L, M, Q or H")
	}
	o.Style.Level, o.levelled = qrcode.Level(at), true
	return nil
}

func readMM(o *Order, value string) error {
	mm, ok := decimal(value)
	if !ok || mm < minMM || mm > maxMM {
		return jsonbody.FieldError("", "range", fmt.Sprintf("must be a number from %d to %d", minMM, maxMM))
	}
	o.MM = mm
	return nil
}

// decimal reads digits with, at most, a point and a few digits after it: no sign, no exponent, no words.
func decimal(value string) (v float64, ok bool) {
	before, after, _ := strings.Cut(value, ".")
	if before == "" || len(before) > 4 || len(after) > maxMMDigits || strings.HasSuffix(value, ".") ||
		strings.Trim(before+after, "0123456789") != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(value, 64)
	return v, err == nil
}

func readDPI(o *Order, value string) (err error) {
	o.DPI, err = whole(value, minDPI, maxDPI)
	return err
}

func readSize(o *Order, value string) (err error) {
	o.Pixels, err = whole(value, MinPixels, o.MaxPixels)
	return err
}

func readTrack(o *Order, value string) error {
	if value != "true" && value != "false" {
		return jsonbody.FieldError("", "range", "must be true or false")
	}
	o.Bare = value == "false"
	return nil
}

// whole reads a number from least to most.
func whole(value string, least, most int) (int, error) {
	n, err := strconv.ParseUint(value, 10, 16) // no sign
	if err != nil || int(n) < least || int(n) > most {
		return 0, jsonbody.FieldError("", "range", fmt.Sprintf("must be one number from %d to %d", least, most))
	}
	return int(n), nil
}
