package browser

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"

	"shunt/engine/expect"
)

// This file leads to the states of pages that the table of pages shows.

// refusedSignIn signs in with a wrong password.
func refusedSignIn(b *tab) {
	b.fill(field("E-mail"), emails[member])
	b.fill(field("Password"), "not the password")
	b.submit(button("Sign in"), http.StatusUnauthorized)
}

// wrongPassword types a password that does not open the link.
func wrongPassword(b *tab) {
	b.fill(field("Password"), "not the password")
	b.submit(button("Open the link"), http.StatusUnauthorized)
}

// refusedLink sends a form with mistakes.
func refusedLink(b *tab) {
	b.fill(field("Target"), "https://example.org/"+strings.Repeat("long/", 1800))
	b.fill(field("Alias"), demoCode)
	b.submit(button("Create the link"), http.StatusUnprocessableEntity)
}

func setPassword(b *tab) {
	b.fill(field("Password"), password)
	b.follow(button("Set password and sign in"))
}

// endedSession sends a form without a session.
func endedSession(b *tab) {
	b.fill(field("Target"), "https://example.org/typed")
	call(b, network.ClearBrowserCookies, cdp.Empty{})
	b.submit(button("Create the link"), http.StatusUnauthorized)
}

// crossedEdit saves what another tab has changed meanwhile.
func crossedEdit(b *tab) {
	path := strings.TrimPrefix(b.watch.address(), b.base)
	read := eval[map[string]string](b, `Object.fromEntries(["version", "before"].map(n => [n, document.querySelector("[name=" + n + "]").value]))`)
	title := b.value(field("Title"))
	b.fill(field("Title"), "Slides of Ben's talk")
	b.follow(button("Save"))
	b.visit(path, http.StatusOK)
	for name, value := range read { // as a form that was opened before
		on[any](b, b.find(button("Save")), "function(name, value) { this.form.elements[name].value = value }", name, value)
	}
	b.fill(field("Title"), title+", with notes")
	b.submit(button("Save"), http.StatusPreconditionFailed)
}

func openedPurge(b *tab) { b.click(button("Delete now: " + deletedCode)) }

func deletedLink(b *tab) {
	b.follow(button("Delete " + memberCode))
	b.find(button("Undo"))
}

func madeLink(b *tab) {
	b.fill(field("Target"), "https://talks.example.com/2026/ben/slides.pdf")
	b.follow(button("Create the link"))
}

func madeLinks(b *tab) {
	b.fill(field("Addresses or CSV"), "https://talks.example.com/2026/one\nno address\nhttps://talks.example.com/2026/two\nftp://talks.example.com/three")
	b.follow(button("Create the links"))
}

// openedFolds opens the long values of a list.
func openedFolds(b *tab) {
	expect.That(b.t, eval[int](b, `[...document.querySelectorAll('td details')].map(d => d.open = true).length`) != 0, "the list has no long value")
}

// savedFilters keeps what the list shows, and more of the longest words, and goes to the page of filters.
func savedFilters(b *tab) {
	saveFilter(b, "Events, the most followed first")
	b.visit("/_/links?never_hit=true&created_from=2026-01-01&created_to=2026-06-30&owner=all&q="+strings.Repeat("words+", 16), http.StatusOK)
	saveFilter(b, strings.Repeat("Long name ", 3)+strings.Repeat("x", 30))
	b.follow(link("Edit saved filters"))
}

func saveFilter(b *tab, name string) {
	b.unfold("Save this filter", field("Name"))
	b.fill(field("Name"), name)
	b.follow(button("Save"))
}

// refusedFilter gives a filter a name that is none.
func refusedFilter(b *tab) {
	b.visit("/_/links?tag=press", http.StatusOK)
	saveFilter(b, "Press")
	b.follow(link("Edit saved filters"))
	b.fill(field("Name of Press"), strings.Repeat("too long ", 20))
	b.submit(button("Rename Press"), http.StatusUnprocessableEntity)
}

// pickAll selects all links of a page, which are as many as said, and what is done with them; "": nothing.
func pickAll(b *tab, said, what string) {
	b.click(field("Select all on this page"))
	b.fill(field(said), what)
}

func pickedLinks(b *tab) { b.click(field("Select all on this page")) }

func selectedTag(b *tab) {
	pickAll(b, "3 links selected", "Add tags")
	b.follow(button("Apply to selected"))
}

// selectedAll is asked whether all links of a filter are to be deleted.
func selectedAll(b *tab) {
	pickAll(b, "6 links selected", "Delete")
	b.follow(button("Apply to all (6)"))
}

// refusedOwner gives links to nobody.
func refusedOwner(b *tab) {
	pickAll(b, "3 links selected", "Move to another owner")
	b.follow(button("Apply to selected"))
	b.fill(field("New owner"), "nobody@example.com")
	b.submit(button("Move to another owner"), http.StatusUnprocessableEntity)
}

// refusedTags gives a link more tags than it can have.
func refusedTags(b *tab) {
	pickAll(b, "1 link selected", "Add tags")
	b.follow(button("Apply to selected"))
	b.fill(field("Tags"), "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32")
	b.follow(button("Add tags"))
}

// undoneSelected disables links, and takes that back.
func undoneSelected(b *tab) {
	pickAll(b, "3 links selected", "Disable")
	b.follow(button("Apply to selected"))
	b.follow(button("Disable"))
	b.follow(button("Undo"))
}

func madeToken(b *tab) {
	b.fill(field("Name"), "tablet")
	b.follow(button("Create the token"))
}

func invitedUser(b *tab) {
	b.fill(field("E-mail address"), "frank@example.com")
	b.follow(button("Invite"))
}

// importedFile imports a file of which some lines are refused.
func importedFile(b *tab) {
	path := filepath.Join(work, "some.ndjson")
	text := `{"code":"from-elsewhere","url":"https://example.org/a"}` + "\n" + `{"code":"wrong","url":"no address"}` + "\nnothing\n"
	expect.OK(b.t, os.WriteFile(path, []byte(text), 0o600))
	b.choose("file", path)
	b.click(button("Import"))
	b.sees("Done.")
}
