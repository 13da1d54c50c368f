package browser

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"shunt/engine/expect"
)

// This file is about making links: one by a line, with a campaign and tags, and many from a file.

// A person marks a target, keeps the values as a template, and makes the next link with it.
func TestACampaignIsKeptAndChosen(t *testing.T) {
	withAndWithoutScript(t, func(d *desk) {
		b := d.tab
		b.visit("/_/", http.StatusOK)
		b.fill(field("Target"), "https://example.org/spring")
		b.unfold("Alias, title, tags and more", field("Alias"))
		b.fill(field("Alias"), "one")
		b.fill(field("Tags"), "news, print")
		b.unfold("Campaign (UTM)", field("Source"))
		b.fill(field("Source"), "newsletter")
		b.fill(field("Medium"), "email")
		b.fill(field("Save as a template named"), "Weekly")
		b.follow(button("Create the link"))
		b.sees(d.base + "/one")
		b.sees("https://example.org/spring?utm_source=newsletter&utm_medium=email")

		b.visit("/_/links/new", http.StatusOK)
		b.fill(field("Target"), "https://example.org/autumn#top")
		b.fill(field("Alias"), "two")
		b.unfold("Title, tags, expiry and more", field("Tags"))
		b.unfold("Campaign (UTM)", field("Source"))
		on[any](b, b.find(field("Template")), "function(name) { this.value = name; this.dispatchEvent(new Event('change', { bubbles: true })) }", "Weekly")
		if b.script {
			expect.Equal(d.t, b.value(field("Source")), "newsletter", "the field after the choice")
			b.fill(field("Medium"), "") // what is emptied stays empty
		}
		b.follow(button("Create the link"))
		want := "https://example.org/autumn?utm_source=newsletter&utm_medium=email#top"
		if b.script {
			want = "https://example.org/autumn?utm_source=newsletter#top"
		}
		b.sees(want)
	})
}

// Tags are suggested for the last of several.
func TestTagsAreSuggestedForTheLastOfSeveral(t *testing.T) {
	d := openDesk(t, localhost, openTab)
	d.create(d.token, map[string]any{"url": "https://example.org/", "tags": []string{"news", "print, large", "b"}})
	d.create(d.token, map[string]any{"url": "https://example.org/", "tags": []string{"news"}})
	b := d.tab
	b.visit("/_/links/new", http.StatusOK)
	b.unfold("Title, tags, expiry and more", field("Tags"))
	for typed, want := range map[string][]string{
		"":          {"news", "b", `"print, large"`},
		"x, pr":     {"x, news", "x, b", `x, "print, large"`},
		"news, b, ": {`news, b, "print, large"`},
	} {
		b.fill(field("Tags"), typed)
		expect.Slices(t, eval[[]string](b, "[...document.getElementById('used-tags').options].map(o => o.value)"), want, "%q", typed)
	}
}

// A sheet becomes links, and the results a file.
func TestASheetBecomesLinksAndItsResultsAFile(t *testing.T) {
	withAndWithoutScript(t, func(d *desk) {
		b := d.tab
		b.visit("/_/links/bulk", http.StatusOK)
		b.choose("file", writeFile(d.t, "links.csv", []byte("url;alias;title\r\nhttps://example.org/1;one;First\r\nnonsense;two;\r\n")))
		b.follow(button("Create the links"))
		b.sees("1 link is ready. 1 line was refused.")
		expect.Equal(d.t, b.value(field("Addresses or CSV")), "url;alias;title\nnonsense;two;\n", "the form to correct")
		expect.Slices(d.t, d.codes(), []string{"one"})
		folder := b.downloads()
		b.click(button("Download results as CSV"))
		var text []byte
		b.until("the file is there", func() bool {
			text, _ = os.ReadFile(filepath.Join(folder, "short-links.csv"))
			return len(text) > 0
		})
		want := "\ufeffcode,short_url,url,error\none," + d.base + "/one,https://example.org/1,\n" +
			",,nonsense,\"url: must be an absolute address, with http:// or https:// before it.\"\n"
		expect.Equal(d.t, string(text), want)
	})
}
