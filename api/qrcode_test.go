package api

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/color"
	"image/png"
	"regexp"
	"strings"
	"testing"

	"github.com/boombuler/barcode/qr"

	"shunt/engine/expect"
)

// modules returns the rows of the QR code of text as the library makes it, # for black, with the
// quiet zone.
func modules(t *testing.T, text string) []string {
	t.Helper()
	code, err := qr.Encode(text, qr.M, qr.Auto)
	expect.OK(t, err)
	n := code.Bounds().Dx()
	blank := strings.Repeat(".", n+8)
	rows := []string{blank, blank, blank, blank}
	for y := range n {
		row := "...."
		for x := range n {
			if code.At(x, y) == color.Black {
				row += "#"
			} else {
				row += "."
			}
		}
		rows = append(rows, row+"....")
	}
	return append(rows, blank, blank, blank, blank)
}

func TestAPNGIsTheQRCodeInAWhiteSquare(t *testing.T) {
	st := newPagesSite(t)
	want := modules(t, "https://sho.rt/live")
	for _, size := range []int{64, 65, 100, 511, 512, 2047, 2048} {
		r := st.get(fmt.Sprint("/live.png?size=", size))
		image, err := png.Decode(strings.NewReader(r.body))
		expect.OK(t, err, "%d", size)
		b := image.Bounds()
		expect.That(t, b.Dx() == size && b.Dy() == size, "%d: got %v", size, b)
		scale := size / len(want)
		margin := (size - scale*len(want)) / 2
		for y := range size {
			for x := range size {
				mx, my := (x-margin)/scale, (y-margin)/scale
				black := x >= margin && y >= margin && mx < len(want) && my < len(want) && want[my][mx] == '#'
				grey, _, _, _ := image.At(x, y).RGBA()
				expect.MustThat(t, (grey == 0) == black, "%d: pixel %d, %d: got %d, want black == %v", size, x, y, grey, black)
			}
		}
	}
}

func TestAnSVGIsTheQRCode(t *testing.T) {
	st := newPagesSite(t)
	r := st.get("/live.svg")
	expect.OK(t, xml.NewDecoder(strings.NewReader(r.body)).Decode(new(struct{ XMLName xml.Name })))
	want := modules(t, "https://sho.rt/live")
	got := make([][]byte, len(want))
	for y := range got {
		got[y] = bytes.Repeat([]byte{'.'}, len(want))
	}
	runs := regexp.MustCompile(`M(\d+) (\d+)h(\d+)v1h-(\d+)z`).FindAllStringSubmatch(r.body, -1)
	for _, run := range runs {
		var x, y, n, back int
		_, err := fmt.Sscan(strings.Join(run[1:], " "), &x, &y, &n, &back)
		expect.MustThat(t, err == nil && n == back, "%v: %v", run, err)
		copy(got[y][x:], strings.Repeat("#", n))
	}
	for y := range want {
		expect.Equal(t, string(got[y]), want[y], "row %d: got %s", y, got[y])
	}
	r.expect(t, "", fmt.Sprintf(`viewBox="0 0 %d %[1]d"`, len(want)))
}

func TestASizeTooSmallForALongAddressIsRefused(t *testing.T) {
	st := newSite(t, func(o *Options) {
		o.BaseURL, o.AllowHTTP = "https://"+strings.Repeat("long.", 40)+"example", true
	})
	code := strings.Repeat("c", 64)
	st.shorten(`{"url":"https://good.example/","alias":"` + code + `"}`)
	st.get("/"+code+".png?size=64").expect(t, "", 422, fieldsOf("size:range"))
	st.get("/"+code+".png?size=128").expect(t, "128", 200)
}
