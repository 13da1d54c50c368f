package api

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net"
	"regexp"
	"strings"
	"testing"

	"github.com/boombuler/barcode/qr"

	"shunt/api/account"
	"shunt/api/domain"
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
	want := modules(t, "https://sho.rt/live?_qr")
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
	want := modules(t, "https://sho.rt/live?_qr")
	expect.Slices(t, drawnBySVG(t, r.body), want, "the rows")
	r.expect(t, "", fmt.Sprintf(`viewBox="0 0 %d %[1]d"`, len(want)))
}

// drawnBySVG returns the rows of the QR code that an SVG draws, as modules does.
func drawnBySVG(t *testing.T, body string) (rows []string) {
	t.Helper()
	size := 0
	_, box, _ := strings.Cut(body, `viewBox="0 0 `)
	expect.OK(t, expect.Err(fmt.Sscan(box, &size)), body)
	got := make([][]byte, size)
	for y := range got {
		got[y] = bytes.Repeat([]byte{'.'}, size)
	}
	for _, run := range regexp.MustCompile(`M(\d+) (\d+)h(\d+)v1h-(\d+)z`).FindAllStringSubmatch(body, -1) {
		var x, y, n, back int
		_, err := fmt.Sscan(strings.Join(run[1:], " "), &x, &y, &n, &back)
		expect.MustThat(t, err == nil && n == back && y < size && x+n <= size, "%v: %v", run, err)
		copy(got[y][x:], strings.Repeat("#", n))
	}
	for _, row := range got {
		rows = append(rows, string(row))
	}
	return rows
}

// drawnByPNG returns the rows of the QR code of n modules a side that a PNG shows, as modules does.
func drawnByPNG(t *testing.T, body string, n int) (rows []string) {
	t.Helper()
	image, err := png.Decode(strings.NewReader(body))
	expect.OK(t, err)
	size := image.Bounds().Dx()
	scale := size / n
	margin := (size - scale*n) / 2
	for y := range n {
		row := ""
		for x := range n {
			grey, _, _, _ := image.At(margin+x*scale+scale/2, margin+y*scale+scale/2).RGBA()
			row += "#."[min(grey, 1):][:1]
		}
		rows = append(rows, row)
	}
	return rows
}

// TestAQRCodeHasTheAddressOfItsDomain has a link of one code in four domains, and looks at their QR codes: by the hosts
// and aliases of the domains, through every door, and in the dashboard.
func TestAQRCodeHasTheAddressOfItsDomain(t *testing.T) {
	everyDoor(t, nil, func(t *testing.T, st *site, dial func() net.Conn) {
		st.withThree()
		st.addDomain(domain.Domain{Host: "c.test", Aliases: []string{"go.c.test"}, BaseURL: "https://go.c.test"})
		st.call("POST", "/shorten", `{"url":"https://c.example/","alias":"x","domain":"c.test"}`).need(t, "", 201)
		for host, text := range map[string]string{
			"a.test": "http://a.test:8080/x", "B.test.:80": "http://b.test:8080/x", "www.b.test": "http://b.test:8080/x", "c.test": "https://go.c.test/x",
			"go.c.test": "https://go.c.test/x", "other.test": "http://127.0.0.1:8080/x",
		} {
			want := modules(t, text+"?_qr")
			for _, path := range []string{"/x.svg", "/x.svg).", "/%78.svg"} {
				expect.Slices(t, drawnBySVG(t, askAs(t, dial, host, path).body), want, host+path)
			}
			expect.Slices(t, drawnByPNG(t, askAs(t, dial, host, "/x.png?size=300").body, len(want)), want, host+"/x.png")
		}
	})
	st := newSite(t, nil)
	st.withThree()
	b := st.browseAs("boss@example.com", account.RoleAdmin)
	for host, text := range map[string]string{"a.test": "http://a.test:8080/x", "www.b.test": "http://b.test:8080/x"} {
		want := modules(t, text+"?_qr")
		expect.Slices(t, drawnBySVG(t, b.get("/_/link/x/qr.svg?owner=all&domain="+host).body), want, host)
		expect.Slices(t, drawnByPNG(t, b.get("/_/link/x/qr.png?owner=all&domain="+host).body, len(want)), want, host)
	}
}

// tinyPNG is a logo.
var tinyPNG = func() string {
	var b strings.Builder
	_ = png.Encode(&b, image.NewGray(image.Rect(0, 0, 8, 8))) // into memory
	return b.String()
}()

