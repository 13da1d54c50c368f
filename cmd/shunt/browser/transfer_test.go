package browser

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/target"

	"shunt/engine/expect"
)

// An import says how far it is and what was refused, and can be stopped and begun again.
func TestAFileOfFiveThousandLinesIsImported(t *testing.T) {
	withAndWithoutScript(t, func(d *desk) {
		var file bytes.Buffer
		for i := range 5000 {
			switch {
			case i%1000 == 499:
				fmt.Fprintf(&file, "{\"code\":\"i%d\",\"url\":\"no address\"}\n", i)
			default:
				fmt.Fprintf(&file, "{\"code\":\"i%d\",\"url\":\"https://example.org/%d\"}\n", i, i)
			}
		}
		path := writeFile(d.t, "links.ndjson", file.Bytes())
		b := d.tab
		if !b.script {
			b.visit("/_/transfer", http.StatusOK)
			b.choose("file", path)
			b.follow(button("Import"))
			b.sees("4,995")
			b.seesLines("500", "1500", "4500")
			return
		}
		b.visit("/_/transfer", http.StatusOK)
		b.delay(time.Second)
		b.choose("file", path)
		b.click(button("Import"))
		b.until("some are made", func() bool { return strings.Contains(b.reads(".progress [role=status]"), "created") })
		b.click(button("Cancel"))
		b.until("it is cancelled", func() bool { return strings.HasPrefix(b.reads(".progress [role=status]"), "Cancelled.") })
		b.delay(0)
		b.click(button("Import"))
		b.until("it is done", func() bool { return strings.HasPrefix(b.reads(".progress [role=status]"), "Done.") })
		if got := b.reads(".progress [role=status]"); !strings.HasSuffix(got, "5 refused.") || strings.Contains(got, " 0 there already") {
			d.t.Errorf("got %q, want some that were there already, and 5 that were refused", got)
		}
		expect.Equal(d.t, eval[float64](b, "(p => p.value / p.max)(document.querySelector('.progress progress'))"), 1, "the bar is at at the end")
		b.seesLines("Line 500:", "Line 1,500:", "Line 4,500:")
	})
}

// downloads returns the folder for files that the tab loads from now on.
func (b *tab) downloads() (folder string) {
	b.t.Helper()
	folder = b.t.TempDir()
	id := call(b, target.GetTargetInfo, target.GetTargetInfoParams{}).TargetInfo.BrowserContextID
	call(b, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorAllow, BrowserContextID: id, DownloadPath: folder,
	})
	return folder
}

// An export is a file that an import takes.
func TestAnExportIsAFileThatCanBeImported(t *testing.T) {
	withAndWithoutScript(t, func(d *desk) {
		for i := range 300 {
			d.create(d.token, map[string]any{"url": fmt.Sprintf("https://example.org/%d", i), "title": "Ünïcode \"quoted\" <b>"})
		}
		b := d.tab
		folder := b.downloads()
		b.visit("/_/transfer", http.StatusOK)
		b.click(link("Export my links"))
		path := filepath.Join(folder, "links.ndjson")
		var file []byte
		b.until("the file is there", func() bool {
			file, _ = os.ReadFile(path)
			return bytes.Count(file, []byte("\n")) == 300
		})
		if b.script {
			b.sees("Done: 300 links")
		}
		b.visit("/_/transfer", http.StatusOK)
		b.choose("file", path)
		if !b.script {
			b.follow(button("Import"))
			b.until("all were there", func() bool { return strings.Contains(b.text(), "There already\n300") })
			return
		}
		b.click(button("Import"))
		b.sees("Done. 0 created, 300 there already, 0 refused.")
	})
}
