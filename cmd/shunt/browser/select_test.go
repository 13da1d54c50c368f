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
	shown := func() bool { return read[bool](b, "!document.getElementById('chosen').hidden") }
	expect.That(t, !shown(), "the form is shown before a link is selected")
	b.click(field("Select " + demoCode))
	b.until("the form is shown", shown)
	b.click(field("Select volunteers"))
	b.sees("2 links selected")
	b.click(field("Select volunteers"))
	b.sees("1 link selected")
	b.fill(field("1 link selected"), "Remove tags")
	b.follow(button("Apply to selected"))
	b.sees("1 link will lose these tags.")
	b.fill(field("Tags"), "poster")
	b.follow(button("Remove tags"))
	b.sees("1 link was changed.")
	b.visit("/_/links?q="+demoCode, http.StatusOK)
	expect.That(t, !strings.Contains(b.reads("#results tbody .tags"), "poster"), "the tag is still there")

	b.visit("/_/links?tag=summer", http.StatusOK)
	b.click(field("Select all on this page"))
	b.sees("3 links selected")
	b.find(button("Apply to all (3)"))
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
	b.until("the menu is closed, and its button has the focus", func() bool { return b.focus().is(more) && !b.has(link("Duplicate")) })
}

// A filter is saved, gets another name and is deleted; links that are selected are deleted after a question.
func TestFiltersAndSelectionsWorkWithAndWithoutScript(t *testing.T) {
	withAndWithoutScript(t, func(d *desk) {
		b := d.tab
		for _, alias := range []string{"one", "two", "three"} {
			d.create(d.token, map[string]any{"url": "https://example.org/" + alias, "alias": alias, "tags": []string{"news"}})
		}
		b.visit("/_/links?tag=news", http.StatusOK)
		saveFilter(b, "News")
		b.isAt("/_/links")
		b.find(link("News"))
		b.follow(link("Edit saved filters"))
		b.fill(field("Name of News"), strings.Repeat("x", 65))
		b.submit(button("Rename News"), http.StatusUnprocessableEntity)
		b.sees("Must be at most 64 bytes.")
		expect.Equal(d.t, b.value(field("Name of News")), strings.Repeat("x", 65), "what was typed")
		b.fill(field("Name of News"), "Old news")
		b.follow(button("Rename News"))
		b.follow(link("Old news"))
		expect.Equal(d.t, b.query("tag"), "news", "the filter of the list")
		b.visit("/_/links/filters", http.StatusOK)
		b.follow(button("Delete Old news"))
		b.sees("There is no saved filter yet.")

		b.visit("/_/links?tag=news&sort=oldest", http.StatusOK)
		b.click(field("Select one"))
		b.click(field("Select three"))
		said := "With links"
		if b.script {
			said = "2 links selected"
		}
		b.fill(field(said), "Delete")
		b.follow(button("Apply to selected"))
		b.sees("Delete 2 links?")
		b.sees("one, three")
		b.follow(button("Delete"))
		b.sees("2 links were deleted.")
		b.follow(link("Back to the list"))
		expect.Slices(d.t, d.codes(), []string{"two"})
		expect.Equal(d.t, b.query("sort"), "oldest", "the list")
	})
}