// TestTheCallDrawsTheCodesOfAllLinks asks for pictures of links that redirect, and of those that do not.
func TestTheCallDrawsTheCodesOfAllLinks(t *testing.T) {
	st := newPagesSite(t)
	st.call("PATCH", "/links/live", `{"disabled":true}`).need(t, "", 200)
	want := modules(t, "https://sho.rt/live?_qr")
	r := st.call("GET", "/links/live/qr", "")
	r.expect(t, "an SVG", 200)
	expect.Slices(t, drawnBySVG(t, r.body), want, "the rows")
	expect.That(t, r.header.Get("Content-Type") == "image/svg+xml" && r.header.Get("X-Content-Type-Options") == "nosniff" &&
		r.header.Get("Cache-Control") == "no-store", "got %v", r.header)
	r = st.call("GET", "/links/live/qr?format=png&size=300", "")
	expect.Slices(t, drawnByPNG(t, r.body, len(want)), want, "the pixels")
	r = st.call("GET", "/links/live/qr?track=false", "")
	expect.Slices(t, drawnBySVG(t, r.body), modules(t, "https://sho.rt/live"), "the short address alone")
	st.call("GET", "/links/used/qr?format=pdf&mm=10", "").expect(t, "a PDF", 200, "/MediaBox[0 0 28.3465 28.3465]")
	for _, code := range []string{"used", "past", "evil"} {
		st.call("GET", "/links/"+code+"/qr", "").expect(t, code, 200)
		st.get("/"+code+".svg").expect(t, code, map[string]int{"used": 410, "past": 410, "evil": 403}[code])
	}
	st.get("/live.svg").expect(t, "the public code of a disabled link", 410)
	st.get("/live.png").expect(t, "the public code of a disabled link", 410)
}

// TestPublicCodesTakeTheSameParameters has colors of public codes; what they do not have is ignored, as ever.
func TestPublicCodesTakeTheSameParameters(t *testing.T) {
	st := newPagesSite(t)
	for path, want := range map[string][]any{
		"/live.svg?color=%231d3557&background=transparent&margin=1": {200, `fill="#1d3557"`}, "/live.svg?mm=20&dpi=x&format=pdf&x=y": {200, `width="20mm"`},
		"/live.svg?track=false": {200, `viewBox="0 0 33 33"`}, "/live.png?mm=10": {200, "pHYs"}, "/live.png?mm=200": {422, fieldsOf("mm:range")},
		"/live.png?color=%23eee": {422, fieldsOf("color:contrast")}, "/live.svg?color=red;x&margin=NaN&level=l": {422, fieldsOf("color:format margin:range level:range")},
		"/live.svg?margin=1&margin=2": {422, fieldsOf("margin:duplicate")}, "/live.pdf": {404},
	} {
		st.get(path).expect(t, path, want...)
	}
}

func TestALogoIsSentAndNotKept(t *testing.T) {
	st := newPagesSite(t)
	post := func(query, mediaType, body string) reply {
		return send(t, st.publicAt, "POST", requestText("POST", "/api/v1/links/live/qr"+query, body, "Authorization: Bearer "+st.token, "Content-Type: "+mediaType))
	}
	post("", "image/png", tinyPNG).expect(t, "a logo", 200, `<image x="`, `href="data:image/png;base64,`)
	post("?format=pdf", "application/octet-stream", tinyPNG).expect(t, "a logo", 200, "/SMask 6 0 R")
	var wide strings.Builder
	expect.OK(t, png.Encode(&wide, image.NewGray(image.Rect(0, 0, 2001, 1000))))
	for name, c := range map[string]struct {
		query, mediaType, body string
		status                 int
		want                   any
	}{
		"JSON":             {"", "application/json", "{}", 415, ""},
		"a GIF":            {"", "image/png", "GIF89a", 422, fieldsOf("logo:format")},
		"an SVG":           {"", "image/png", "<svg/>", 422, fieldsOf("logo:format")},
		"nothing":          {"", "image/png", "", 422, fieldsOf("logo:format")},
		"half a PNG":       {"", "image/png", tinyPNG[:40], 422, fieldsOf("logo:format")},
		"too many pixels":  {"", "image/png", wide.String(), 422, fieldsOf("logo:range")},
		"too many bytes":   {"", "image/png", tinyPNG + strings.Repeat("x", 1<<20), 413, ""},
		"a low level":      {"?level=M", "image/png", tinyPNG, 422, fieldsOf("level:conflict")},
		"too small":        {"?format=png&mm=5&dpi=72", "image/png", tinyPNG, 422, fieldsOf("mm:range")},
		"a wrong value":    {"?margin=x", "image/png", tinyPNG, 422, fieldsOf("margin:range")},
		"no such value":    {"?logo=x", "image/png", tinyPNG, 422, fieldsOf("logo:unknown")},
		"a bare parameter": {"?size", "image/png", tinyPNG, 422, fieldsOf("size:range")},
	} {
		post(c.query, c.mediaType, c.body).expect(t, name, c.status, c.want)
	}
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
