package qrorder

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"shunt/api/qrcode"
	"shunt/engine/expect"
)

// TestADecoderReadsPrintedCodes reads codes with zbar (zbarimg of Debian), as they are printed at 10 mm and 300 dpi:
// PNG as it is, SVG by librsvg, PDF by poppler.
func TestADecoderReadsPrintedCodes(t *testing.T) {
	if os.Getenv("SHUNTTEST_QRCODES") == "" {
		t.Skip(".ci/proof qrcodes runs this test")
	}
	for look, pairs := range printed {
		for _, format := range Formats {
			o, wrong := ordered(append(strings.Fields(pairs), "format="+format, "mm=10", "dpi=300")...)
			expect.MustEqual(t, wrong, "", look)
			if strings.HasPrefix(look, "logo") {
				expect.OK(t, o.AddLogo(checkered(t)))
				expect.OK(t, o.Check())
			}
			const shortURL = "https://sho.rt/spring"
			picture, err := o.Draw(shortURL)
			expect.OK(t, err)
			got, err := zbar(t, format, picture)
			expect.That(t, err == nil && got == o.Address(shortURL), "%s as %s: got %q, %v", look, format, got, err)
		}
	}
}

// printed are looks that must scan.
var printed = map[string]string{
	"usual": "", "colors": "color=#1d3557 background=#f1faee", "red on yellow": "color=#c1121f background=#fdf0d5", "the least contrast": "color=#949494",
	"transparent": "background=transparent", "level H": "level=H", "level L": "level=L", "the address alone": "track=false", "a small margin": "margin=2",
	"logo": "", "logo Q": "level=Q", "logo and colors": "color=#1d3557 background=#f1faee", "logo, transparent": "background=transparent color=#003049",
}

// checkered returns a logo in red and blue.
func checkered(t *testing.T) []byte {
	p := image.NewNRGBA(image.Rect(0, 0, 90, 60))
	for i := range 90 * 60 {
		if x, y := i%90, i/90; (x/15+y/15)%2 == 0 {
			p.SetNRGBA(x, y, color.NRGBA{200, 0, 0, 255})
		} else {
			p.SetNRGBA(x, y, color.NRGBA{0, 0, 200, 128})
		}
	}
	var b bytes.Buffer
	expect.OK(t, png.Encode(&b, p))
	return b.Bytes()
}

// zbar returns what zbarimg reads in a picture.
func zbar(t *testing.T, format string, picture []byte) (string, error) {
	t.Helper()
	folder := t.TempDir()
	file, raster := filepath.Join(folder, "code."+format), filepath.Join(folder, "code.png")
	expect.OK(t, os.WriteFile(file, picture, 0o600))
	side := qrcode.Pixels(10, 300)
	switch format {
	case "svg":
		run(t, "rsvg-convert", "--dpi-x", "300", "--dpi-y", "300", "--background-color", "white", "-o", raster, file)
	case "pdf":
		run(t, "pdftoppm", "-r", "300", "-png", "-singlefile", file, strings.TrimSuffix(raster, ".png"))
	default:
		flat(t, picture, raster)
	}
	drawn, err := os.ReadFile(raster)
	expect.OK(t, err)
	c, err := png.DecodeConfig(bytes.NewReader(drawn))
	expect.OK(t, err)
	expect.That(t, c.Width >= side-1 && c.Width <= side+1, "%s: %s pixels, want %d", format, strconv.Itoa(c.Width), side)
	out, err := exec.Command("zbarimg", "--quiet", "--raw", "-Sdisable", "-Sqrcode.enable", raster).Output()
	return strings.TrimSuffix(string(out), "\n"), err
}

// flat puts a PNG on white paper: zbarimg takes what is transparent for black.
func flat(t *testing.T, picture []byte, file string) {
	t.Helper()
	p, err := png.Decode(bytes.NewReader(picture))
	expect.OK(t, err)
	paper := image.NewRGBA(p.Bounds())
	for y := range p.Bounds().Dy() {
		for x := range p.Bounds().Dx() {
			r, g, b, a := p.At(x, y).RGBA()
			paper.SetRGBA(x, y, color.RGBA{uint8((r + 0xffff - a) >> 8), uint8((g + 0xffff - a) >> 8), uint8((b + 0xffff - a) >> 8), 255})
		}
	}
	var out bytes.Buffer
	expect.OK(t, png.Encode(&out, paper))
	expect.OK(t, os.WriteFile(file, out.Bytes(), 0o600))
}

func run(t *testing.T, name string, arguments ...string) {
	t.Helper()
	out, err := exec.Command(name, arguments...).CombinedOutput()
	expect.OK(t, err, fmt.Sprintf("%s: %s", name, out))
}
