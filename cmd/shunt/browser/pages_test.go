package browser

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"shunt/engine/expect"
)

// A row is a page that people see. Each row is checked by TestEveryPage and drawn by make
// screenshots, on the store that fillDemo fills.
type row struct {
	name   string // of its pictures
	path   string
	setup  person // who has a new setup link, which leads to the page; stranger: nobody, path does
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
	{name: "locked", path: "/" + lockedCode, status: http.StatusUnauthorized},
	{name: "locked-wrong", path: "/" + lockedCode, status: http.StatusUnauthorized, then: wrongPassword},
	{name: "locked-preview", path: "/" + lockedCode + "+", status: http.StatusUnauthorized},

	{name: "sign-in", path: "/_/sign-in"},
	{name: "sign-in-refused", path: "/_/sign-in", then: refusedSignIn},
	{name: "setup-refused", path: "/_/setup?code=0000000000000000000000", status: http.StatusNotFound},
	{name: "setup", setup: newcomer},
	{name: "welcome", setup: invited, then: setPassword},
	{name: "folder-member", path: "/_/folders/1", as: leaver},
	{name: "folder-leave", path: "/_/folders/1/leave", as: leaver},
	{name: "sign-in-again", path: "/_/links/new", as: leaver, then: endedSession},
	{name: "overview", path: "/_/", as: admin},
	{name: "overview-empty", path: "/_/", as: newcomer},
	{name: "account", path: "/_/account", as: admin},
	{name: "links", path: "/_/links", as: admin},
	{name: "links-found", path: "/_/links?tag=events&state=active", as: admin},
	{name: "links-none", path: "/_/links?q=zzz", as: admin},
	{name: "links-empty", path: "/_/links", as: newcomer},
	{name: "filters", path: "/_/links?tag=events&state=active&sort=hits", as: admin, then: savedFilters},
	{name: "filters-refused", path: "/_/links/filters", as: admin, then: refusedFilter},
	{name: "filters-empty", path: "/_/links/filters", as: newcomer},
	{name: "selected-tag", path: "/_/links?tag=summer", as: admin, then: selectedTag},
	{name: "selected-delete", path: "/_/links?tag=events", as: admin, then: selectedAll},
	{name: "selected-refused", path: "/_/links?tag=summer", as: admin, then: refusedOwner},
	{name: "selected-done", path: "/_/links?tag=exhibition", as: admin, then: refusedTags},
	{name: "selected-undone", path: "/_/links?tag=summer", as: admin, then: undoneSelected},
	{name: "links-kept", path: "/_/links?tag=events&state=active&sort=hits", as: admin, then: pickedLinks},
	{name: "trash", path: "/_/links/trash?owner=all", as: admin, then: openedPurge},
	{name: "trash-empty", path: "/_/links/trash", as: newcomer},
	{name: "link-new", path: "/_/links/new", as: admin},
	{name: "link-refused", path: "/_/links/new", as: admin, then: refusedLink},
	{name: "links-check", path: "/_/links/check?tag=events", as: admin},
	{name: "campaigns", path: "/_/campaigns", as: admin},
	{name: "links-bulk", path: "/_/links/bulk", as: admin},
	{name: "link", path: "/_/link/" + demoCode, as: admin},
	{name: "link-locked", path: "/_/link/" + lockedCode, as: admin},
	{name: "link-locked-edit", path: "/_/link/" + lockedCode + "/edit", as: admin},
	{name: "link-disabled", path: "/_/link/" + disabledCode, as: admin},
	{name: "link-edit", path: "/_/link/" + demoCode + "/edit", as: admin},
	{name: "link-delete", path: "/_/link/" + demoCode + "/delete", as: admin},
	{name: "link-reset", path: "/_/link/" + demoCode + "/reset", as: admin},
	{name: "link-owner", path: "/_/link/" + demoCode + "/owner", as: admin},
	{name: "link-foreign", path: "/_/link/" + demoCode, as: member, status: http.StatusNotFound},
	{name: "link-today", path: "/_/link/" + demoCode + "?period=today", as: admin},
	{name: "link-dates", path: "/_/link/" + demoCode + "?from=2026-02-30", as: admin, status: http.StatusUnprocessableEntity},
	{name: "link-qr", path: "/_/link/" + demoCode + "/qr?color=%231d3557&mm=30", as: admin},
	{name: "link-qr-refused", path: "/_/link/" + disabledCode + "/qr?color=%23ccc&mm=1&transparent=1", as: admin, status: http.StatusUnprocessableEntity},
	{name: "compare", path: "/_/compare?codes=" + demoCode + ",jobs,tickets,nl-42," + longCode + "&period=7d", as: admin},
	{name: "compare-one", path: "/_/compare?codes=" + demoCode, as: admin},
	{name: "tag-figures", path: "/_/tags/figures?tag=events&period=7d", as: admin},
	{name: "by-country", path: "/_/by?country=US", as: admin},
	{name: "by-site", path: "/_/by?site=Facebook&code=" + demoCode, as: admin},
	{name: "tags", path: "/_/tags", as: admin},
	{name: "tags-empty", path: "/_/tags", as: newcomer},
	{name: "tag-rename", path: "/_/tags/rename?tag=EVENTS", as: admin},
	{name: "tag-delete", path: "/_/tags/delete?tag=events", as: admin},
	{name: "folders", path: "/_/folders", as: member},
	{name: "folders-admin", path: "/_/folders", as: admin},
	{name: "folders-none", path: "/_/folders", as: newcomer},
	{name: "folder", path: "/_/folders/1", as: member},
	{name: "folder-figures", path: "/_/folders/1/figures", as: member},
	{name: "folder-delete", path: "/_/folders/1/delete", as: member},
	{name: "links-folder", path: "/_/links?folder=1", as: member},
	{name: "tokens", path: "/_/tokens", as: admin},
	{name: "tokens-empty", path: "/_/tokens", as: newcomer},
	{name: "apps", path: "/_/tokens/apps", as: admin},
	{name: "users", path: "/_/users", as: admin},
	{name: "user", path: "/_/users/2", as: admin},
	{name: "user-delete", path: "/_/users/3/delete", as: admin},
	{name: "all-tokens", path: "/_/all-tokens", as: admin},
	{name: "all-tokens-none", path: "/_/all-tokens?begins_with=nothing", as: admin},
	{name: "domains", path: "/_/domains", as: admin},
	{name: "domain", path: "/_/domains/" + demoDomain, as: admin},
	{name: "domain-delete", path: "/_/domains/" + demoDomain + "/delete", as: admin},
	{name: "misses", path: "/_/misses", as: admin},
	{name: "misses-domain", path: "/_/misses?domain=" + demoDomain, as: admin},
	{name: "misses-refused", path: "/_/misses?domain=nobody.test", as: admin, status: http.StatusUnprocessableEntity},
	{name: "go", path: "/_/go?at=%2F_%2Flink%2F" + demoCode, as: admin},
	{name: "go-found", path: "/_/go?q=sale", as: admin},
	{name: "go-none", path: "/_/go?q=zzz", as: member},
	{name: "keys", path: "/_/keys", as: member},
	{name: "transfer", path: "/_/transfer", as: admin},
	{name: "audit", path: "/_/audit", as: admin},
	{name: "audit-folds", path: "/_/audit?code=" + longCode + "&actor=" + emails[admin], as: admin, then: openedFolds},
	{name: "audit-none", path: "/_/audit?actor=nobody", as: admin},
	{name: "audit-end", path: "/_/audit?code=" + longCode + "&cursor=1", as: admin},
	{name: "audit-refused", path: "/_/audit?code=a%2Fb&from=2026-02-02&to=2026-02-01", as: admin, status: http.StatusUnprocessableEntity},
	{name: "system", path: "/_/system", as: admin},
	{name: "edges", path: "/_/system/edges", as: admin},
	{name: "edge-forget", path: "/_/system/edges/oslo/forget", as: admin},

	{name: "link-crossed", path: "/_/link/" + memberCode + "/edit", as: member, then: crossedEdit},
	{name: "link-made", path: "/_/links", as: member, then: madeLink},
	{name: "link-deleted", path: "/_/link/" + memberCode + "/delete", as: member, then: deletedLink},
	{name: "link-restored", path: "/_/links/trash", as: member, then: func(b *tab) { b.follow(button("Restore " + memberCode)) }},
	{name: "link-undo", path: "/_/link/" + memberCode, as: member, then: func(b *tab) { b.follow(button("Disable")) }},
	{name: "link-undone", path: "/_/link/" + memberCode, as: member, then: func(b *tab) { b.follow(button("Enable")); b.follow(button("Undo")) }},
	{name: "links-bulk-done", path: "/_/links/bulk", as: member, then: madeLinks},
	{name: "token-made", path: "/_/tokens", as: member, then: madeToken},
	{name: "app-made", path: "/_/tokens/apps", as: member, then: func(b *tab) { b.follow(button("Create a token for ShareX")) }},
	{name: "token-revoke", path: "/_/tokens", as: member, then: func(b *tab) { b.follow(link("Revoke phone")) }},
	{name: "user-invited", path: "/_/users", as: admin, then: invitedUser},
	{name: "transfer-done", path: "/_/transfer", as: admin, then: importedFile},
	{name: "export-member", path: "/_/transfer", as: member},
}

