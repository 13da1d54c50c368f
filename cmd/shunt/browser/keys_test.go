package browser

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"

	"shunt/engine/expect"
)

// control presses a letter with Ctrl, which is 2 in the protocol of the browser.
func (b *tab) control(letter string) {
	b.t.Helper()
	b.strokes++
	for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeRawKeyDown, input.DispatchKeyEventTypeKeyUp} {
		code := int64(strings.ToUpper(letter)[0])
		call(b, input.DispatchKeyEvent, input.DispatchKeyEventParams{
			Type: kind, Modifiers: 2, Key: letter, Code: "Key" + strings.ToUpper(letter), WindowsVirtualKeyCode: code,
		})
	}
}

const openWindow = "dialog[open]"

// shows waits until the page has something that is to be seen.
func (b *tab) shows(selector string) {
	b.t.Helper()
	b.until("there is "+selector, func() bool {
		return eval[bool](b, "!!document.querySelector(`"+selector+"`)?.checkVisibility()")
	})
}

// lacks waits until the page has nothing of a selector.
func (b *tab) lacks(selector string) {
	b.t.Helper()
	b.until("there is no "+selector, func() bool { return eval[bool](b, "!document.querySelector(`"+selector+"`)") })
}

const inFocus = "document.activeElement.id || document.activeElement.textContent.trim()"

func TestThePaletteLeadsToPagesActionsAndLinks(t *testing.T) {
	d := startDemo(t)
	b := d.open(t, row{path: "/_/", as: admin})
	find := func(words, first string) {
		t.Helper()
		b.control("k")
		b.shows(openWindow)
		call(b, input.InsertText, input.InsertTextParams{Text: words})
		b.until("it finds "+first, func() bool {
			return strings.Contains(eval[string](b, "document.querySelector('dialog .found a')?.textContent ?? ''"), first)
		})
	}
	for words, path := range map[string]string{
		"Tok": "/_/tokens", "audit": "/_/audit", "shorten": "/_/links/new", "handbook colleagues": "/_/link/handbook",
	} {
		name := map[string]string{"Tok": "Tokens", "audit": "Audit log", "shorten": "New link", "handbook colleagues": "Handbook for new colleagues"}[words]
		find(words, name)
		b.loading(http.StatusOK, func() { b.key("Enter") })
		b.isAt(path)
	}

	// What can be done with the link whose page this is comes first. The arrows go through the entries.
	b.visit("/_/link/jobs", http.StatusOK)
	find("jobs", "Figures of jobs")
	b.key("ArrowDown")
	b.key("ArrowDown")
	expect.Equal(t, eval[string](b, inFocus), "Edit jobs", "in focus")
	b.key("ArrowUp")
	b.key("ArrowUp")
	expect.Equal(t, eval[string](b, "document.activeElement.type"), "text", "in focus")
	b.key("Escape")
	b.lacks(openWindow)
	b.isAt("/_/link/jobs")

	// By mouse, too; and what is found is read aloud inside the window.
	b.click(link("Go to a page, an action or a link"))
	b.shows(openWindow)
	b.shows(openWindow + " .found a")
	for i := range 2 {
		look := looks(i)[0]
		b.resize(look.width)
		b.colours(look.colours)
		b.wantAccessible(look)
	}
	b.click(field("Go to a page, an action or a link"))
	call(b, input.InsertText, input.InsertTextParams{Text: "zzz"})
	b.until("it says so", func() bool { return b.reads("dialog [aria-live]") == "nothing found" })
	b.click(button("Close"))
	b.lacks(openWindow)
}

func TestThePaletteIsAPageWithoutScript(t *testing.T) {
	d := startDemo(t)
	b := openTabWithoutScript(t, d.base)
	b.enter(d.sessions[member])
	b.visit("/_/links", http.StatusOK)
	b.follow(link("Go to a page, an action or a link"))
	b.fill(field("Page, action or link"), "talk")
	b.follow(button("Find"))
	b.sees("Links")
	b.seesNot("Audit log", "handbook")
	b.visit("/_/go", http.StatusOK)
	b.seesNot("Audit log", "Users") // they are pages of admins
	b.follow(link("Set up an app"))
	b.isAt("/_/tokens/apps")
}

func TestEachKeyDoesWhatItsHelpSays(t *testing.T) {
	d := startDemo(t)
	b := d.open(t, row{path: "/_/tags", as: admin})
	b.loading(http.StatusOK, func() { b.key("/") })
	b.isAt("/_/links")
	b.until("the search has the focus", func() bool { return eval[string](b, inFocus) == "q" })
	b.key("n") // is text here
	b.isAt("/_/links")
	expect.Equal(t, eval[string](b, inFocus), "q", "the search keeps the focus")
	eval[any](b, "document.activeElement.blur()")
	b.key("n")
	b.until("the field of the new link has the focus", func() bool { return eval[string](b, "document.activeElement.name") == "url" })

	b.visit("/_/link/jobs", http.StatusOK)
	b.key("c")
	b.find(button("Copied"))
	b.visit("/_/?period=7d", http.StatusOK)
	b.loading(http.StatusOK, func() { b.key("ArrowLeft") })
	expect.That(t, b.query("from") != "" && b.query("to") > b.query("from"), "the time before is from %q to %q", b.query("from"), b.query("to"))
	b.loading(http.StatusOK, func() { b.key("ArrowRight") })
	expect.Equal(t, b.query("period"), "7d", "the time after is the one before")
	b.loading(http.StatusOK, func() { b.click(link("Earlier")) })

	b.key("?")
	b.shows(openWindow)
	b.sees("Earlier and later figures")
	b.click(field("Use the keys that are a single letter or sign in this browser"))
	b.key("Escape")
	b.lacks(openWindow)
	b.key("?")
	b.control("k") // still works, and would not if the window of the help were open
	b.until("the palette is open", func() bool { return eval[string](b, "document.activeElement.type") == "text" })
	b.key("Escape")
	b.visit("/_/keys", http.StatusOK)
	b.click(field("Use the keys that are a single letter or sign in this browser"))
	b.loading(http.StatusOK, func() { b.key("n") })
	b.isAt("/_/links/new")
}

// A row that has the focus is the one whose address is copied.
func TestTheKeyOfCopyingGoesByTheRow(t *testing.T) {
	d := startDemo(t)
	b := d.open(t, row{path: "/_/links", as: admin})
	eval[any](b, `document.querySelector('.rows a[href="/_/link/donate"]').focus()`)
	b.key("c")
	b.until("the button of the row says so", func() bool { return b.reads(`[aria-label="Copy donate"]`) == "Copied" })
}
