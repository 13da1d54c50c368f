package qrorder

import (
	"fmt"
	"image"
	"image/png"
	"strings"
	"testing"

	"shunt/engine/expect"
)

// ordered reads parameters as "name=value" and returns what is wrong, as field:code.
func ordered(pairs ...string) (*Order, string) {
	o := New()
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		if err := Parameters[name](o, value); err != nil {
			return o, name + ": " + err.Error()
		}
	}
	if err := o.Check(); err != nil {
		return o, err.Error()
	}
	return o, ""
}

func TestEachParameterHasItsLimits(t *testing.T) {
	for pair, fine := range map[string]bool{
		"format=svg": true, "format=png": true, "format=pdf": true, "format=PDF": false, "format=": false, "format=svg,png": false, "format=eps": false, "format=svg\x00": false,
		"color=#1d3557": true, "color=1D3557": true, "color=#123": true, "color=transparent": false, "color=red": false, "color=red;x": false, "color=": false, "color=#12345": false,
		"color=rgb(0,0,0)": false, "color=\"><script>": false,
		"background=#fff": true, "background=transparent": true, "background=none": false, "background=url(//x)": false, "background=": false,
		"margin=0": true, "margin=16": true, "margin=17": false, "margin=-1": false, "margin=4.5": false, "margin=NaN": false, "margin=1e1": false, "margin=99999999999999999999": false,
		"level=L": true, "level=H": true, "level=l": false, "level=X": false, "level=": false, "level=LM": false,
		"mm=5": true, "mm=1000": true, "mm=10.125": true, "mm=4.999": false, "mm=1000.001": false, "mm=NaN": false, "mm=Inf": false, "mm=+Inf": false, "mm=-10": false, "mm=1e2": false,
		"mm=0x20": false, "mm=10.1234": false, "mm=10.": false, "mm=.5": false, "mm=": false, "mm=1_0": false, "mm=10,5": false, "mm=00000010": false, "mm=10.5.5": false,
		"dpi=72": true, "dpi=2400": true, "dpi=71": false, "dpi=2401": false, "dpi=NaN": false, "dpi=300.0": false, "dpi=-300": false,
		"size=64": true, "size=4096": true, "size=63": false, "size=4097": false, "size=+99": false, "size= 99": false, "size=99999999999999999999": false,
		"track=true": true, "track=false": true, "track=1": false, "track=": false,
	} {
		_, wrong := ordered(pair)
		expect.Equal(t, wrong == "", fine, "%q: %s", pair, wrong)
	}
	expect.Equal(t, len(Names), len(Parameters))
	for _, name := range Names {
		expect.That(t, Parameters[name] != nil, "%s has no reader", name)
	}
}

func TestWhatDoesNotFitTogetherIsRefused(t *testing.T) {
	for pairs, want := range map[string]string{
		"color=#888":                           "",
		"color=#999":                           "color: has a contrast of 2.8",
		"color=#fff background=#000":           "color: must be darker",
		"color=#777 background=#777":           "color: has a contrast of 1.0",
		"color=#999 background=transparent":    "color: has a contrast of 2.8",
		"color=#ff0 background=#00f":           "color: must be darker",
		"format=png size=300 mm=20":            "size: must not be given with mm",
		"format=svg size=300 mm=20":            "",
		"format=png mm=400 dpi=300":            "mm: makes a picture of 4724 pixels",
		"format=pdf mm=400 dpi=300":            "",
		"format=png mm=1000 dpi=2400":          "mm: makes a picture of 94488 pixels",
		"format=png mm=346 dpi=300 margin=0":   "",
		"level=L":                              "",
		"level=L color=#999 format=png mm=999": "color: has a contrast of 2.8",
	} {
		_, wrong := ordered(strings.Fields(pairs)...)
		expect.That(t, (wrong == "") == (want == "") && strings.HasPrefix(wrong, want), "%s: got %q, want %q", pairs, wrong, want)
	}
}

func logoFile(t *testing.T, w, h int) []byte {
	var b strings.Builder
	expect.OK(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, w, h))))
	return []byte(b.String())
}

func TestALogoNeedsALevelThatRepairsWhatItHides(t *testing.T) {
	for level, want := range map[string]string{"": "", "L": "level", "M": "level", "Q": "", "H": ""} {
		o := New()
		if level != "" {
			expect.OK(t, Parameters["level"](o, level))
		}
		expect.OK(t, o.AddLogo(logoFile(t, 20, 20)))
		err := o.Check()
		expect.That(t, (err == nil) == (want == "") && (err == nil || strings.HasPrefix(err.Error(), want)), "%s: got %v", level, err)
	}
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"too long": {make([]byte, 1<<20+1), "must be at most 1024 KiB"}, "empty": {nil, "must be a PNG or JPEG"}, "too wide": {logoFile(t, 4000, 501), "at most 2000000 pixels"},
	} {
		err := New().AddLogo(c.file)
		expect.That(t, err != nil && strings.Contains(err.Error(), c.want), "%s: got %v", name, err)
	}
}

func TestAPictureIsAsLargeAsItWasOrdered(t *testing.T) {
	for pairs, want := range map[string]int{"": 512, "size=100": 100, "mm=10": 118, "mm=10 dpi=600": 236, "mm=25.4 dpi=100": 100, "dpi=600": 512} {
		o, wrong := ordered(append(strings.Fields(pairs), "format=png")...)
		expect.MustEqual(t, wrong, "", pairs)
		picture, err := o.Draw("https://sho.rt/spring")
		expect.OK(t, err)
		c, err := png.DecodeConfig(strings.NewReader(string(picture)))
		expect.OK(t, err)
		expect.That(t, c.Width == want && c.Height == want, "%s: got %d × %d, want %d", pairs, c.Width, c.Height, want)
	}
	o, _ := ordered("format=png", "mm=5", "dpi=72")
	_, err := o.Draw("https://sho.rt/spring")
	expect.That(t, err != nil && strings.Contains(err.Error(), "mm: makes a picture of 14 pixels; an address of this length needs 33"), "got %v", err)
	o, _ = ordered("level=H")
	_, err = o.Draw("https://sho.rt/" + strings.Repeat("x", 3000))
	expect.That(t, err != nil && strings.HasPrefix(err.Error(), "level"), "got %v", err)
}

func TestTheAddressHasTheMarkUnlessItIsNotTracked(t *testing.T) {
	o, _ := ordered("track=true")
	expect.Equal(t, o.Address("https://sho.rt/a"), "https://sho.rt/a?_qr")
	o, _ = ordered("track=false")
	expect.Equal(t, o.Address("https://sho.rt/a"), "https://sho.rt/a")
	expect.Equal(t, fmt.Sprint(PDF.MediaType(), SVG.MediaType(), PNG.MediaType()), "application/pdfimage/svg+xmlimage/png")
}