// A person is who looks at a page.
type person int

const (
	stranger person = iota
	admin
	member
	newcomer // who has made nothing yet
	leaver   // whose session ends
	invited  // who has no password yet
)

// emails has the accounts of the demo, without strangers.
var emails = map[person]string{admin: "ann@example.com", member: "ben@example.com", newcomer: "carla.with-a-long-name@accounting.example.com", leaver: "dan@example.com", invited: "eve@example.com"}

// A demo is a server with plausible data, and the session of each person.
type demo struct {
	*server
	sessions map[person][]*http.Cookie
}

// startDemo starts a server with the demo's data.
func startDemo(t *testing.T, flags ...string) *demo {
	t.Helper()
	needBrowser(t)
	flags = append(flags, "--trusted-proxy", "127.0.0.1,::1", "--country-header", countryHeader, "--fetch-titles")
	d := &demo{server: startServer(t, localhost, flags...), sessions: make(map[person][]*http.Cookie)}
	d.fillDemo()
	for p, email := range emails { // once, because logins are limited
		if p != invited {
			d.sessions[p] = d.logIn(email, password)
		}
	}
	return d
}

// open opens the page of a row in a new tab of t's, as the row's person.
func (d *demo) open(t *testing.T, r row) *tab {
	t.Helper()
	b := openTab(t, d.base)
	b.enter(d.sessions[r.as])
	if r.setup != stranger {
		link := d.run("", "user", "setup-link", emails[r.setup])
		r.path = link[strings.Index(link, "/_/"):]
	}
	if r.status == 0 {
		r.status = http.StatusOK
	}
	b.visit(r.path, r.status)
	if r.then != nil {
		r.then(b)
	}
	return b
}

