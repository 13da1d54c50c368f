package api

import (
	"bytes"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/qrcode"

	"shunt/api/account"
	"shunt/engine/expect"
)

// scannedIn returns the address in the code of a PNG.
func scannedIn(t *testing.T, picture string) string {
	t.Helper()
	p, err := png.Decode(strings.NewReader(picture))
	expect.OK(t, err)
	bitmap, err := gozxing.NewBinaryBitmapFromImage(p)
	expect.OK(t, err)
	found, err := qrcode.NewQRCodeReader().Decode(bitmap, nil)
	expect.OK(t, err)
	return found.GetText()
}

// withLogo sends the form with a logo.
func (b *plainBrowser) withLogo(f *htmlForm, logo string) *shown {
	body := ""
	for name := range f.values {
		body += "--xyz\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + f.values.Get(name) + "\r\n"
	}
	body += "--xyz\r\nContent-Disposition: form-data; name=\"file\"; filename=\"logo.png\"\r\nContent-Type: image/png\r\n\r\n" + logo + "\r\n--xyz--\r\n"
	return b.post(f.action, "multipart/form-data; boundary=xyz", body)
}

// TestACodeIsMadeForPrint goes the way of somebody who needs a code for a poster, of a link that is disabled as yet.
func TestACodeIsMadeForPrint(t *testing.T) {
	st, b := withAnn(t, nil)
	b.follow(b.open("/_/links").form("/_/links").with("url", "https://a.example/", "alias", "one", "disabled", "on"))
	page := b.open(b.open("/_/link/one").link("Colors, size, logo"))
	page.want("This link redirects nobody at present. Its code can be printed already.")
	form := page.form("/_/link/one/qr").with("color", "#1d3557", "background", "#f1faee", "mm", "30", "dpi", "600", "level", "Q")
	page = b.open("/_/link/one/qr?" + form.values.Encode())
	expect.Contains(t, b.get(page.link("SVG")).body, `width="30mm" height="30mm"`)
	expect.Contains(t, b.get(page.link("PDF")).body, "/MediaBox[0 0 85.0394 85.0394]")
	picture := b.get(page.link("PNG"))
	c, err := png.DecodeConfig(strings.NewReader(picture.body))
	expect.OK(t, err)
	expect.Equal(t, c.Width, 709)
	expect.Equal(t, scannedIn(t, picture.body), "http://127.0.0.1:8080/one?_qr")
	expect.Contains(t, page.body, `<img src="/_/link/one/qr.svg?`)

	var logo bytes.Buffer
	expect.OK(t, png.Encode(&logo, image.NewGray(image.Rect(0, 0, 50, 30))))
	send := page.forms("/_/link/one/qr")[1].with("format", "png")
	expect.Equal(t, send.values.Get("color"), "#1d3557", "the look goes with the logo")
	file := b.withLogo(send, logo.String())
	expect.Equal(t, file.header.Get("Content-Disposition"), `attachment; filename*=UTF-8''one.png`)
	expect.Equal(t, scannedIn(t, file.body), "http://127.0.0.1:8080/one?_qr")
	st.get("/one.svg").expect(t, "the public code", 410)

	b.open("/_/link/one/qr?transparent=1&color=%23003049").want("QR code")
	picture = b.get(b.open("/_/link/one/qr?transparent=1&track=false").link("PNG"))
	expect.Contains(t, picture.body, "tRNS")
}

func TestAWrongLookIsShownAgainWithWhatIsWrong(t *testing.T) {
	st, b := withAnn(t, nil)
	b.follow(b.open("/_/links").form("/_/links").with("url", "https://a.example/", "alias", "one"))
	for query, want := range map[string]string{
		"color=%23eee":                   "Has a contrast of 1.2 to the background; a code scans well from 3 on.",
		"color=%23fff&background=%23000": "Must be darker than the background, or it would not scan.",
		"color=red;x":                    "Must be a color such as #1d3557.",
		"background=%22><script>":        "Must be a color such as #ffffff, or transparent.",
		"mm=NaN":                         "Must be a number from 5 to 1000.",
		"mm=1000&dpi=2400":               "Makes a picture of 94488 pixels a side",
		"mm=5&dpi=72":                    "Makes a picture of 14 pixels",
		"dpi=1e9":                        "Must be one number from 72 to 2400.",
		"margin=-1":                      "Must be one number from 0 to 16.",
		"level=Z":                        "Must be L, M, Q or H.",
		"track=maybe":                    "Must be true or false.",
	} {
		page := b.get("/_/link/one/qr?" + query)
		expect.Equal(t, page.status, 422, query)
		page.want(want, "Correct the values first.")
		expect.That(t, !strings.Contains(page.body, "<script>"), "%s: %s", query, page.body)
	}
	expect.Equal(t, b.get("/_/link/one/qr.png?mm=NaN").status, 422)
	expect.Equal(t, b.get("/_/link/none/qr").status, 404)
	expect.Equal(t, b.get("/_/link/none/qr.pdf").status, 404)
	form := b.open("/_/link/one/qr").forms("/_/link/one/qr")[1]
	for logo, want := range map[string]string{
		"": "Choose a picture.", "GIF89a": "Must be a PNG or JPEG file.", tinyPNG[:30]: "Is a damaged picture.", tinyPNG + strings.Repeat("x", 1<<20): "Must be at most 1024 KiB.",
	} {
		page := b.withLogo(form.with("format", "svg"), logo)
		expect.Equal(t, page.status, 422, "%.20q", logo)
		page.want(want)
	}
	expect.Equal(t, b.withLogo(form.with("format", "exe"), tinyPNG).status, 422)
	expect.Equal(t, b.withLogo(form, strings.Repeat("x", 2<<20)).status, 413)
	other := st.browseAs("eve@example.com", account.RoleMember)
	for _, path := range []string{"qr", "qr.svg", "qr.png", "qr.pdf"} {
		expect.Equal(t, other.get("/_/link/one/"+path).status, 404, path)
	}
	expect.Equal(t, other.withLogo(form, tinyPNG).status, 404)
}

// Scans are a card of their own, and a line of the referrers, which leads to their hits.
func TestThePageOfALinkShowsScans(t *testing.T) {
	st, b := withAnn(t, nil)
	b.follow(b.open("/_/links").form("/_/links").with("url", "https://a.example/", "alias", "one"))
	st.get("/one", browser).need(t, "a click", 302)
	expect.That(t, !strings.Contains(b.open("/_/link/one").text(), "Scans"), "scans of a link that has none")
	st.get("/one?_qr", browser).need(t, "a scan", 302)
	st.get("/one?_qr", browser).need(t, "a scan", 302)
	page := b.open("/_/link/one")
	page.want("2 hits by a QR code", "QR code scanned 2")
	b.open(page.link("QR code")).want("2 of 3")
	expect.Contains(t, b.get(page.link("CSV")).body, "\nscans,,,,,2,\n")
	b.open("/_/").want("2 hits by a QR code")
}
