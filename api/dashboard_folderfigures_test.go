package api

import (
	"strings"
	"testing"

	"shunt/api/domain"
	"shunt/engine/expect"
)

// signedIn returns the browsers of those who may read the links of the folder of newFigured, and of a stranger.
func (st *sharing) signedIn() map[string]*plainBrowser {
	all := make(map[string]*plainBrowser)
	for who, email := range map[string]string{"ann": "ann@example.com", "ed": "ed@example.com", "red": "red@example.com", "sam": "sam@example.com", "viewer": "viewer@example.com"} {
		all[who] = st.browse(email)
	}
	all["admin"] = st.browseAs("boss@example.com", "admin")
	return all
}

// TestThePageOfAFoldersFigures opens the page, and what it leads to, as everybody.
func TestThePageOfAFoldersFigures(t *testing.T) {
	st := newFigured(t)
	for who, b := range st.signedIn() {
		if who == "sam" {
			continue
		}
		page := b.open(b.open("/_/folders/1").link("Figures"))
		page.want("Figures of Spring", "The links that are in this folder now.", "Hits, 30 days 5", "Visitors, 30 days 2", "of-ed")
		expect.Equal(t, b.open("/_/folders").link("Figures"), "/_/folders/1/figures", who)
		for _, to := range []string{page.link("x"), page.link("of-ed"), page.link("Spring")} {
			b.open(to)
		}
		links := page.linksTo("/_/links?folder=1")
		expect.MustThat(t, len(links) == 1, "%s: %v lead to the links", who, links)
		expect.Equal(t, listedOn(b.open(links[0])), "of-ed x", who)
		days := b.get(page.link("CSV"))
		expect.That(t, days.status == 200 && strings.Contains(days.body, "hits") && strings.Contains(days.body, "\ntop,of-ed,"), "%s: got %d %s", who, days.status, days.body)
		expect.That(t, !strings.Contains(days.body, "\ntop,y,"), "%s: the file has a link of no folder", who)

		by := b.open("/_/by?referrer=direct&folder=1")
		by.want("5 of 5 hits", "The links that are in the folder Spring now.", "of-ed")
		expect.That(t, len(by.linksTo("/_/folders/1/figures")) == 1, "%s: no way back", who)
		byFile := b.get(by.link("CSV"))
		expect.That(t, byFile.status == 200 && strings.Contains(byFile.body, "5"), "%s: got %d %s", who, byFile.status, byFile.body)
		found := false
		for _, to := range page.linksTo("/_/by?") {
			b.open(to).want("Spring")
			found = true
		}
		expect.That(t, found, "%s: no line leads to its hits", who)
	}
	sam := st.browse("sam@example.com")
	for _, path := range []string{
		"/_/folders/1/figures", "/_/folders/99/figures", "/_/folders/x/figures", "/_/folders/01/figures", "/_/figures.csv?folder=1", "/_/figures.csv?folder=99", "/_/by?referrer=direct&folder=1",
		"/_/by.csv?referrer=direct&folder=1", "/_/links/export?folder=1",
	} {
		sam.get(path).expect(t, "a stranger: "+path, 404)
	}
	ann := st.browse("ann@example.com")
	ann.get("/_/by?referrer=direct&folder=1&tag=in").expect(t, "of a folder and of a tag", 404)
	ann.get("/_/by?referrer=direct&folder=1&code=x").expect(t, "of a folder and of a link", 404)
	ann.get("/_/figures.csv?folder=1&tag=in").expect(t, "a file of a folder and of a tag", 422)
	ann.get("/_/folders/1/figures?from=2026-02-30").expect(t, "a day that is none", 422)
}

// TestAListOfAFolderIsExported takes the file that the button gives, which has no address of an owner for a member.
func TestAListOfAFolderIsExported(t *testing.T) {
	st := newFigured(t)
	for who, b := range st.signedIn() {
		if who == "sam" {
			continue
		}
		list := b.open(b.open("/_/folders").link("Spring"))
		for _, to := range []string{list.link("Export as CSV"), b.open("/_/folders/1").link("Export as CSV"), b.open("/_/folders/1/figures").link("Export as CSV")} {
			file := b.get(to)
			expect.That(t, file.status == 200 && strings.Count(file.body, "\n") == 3 && strings.Contains(file.body, "\nx,") && strings.Contains(file.body, "\nof-ed,"), "%s: %s: got %d %s", who, to, file.status, file.body)
			expect.That(t, !strings.Contains(file.body, "ann@example.com") && strings.Contains(file.body, "https://x.example/,302,active,2,"), "%s: whose x is: %s", who, file.body)
		}
		expect.Equal(t, list.link("Figures"), "/_/folders/1/figures", who)
		b.get(strings.Replace(list.link("Export as CSV"), "folder=1", "folder=99", 1)).expect(t, who+": a missing folder", 404)
	}
	plain := st.browse("ann@example.com").open("/_/links")
	expect.That(t, len(plain.linksTo("/_/folders/")) == 0, "a list of no folder leads to one")
}

// TestFiguresOfAFolderOnPagesAreOfADomain chooses a domain, and limits a member to it.
func TestFiguresOfAFolderOnPagesAreOfADomain(t *testing.T) {
	st := newFigured(t)
	st.addDomain(domain.Domain{Host: "b.test"})
	st.as1("ann", "POST", "/shorten", `{"url":"https://w.example/","alias":"w","folder":1,"domain":"b.test"}`).need(t, "w", 201)
	dial := doors[0].open(t, st.site)
	for range 3 {
		askAs(t, dial, "b.test", "/w").need(t, "a hit", 302)
	}
	red := st.browse("red@example.com")
	red.open("/_/folders/1/figures").want("Hits, 30 days 8", "b.test/w")
	red.open("/_/folders/1/figures?domain=b.test").want("Hits, 30 days 3", "b.test/w")
	red.open("/_/by?referrer=direct&folder=1&domain=b.test").want("3 of 3 hits")
	st.limitTo(3, "b.test")
	red = st.browse("red@example.com")
	limited := red.open("/_/folders/1/figures")
	limited.want("Hits, 30 days 3")
	expect.That(t, !strings.Contains(limited.body, "of-ed"), "a member who is limited to a domain is told of another: %s", limited.body)
	red.open("/_/by?referrer=direct&folder=1").want("3 of 3 hits")
	expect.Equal(t, red.get("/_/folders/1/figures?domain=127.0.0.1:8080").status, 403)
}
