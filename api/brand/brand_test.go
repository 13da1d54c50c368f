package brand

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestASupportAddressIsOfTheWebOrAMailbox(t *testing.T) {
	for text, want := range map[string]string{ // what a link to it is called; empty: refused
		"https://help.example/a?b":       "help.example",
		"http://127.0.0.1:8000":          "127.0.0.1:8000",
		"mailto:help@example.org":        "help@example.org",
		"MAILTO:help@example.org?cc=a@b": "help@example.org",
		"mailto:h%2Bx@example.org":       "h+x@example.org",
		"javascript:alert(1)":            "",
		"JavaScript://a.b/%0aalert(1)":   "",
		"data:text/html,x":               "",
		"mailto:":                        "",
		"mailto:nobody":                  "",
		"mailto:a@b.example,c@d.example": "",
		"https://":                       "",
		"https://u:p@a.example":          "",
		"//help.example":                 "",
		"/help":                          "",
		"help@example.org":               "",
		"":                               "",
		"https://a b.example":            "",
		"https://a.example/\u202e":       "",
		"https://a.example/\n":           "",
		"https://a.example/" + strings.Repeat("a", maxSupportURL): "",
	} {
		parsed, err := ParseSupportURL(text)
		b := Brand{SupportURL: parsed}
		if got := b.Support(); got != want || (err == nil) != (want != "") || b.Check() != nil {
			t.Errorf("%q: got %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestANameIsPrintableTextOnOneLine(t *testing.T) {
	for text, want := range map[string]string{
		" Acme & Söhne <GmbH> ": "Acme & Söhne <GmbH>",
		"短縮":                    "短縮",
		strings.Repeat("ü", 64): strings.Repeat("ü", 64),
		strings.Repeat("ü", 65): "",
		"":                      "",
		" ":                     "",
		"a\nb":                  "",
		"a\u202eb":              "",
		"a\u200bb":              "",
		"a\xffb":                "",
	} {
		if got, err := ParseName(text); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	}
	if b := (Brand{Name: "a\nb"}); b.Check() == nil {
		t.Error("a name that was not parsed is taken")
	}
}

const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10">`

func TestALogoIsTakenByItsBytes(t *testing.T) {
	var small bytes.Buffer
	if err := png.Encode(&small, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	var wide bytes.Buffer
	if err := png.Encode(&wide, image.NewGray(image.Rect(0, 0, maxLogoPixels+1, 1))); err != nil {
		t.Fatal(err)
	}
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
		if err := os.WriteFile(path, []byte(c.data), 0o600); err != nil {
			t.Fatal(err)
		}
		logo, err := ReadLogo(path)
		switch {
		case c.err == "" && (err != nil || logo.Type != c.kind || string(logo.Bytes) != c.data):
			t.Errorf("%s: got %v, %v", c.name, logo, err)
		case c.err != "" && (err == nil || logo != nil || !strings.Contains(err.Error(), c.err) || !strings.HasPrefix(err.Error(), path+" ")):
			t.Errorf("%s: got %v, want an error with %q", c.name, err, c.err)
		}
	}
	for _, path := range []string{t.TempDir(), "/does/not/exist"} {
		if _, err := ReadLogo(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v", path, err)
		}
	}
}
