package browser

import (
	"net/http"
	"os"
	"testing"
)

// A row is a page that people see. Each row is checked by TestEveryPage and drawn by make
// screenshots, on the store that fillDemo fills.
type row struct {
	name   string // of its pictures
	path   string
	as     person
	status int        // 0: 200
	then   func(*tab) // what is done before the page is looked at; nil: nothing
}

// pages is the one table of pages. A row about a link uses a code of demo_test.go.
var pages = []row{
	{name: "landing", path: "/"},
	{name: "preview", path: "/" + demoCode + "+"},
	{name: "docs", path: "/_/docs"},
	{name: "error-unknown", path: "/no-such-code", status: http.StatusNotFound},
	{name: "error-disabled", path: "/" + disabledCode, status: http.StatusGone},
	{name: "error-used-up", path: "/" + usedUpCode, status: http.StatusGone},
}

// A person is who looks at a page.
type person int

const (
	stranger person = iota
	admin
	member
	newcomer // who has made nothing yet
)

// emails has the accounts of the demo, without strangers.
var emails = map[person]string{admin: "ann@example.com", member: "ben@example.com", newcomer: "carla.with-a-long-name@accounting.example.com"}

// A demo is a server with plausible data, and the session of each person.
type demo struct {
	*server
	sessions map[person][]*http.Cookie
}

// startDemo starts a server with the demo's data.
func startDemo(t *testing.T) *demo {
	t.Helper()
	needBrowser(t)
	d := &demo{server: startServer(t, localhost), sessions: make(map[person][]*http.Cookie)}
	d.fillDemo()
	for p, email := range emails { // once, because logins are limited
		d.sessions[p] = d.logIn(email, password)
	}
	return d
}

// open opens the page of a row in a new tab of t's, as the row's person.
func (d *demo) open(t *testing.T, r row) *tab {
	t.Helper()
	b := openTab(t, d.base)
	b.enter(d.sessions[r.as])
	b.show(r)
	return b
}

// show loads the page of a row.
func (b *tab) show(r row) {
	b.t.Helper()
	if r.status == 0 {
		r.status = http.StatusOK
	}
	b.visit(r.path, r.status)
	if r.then != nil {
		r.then(b)
	}
}

func TestEveryPage(t *testing.T) {
	d := startDemo(t)
	for _, r := range pages {
		t.Run(r.name, func(t *testing.T) {
			b := d.open(t, r)
			b.stops()
			for _, width := range []int64{360, 768, 1280, 1920} {
				b.resize(width)
				b.wantNoSideways(width)
			}
			for _, look := range looks() {
				b.resize(look.width)
				b.colours(look.colours)
				b.wantAccessible(look)
			}
		})
	}
}

// A look is a window and a scheme of colours.
type look struct {
	colours string
	width   int64
}

func (l look) String() string {
	if l.width < 600 {
		return l.colours + "-phone"
	}
	return l.colours
}

// looks returns those under which each page is checked.
func looks() []look {
	all := []look{{"light", 1280}, {"dark", 360}, {"dark", 1280}, {"light", 360}}
	if short() {
		return all[:2]
	}
	return all
}

// screenshots is the folder that make screenshots names.
func screenshots(t *testing.T) string {
	t.Helper()
	folder := os.Getenv(screenshotsVariable)
	if folder == "" {
		t.Skip("make screenshots runs this test")
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	return folder
}
