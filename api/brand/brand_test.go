package brand

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shunt/engine/expect"
)

// Cases are in testdata; -rewrite writes what is shown now.
func TestNamesAndSupportAddressesAreShownOrRefused(t *testing.T) {
	expect.Lines(t, "testdata/texts.txt", func(t *testing.T, kind, text string) string {
		if kind == "name" {
			got, err := ParseName(text)
			return shownOrRefused(got, err)
		}
		parsed, err := ParseSupportURL(text)
		b := Brand{SupportURL: parsed}
		expect.OK(t, b.Check(), text)
		return shownOrRefused(b.Support(), err)
	})
	long := "https://a.example/"
	expect.That(t, expect.Err(ParseSupportURL(long+strings.Repeat("a", maxSupportURL-len(long)))) == nil, "an address of the largest size is refused")
	expect.That(t, expect.Err(ParseSupportURL(long+strings.Repeat("a", maxSupportURL-len(long)+1))) != nil, "a larger one is taken")
	b := (Brand{Name: "a\nb"})
	expect.That(t, b.Check() != nil, "a name that was not parsed is taken")
}

func shownOrRefused(shown string, err error) string {
	switch {
	case err != nil && shown != "":
		return "refused, but shows " + shown
	case err != nil:
		return "refused"
	}
	return "shows " + shown
}

const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10">`

func TestALogoIsTakenByItsBytes(t *testing.T) {
	var small bytes.Buffer
	expect.OK(t, png.Encode(&small, image.NewGray(image.Rect(0, 0, 2, 2))))
	var wide bytes.Buffer
	expect.OK(t, png.Encode(&wide, image.NewGray(image.Rect(0, 0, maxLogoPixels+1, 1))))
	bomb := bytes.Clone(small.Bytes())
	copy(bomb[16:], "\x7f\xff\xff\xff\x7f\xff\xff\xff")
	for _, c := range []struct{ name, data, kind, err string }{
		{"a PNG", small.String(), "image/png", ""},
		{"an SVG", svg + "<path d='M0 0'/></svg>", "image/svg+xml", ""},
		{"an SVG of an editor", "\uFEFF<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- made by x -->\n<!DOCTYPE svg PUBLIC \"-//W3C//DTD SVG 1.1//EN\" " +
			"\"http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd\">\n" + svg + "</svg>\n", "image/svg+xml", ""},
		{"an SVG with a prefix", `<s:svg xmlns:s="http://www.w3.org/2000/svg" width="1" height="1"/>`, "image/svg+xml", ""},
		{"an SVG with a script", svg + "<script>alert(1)</script></svg>", "image/svg+xml", ""},
		{"nothing", "", "", "neither an SVG nor a PNG"},
		{"HTML", "<!doctype html><title>x</title><script>alert(1)</script>", "", "neither an SVG nor a PNG"},
		{"HTML as XML", `<html xmlns="http://www.w3.org/1999/xhtml"><body/></html>`, "", "neither an SVG nor a PNG"},
		{"HTML after the mark of PNG", "\x89PNG\r\n\x1a\n<html><script>alert(1)</script>", "", "damaged PNG"},
		{"text before the SVG", "x" + svg + "</svg>", "", "neither an SVG nor a PNG"},
		{"a GIF", "GIF89a", "", "neither an SVG nor a PNG"},
		{"a PNG that is cut off", small.String()[:40], "", "damaged PNG"},
		{"a PNG with a false size", string(bomb), "", "damaged PNG"},
		{"a PNG that is too wide", wide.String(), "", "2049 by 1 pixels"},
		{"an SVG that is cut off", svg, "", "not a well-formed SVG"},
		{"two SVGs", svg + "</svg>" + svg + "</svg>", "", "more than one root"},
		{"an SVG with entities", "<!DOCTYPE svg [<!ENTITY a 'aaaa'>]>" + svg + "&a;</svg>", "", "declares entities"},
		{"an SVG without namespace", `<svg viewBox="0 0 1 1"/>`, "", "lacks xmlns"},
		{"an SVG without size", `<svg xmlns="http://www.w3.org/2000/svg"/>`, "", "has no size"},
		{"an SVG without a width", strings.Replace(svg, "10 10", "0 10", 1) + "</svg>", "", "viewBox"},
		{"a large SVG", svg + strings.Repeat(" ", MaxLogoBytes) + "</svg>", "", "larger than 64 KiB"},
	} {
		path := filepath.Join(t.TempDir(), "logo")
		expect.OK(t, os.WriteFile(path, []byte(c.data), 0o600))
		logo, err := ReadLogo(path)
		switch {
		case c.err == "" && (err != nil || logo.Type != c.kind || string(logo.Bytes) != c.data):
			t.Errorf("%s: got %v, %v", c.name, logo, err)
		case c.err != "" && (err == nil || logo != nil || !strings.Contains(err.Error(), c.err) || !strings.HasPrefix(err.Error(), path+" ")):
			t.Errorf("%s: got %v, want an error with %q", c.name, err, c.err)
		}
	}
	for _, path := range []string{t.TempDir(), "/does/not/exist"} {
		_, err := ReadLogo(path)
		expect.That(t, err != nil && strings.Contains(err.Error(), path), "%s: got %v", path, err)
	}
}
