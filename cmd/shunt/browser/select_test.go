package browser

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"

	"shunt/engine/expect"
)

// The fold of a phone of 360 by 640 pixels is at 640: the list begins above it.
func TestTheListBeginsAboveTheFold(t *testing.T) {
	d := startDemo(t)
	for _, path := range []string{"/_/links", "/_/links?tag=events&state=active"} {
		b := d.open(t, row{path: path, as: admin})
		call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: 360, Height: 640, DeviceScaleFactor: 1, Mobile: true})
		bottom := eval[float64](b, "document.querySelector('.rows tbody tr').getBoundingClientRect().bottom")
		expect.That(t, bottom > 0 && bottom < 640, "%s: the first row ends at %.0f px", path, bottom)
	}
}

// Links are selected by keys alone, and what is done with them is on a page that says so.
func TestLinksAreSelectedByKeys(t *testing.T) {
	d := startDemo(t)
	b := d.open(t, row{path: "/_/links", as: admin})
	b.keys = true
	shown := func() bool { return eval[bool](b, "!document.getElementById('chosen').hidden") }
	expect.That(t, !shown(), "the form is shown before a link is selected")
	b.click(field("Select " + demoCode))
	expect.That(t, shown(), "the form is not shown")
	b.click(field("Select volunteers"))
	b.sees("2 links selected")
	b.click(field("Select volunteers"))
	b.sees("1 link selected")
	b.fill(field("1 link selected"), "Remove tags")
	b.follow(button("Selected links"))
	b.sees("1 link will lose these tags.")
	b.fill(field("Tags"), "poster")
	b.follow(button("Remove tags"))
	b.sees("1 link was changed.")
	b.visit("/_/links?q="+demoCode, http.StatusOK)
	expect.That(t, !strings.Contains(b.reads("#results tbody .tags"), "poster"), "the tag is still there")

	b.visit("/_/links?tag=summer", http.StatusOK)
	b.click(field("Select all on this page"))
	b.sees("3 links selected")
	b.find(button("All 3 that match"))
}

// The menu of a row opens and closes by keys, and gives the focus back.
func TestTheMenuOfARowClosesOnEscape(t *testing.T) {
	d := startDemo(t)
	b := d.open(t, row{path: "/_/links?q=" + demoCode, as: admin})
	b.keys = true
	more := button("More for " + demoCode)
	b.click(more)
	b.tabTo(link("Duplicate"))
	b.key("Escape")
	expect.That(t, b.focus().is(more) && !b.has(link("Duplicate")), "the focus is at %v, the menu is open: %v", b.focus(), b.has(link("Duplicate")))
}
