package browser

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/runtime"

	"shunt/engine/expect"
)

// A desk is a server with one admin, who is signed in at a tab and has a token.
type desk struct {
	*server
	*tab
	t       *testing.T
	base    string
	token   string
	session []*http.Cookie
}

// hands are the ways to open a tab, for tests that hold with and without script.
var hands = map[string]func(*testing.T, string) *tab{"script": openTab, "no script": openTabWithoutScript}

// withAndWithoutScript runs a test on two desks, in the short form on the one with script.
func withAndWithoutScript(t *testing.T, test func(d *desk)) {
	needBrowser(t)
	for name, open := range hands {
		if short() && name != "script" {
			continue
		}
		t.Run(name, func(t *testing.T) { test(openDesk(t, localhost, open)) })
	}
}

// openDesk starts a server for a way, and opens a tab of its admin.
func openDesk(t *testing.T, w way, open func(*testing.T, string) *tab, flags ...string) *desk {
	t.Helper()
	needBrowser(t)
	d := &desk{server: startServer(t, w, append([]string{"--limit-creates", "off", "--limit-calls", "off", "--limit-logins", "off"}, flags...)...), t: t}
	d.base = d.server.base
	d.addUser(d.server.token(), emails[admin], "admin")
	d.token = d.run("", "token", "add", "--user", emails[admin], "--name", "laptop")
	d.session = d.logIn(emails[admin], password)
	d.tab = open(t, d.base)
	d.enter(d.session)
	return d
}

// mark marks the document, so that unmarked notices when another one has taken its place.
func (b *tab) mark() {
	b.t.Helper()
	eval[any](b, "document.marked = true")
}

// sameDocument checks that no page was loaded since mark.
func (b *tab) sameDocument() {
	b.t.Helper()
	if !eval[bool](b, "document.marked === true") {
		b.t.Errorf("%s: the page was loaded again", b.watch.address())
	}
}

// reads returns the text of the element that a selector finds first, "" if there is none.
func (b *tab) reads(selector string) string {
	b.t.Helper()
	return strings.TrimSpace(read[string](b, "document.querySelector("+jsonOf(selector)+")?.textContent ?? ''"))
}

// choose puts a file of this machine into the field of that name.
func (b *tab) choose(name, path string) {
	b.t.Helper()
	b.clicks += 2 // the browser asks for the file
	expression := "document.querySelector(" + jsonOf(`input[type=file][name="`+name+`"]`) + ")"
	object := call(b, runtime.Evaluate, runtime.EvaluateParams{Expression: expression}).Result.ObjectID
	call(b, dom.SetFileInputFiles, dom.SetFileInputFilesParams{Files: []string{path}, ObjectID: object})
}

// codes returns the codes of the admin's links, the newest first.
func (d *desk) codes() (codes []string) {
	d.t.Helper()
	for _, l := range answerOf[struct{ Data []shortLink }](d.server, d.token, http.MethodGet, "/links?limit=100", nil).Data {
		codes = append(codes, l.Code)
	}
	return codes
}

// writeFile writes a file into a folder of the test, and returns its path.
func writeFile(t *testing.T, name string, content []byte) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	expect.OK(t, os.WriteFile(path, content, 0o600))
	return path
}

// delay delays all answers to the tab.
func (b *tab) delay(by time.Duration) {
	b.t.Helper()
	emulate := cdp.Command[map[string]any, cdp.Empty]{Method: "Network.emulateNetworkConditions"}
	call(b, emulate, map[string]any{"offline": false, "latency": by.Milliseconds(), "downloadThroughput": -1, "uploadThroughput": -1})
}

// seesLines waits until the page shows each of the texts.
func (b *tab) seesLines(texts ...string) {
	b.t.Helper()
	for _, text := range texts {
		b.sees(text)
	}
}
