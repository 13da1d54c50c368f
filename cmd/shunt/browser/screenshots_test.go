package browser

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"

	"shunt/bench"
	"shunt/engine/expect"
)

// maxHeight bounds a picture; the reference page is longer than a picture can be.
const maxHeight = 6000

// Each page is drawn whole, in each look, into the folder that make screenshots names.
func TestScreenshotsOfEveryPage(t *testing.T) {
	folder := screenshots(t)
	d := startDemo(t)
	for i, r := range pages {
		t.Run(r.name, func(t *testing.T) {
			b := d.open(t, r)
			for _, look := range append(looks(i), look{"light", 768}, look{"dark", 1920}) {
				b.resize(look.width)
				b.colours(look.colours)
				path := filepath.Join(folder, fmt.Sprintf("%s-%v.png", r.name, look))
				expect.OK(t, os.WriteFile(path, b.picture(), 0o666))
			}
		})
	}
}

// The README shows the upper part of the overview, as people see it at an address of their own, on a
// store of make big-store, which has 400 days of figures.
func TestPictureOfTheReadme(t *testing.T) {
	folder, big := screenshots(t), os.Getenv("SHUNTTEST_BIG_STORE")
	if big == "" {
		t.Skip("make pictures runs this test")
	}
	needBrowser(t)
	d := &demo{server: startServer(t, localhost, "--data", big, "--base-url", "https://sho.rt")}
	d.sessions = map[person][]*http.Cookie{admin: d.logIn(bench.BigAdmin, bench.BigPassword)}
	overview := d.open(t, row{path: "/_/", as: admin})
	expect.OK(t, os.WriteFile(filepath.Join(folder, "overview.png"), overview.pictureTo(readmeHeight), 0o666))
}

const readmeHeight = 860

// picture returns a PNG of the whole page.
func (b *tab) picture() []byte { return b.pictureTo(maxHeight) }

// pictureTo returns a PNG of the page, or of its upper part.
func (b *tab) pictureTo(height float64) []byte {
	b.t.Helper()
	size := call(b, page.GetLayoutMetrics, cdp.Empty{}).CSSContentSize
	return call(b, page.CaptureScreenshot, page.CaptureScreenshotParams{
		CaptureBeyondViewport: ptr(true),
		Clip:                  &page.Viewport{Width: size.Width, Height: min(size.Height, height), Scale: 1},
	}).Data
}