func TestEveryPage(t *testing.T) {
	d := startDemo(t)
	for i, r := range pages {
		t.Run(r.name, func(t *testing.T) {
			b := d.open(t, r)
			b.wantLight()
			if r.name != "docs" || !short() { // its stops are many and alike
				b.stops()
			}
			for _, width := range []int64{360, 768, 1440, 1920} {
				b.resize(width)
				b.wantNoSideways(width)
			}
			for _, look := range looks(i) {
				b.resize(look.width)
				b.colours(look.colours)
				b.wantAccessible(look)
			}
		})
	}
}

// TestPagesOfYearsAreLight: a link and its tag have hits on each of 400 days, of which pages show all.
func TestPagesOfYearsAreLight(t *testing.T) {
	d := openDesk(t, localhost, openTab)
	const days = 400
	var lines strings.Builder
	for i := range 3 {
		var daily []string
		for n := range days {
			day := time.Now().UTC().AddDate(0, 0, n-days)
			daily = append(daily, fmt.Sprintf(`{"day":%q,"hits":%d}`, day.Format(time.DateOnly), 1000+(n*7919+i*31)%9000))
		}
		fmt.Fprintf(&lines, `{"code":"years-%d","url":"https://example.org/%d","tags":["years"],"hits":4000000,"daily":[%s]}`+"\n", i, i, strings.Join(daily, ","))
	}
	d.run(lines.String(), "import", "--user", emails[admin], "-")
	for i, path := range []string{"/_/?period=all", "/_/?period=all&owner=all", "/_/link/years-1?period=all", "/_/tags/figures?tag=years&period=all", "/_/compare?codes=years-0,years-1,years-2&period=all", "/_/link/years-1?period=90d"} {
		d.visit(path, http.StatusOK)
		d.wantLight()
		for _, width := range []int64{360, 1440} {
			d.resize(width)
			d.wantNoSideways(width)
		}
		d.wantAccessible(looks(i)[0])
	}
}

// Words of another language are longer. Pages that are reached by what they say in English are left out.
func TestEveryPageInGerman(t *testing.T) {
	d := startDemo(t)
	for i, r := range pages {
		if r.as == stranger || r.then != nil || short() && i%4 != 0 {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			b := openTab(t, d.base)
			b.enter(d.sessions[r.as])
			b.speak("de")
			b.visit(r.path, cmp.Or(r.status, http.StatusOK))
			expect.Equal(t, eval[string](b, "document.documentElement.lang"), "de", "the language")
			b.wantLight()
			for _, width := range []int64{360, 768, 1440} {
				b.resize(width)
				b.wantNoSideways(width)
			}
			b.wantAccessible(looks(i / 4)[i%2])
		})
	}
}

// A look is a window and a scheme of colours.
type look struct {
	colours string
	width   int64
}

func (l look) String() string {
	switch {
	case l.width < 600:
		return l.colours + "-phone"
	case l.width < 1000:
		return l.colours + "-tablet"
	case l.width > 1500:
		return l.colours + "-wide"
	}
	return l.colours
}

// looks returns those under which the ith page is checked: in the short form each width in one scheme of colours, in
// turn.
func looks(i int) []look {
	all := []look{{"light", 1440}, {"dark", 360}, {"dark", 1440}, {"light", 360}}
	if short() {
		return all[i%2*2 : i%2*2+2]
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
	expect.OK(t, os.MkdirAll(folder, 0o777))
	return folder
}
