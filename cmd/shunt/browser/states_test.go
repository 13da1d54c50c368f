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
	b.until("its zone is known", func() bool { // a page that gets a cookie is not kept for the way back
		b.reload()
		return eval[string](b, "document.body.dataset.zone") != ""
	})
	before := b.value(field("Title"))
	b.fill(field("Title"), "Slides of Ben's talk")
	b.follow(button("Save"))
	b.back()
	on[any](b, b.find(field("Title")), "function(text) { this.value = text }", before+", with notes")
	b.submit(button("Save"), http.StatusPreconditionFailed)
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
