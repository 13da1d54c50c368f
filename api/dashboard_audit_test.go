package api

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"shunt/api/account"
	"shunt/engine/expect"
)

func TestTheAuditLogSaysWhoChangedWhat(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("owner@example.com", account.RoleAdmin)
	st.shorten(`{"url":"https://a.example/","alias":"one","title":"First"}`)
	st.call("PATCH", "/links/one", `{"title":"Second","max_hits":7}`, "X-Request-Id: known-id")
	st.call("POST", "/shorten/bulk", `[{"url":"https://a.example/","alias":"b2"},{"url":"https://a.example/","alias":"a2"},{"url":"x"}]`)
	st.person("ann@example.com", account.RoleMember)
	b.open("/_/audit").want("Audit log",
		"Somebody added a user user 3 E-mail address: ann@example.com Role: member Password: changed",
		"admin with token", "created several links a2 to b2 2 created, 0 there already, 1 refused",
		"known-id admin with token", "edited a link one Click limit: not set → 7 Title: First → Second",
		"created a link one Target: https://a.example/ Owner: 1 Title: First")
	only := b.open("/_/audit?code=one&actor=admin")
	only.want("edited a link one", "created a link one")
	expect.That(t, !strings.Contains(only.text(), "several"), "a filter by code shows %s", only.text())
	b.open("/_/audit?actor=nobody").want("No change matches this search. Clear the search")
	b.open("/_/link/one?owner=all").want("(all changes)")
	b.open("/_/users/3").want("Changes by this user")
}

// Values that somebody typed stay as they are, also if they are like words of ours.
func TestTheAuditLogIsInTheLanguageOfThePage(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("admin@example.com", account.RoleAdmin)
	st.shorten(`{"url":"https://a.example/","alias":"links","title":"none"}`)
	st.call("PATCH", "/links/links", `{"title":null,"note":"yes","max_hits":7000,"disabled":true,"starts_at":"2026-02-03T04:05:06Z","query":"append"}`)
	st.call("POST", "/tokens", `{"name":"all","scopes":["links:read","stats:read"]}`)
	st.call("POST", "/folders", `{"name":"empty","members":[{"user":2,"may":"edit"}]}`)
	b.post("/_/account/language", formType, "language=de")
	page := b.open("/_/audit")
	page.want("Titel: none → leer", "Notiz: leer → yes", "Klickgrenze: nicht gesetzt → 7000", "Deaktiviert: nein → ja",
		"Beginn: nicht gesetzt → 2026-02-03 04:05 UTC", "Was auf ein ? folgt: nicht weitergegeben → an das Ziel angehängt", "Rolle: Admin",
		"admin mit Token", "hat ein Token erzeugt", "Name: all Erlaubt: Links lesen, Statistik lesen", "hat einen Ordner angelegt", "Name: empty",
		"Mitglieder: Benutzer 2: bearbeiten")
	b.open("/_/audit?code=links").want("Link links öffnen", "Titel: none → leer Diesen Wert wiederherstellen")
	expect.Contains(t, b.open("/_/link/links?owner=all").body, "<title>links ·", "a code that is a text of ours")
}

func TestTheSearchOfTheAuditLogHasItsErrorsAtItsFields(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("owner@example.com", account.RoleAdmin)
	const noDate = "Must be a date such as 2026-11-21."
	for _, c := range []struct{ query, field, want string }{
		{"code=a%2F%2Fb", "code", "Is not a code."},
		{"actor=" + strings.Repeat("x", 300), "actor", "Must be at most 256 bytes."},
		{"from=x", "from", noDate}, {"to=2026-02-30", "to", noDate}, {"to=10000-01-01", "to", noDate}, {"from=0000-01-01", "from", noDate},
		{"from=2026-01-02T00:00:00Z", "from", noDate},
		{"from=2026-01-05&to=2026-01-04", "to", "Must not be before the first day."},
		{"from=9999-12-31&to=9999-12-30", "to", "Must not be before the first day."},
	} {
		p := b.get("/_/audit?" + c.query)
		said := `aria-describedby="` + c.field + `-error" autofocus><p class="error" id="` + c.field + `-error">` + c.want + `</p>`
		p.expect(t, c.query, 422, said)
		if strings.Contains(p.body, "data-search") { // the script replaces the list only, and the error would remain
			t.Errorf("%s: the script searches in a form with an error", c.query)
		}
	}
	p := b.get("/_/audit?from=x&code=a%2F%2Fb&to=y")
	expect.Equal(t, strings.Count(p.body, `aria-invalid="true"`), 3, "got %s", p.body)
	p = b.get("/_/audit?cursor=x")
	expect.That(t, p.status == 422 && strings.Contains(p.text(), "The address of this page: is not of this list"), "got %d %s", p.status, p.text())
}

func TestTheLastDayOfAnAuditSearchIsIncluded(t *testing.T) {
	st := newSite(t, nil) // its time is the second of January 2026
	b := st.browseAs("owner@example.com", account.RoleAdmin)
	st.shorten(`{"url":"https://a.example/","alias":"one"}`)
	for query, found := range map[string]bool{
		"from=2026-01-02&to=2026-01-02": true, "to=2026-01-02": true, "to=+2026-01-02+": true, "to=2026-01-01": false, "from=2026-01-03": false,
		"to=9999-12-31": true, "to=9999-12-30": true, "from=2026-01-02&to=9999-12-31": true, "from=9999-12-31&to=9999-12-31": false,
		"to=2527-06-23": true, "to=2527-06-24": true, "from=2600-01-01&to=2700-01-01": false, "from=0001-01-01&to=9999-12-31": true, "to=0001-01-01": false,
	} {
		p := b.open("/_/audit?" + query)
		expect.That(t, strings.Contains(p.text(), "created a link one") == found, "%s: got %s, want the link: %t", query, p.text(), found)
	}
}

func TestTheAuditLogDoesNothingWithHostileValues(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("owner@example.com", account.RoleAdmin)
	const hostile = `</span><script>alert(1)</script>"onload=1`
	st.shorten(fmt.Sprintf(`{"url":"https://a.example/?%s","alias":"one","title":%q}`, "%3Cscript%3E", hostile))
	p := b.open("/_/audit?actor=" + url.QueryEscape(hostile))
	q := b.open("/_/audit")
	if q.want("Title: " + hostile); strings.Contains(p.body+q.body, "<script>alert") || strings.Contains(p.body+q.body, `"onload`) {
		t.Errorf("a value is part of the page: %s", q.body)
	}
}

func TestALongValueOfTheAuditLogIsFolded(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("owner@example.com", account.RoleAdmin)
	was, is := "https://a.example/"+strings.Repeat("a", 8174), "https://b.example/"+strings.Repeat("b", 102)
	st.shorten(`{"url":"` + was + `","alias":"one","tags":["spring","sale"],"title":"` + strings.Repeat("é", 121) + `"}`)
	st.call("PATCH", "/links/one", `{"url":"`+is+`"}`)
	p := b.open("/_/audit?code=one")
	p.want("Target: "+was[:120]+"… 8,192 characters "+was+" → "+is, "Tags: spring, sale", strings.Repeat("é", 120)+"… 121 characters "+strings.Repeat("é", 121))
	if folds := strings.Count(p.body, "<details><summary>"); folds != 3 { // of the target twice, and of the title
		t.Errorf("got %d folds, want 3", folds)
	}
	expect.Equal(t, strings.Count(p.body, was), 2, "the page has the target times")
}

func TestTheAuditLogSaysTheWayInOfEachActor(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("owner@example.com", account.RoleAdmin)
	b.follow(b.open("/_/links").form("/_/links").with("url", "https://a.example/", "alias", "page"))
	send(t, st.localAt, "POST", requestText("POST", "/api/v1/shorten", `{"url":"https://a.example/","alias":"local"}`, "Content-Type: application/json"))
	st.shorten(`{"url":"https://a.example/","alias":"token"}`)
	invited := st.person("new@example.com", account.RoleMember)
	code, _, err := st.accounts.NewSetupCode(account.Caller{}, invited.ID)
	expect.NoError(t, err)
	guest := st.visitor()
	guest.follow(guest.open("/_/setup?code="+code).form("/_/setup").with("password", goodPassword))
	b.open("/_/audit").want("owner@example.com in the dashboard", "Somebody on the server by a local command", "Somebody with a setup link used a setup link")
	text := b.open("/_/audit?code=token").text()
	expect.That(t, regexp.MustCompile(`admin with token \w{16} created a link token`).MatchString(text), "got %s", text)
}

func TestAnAuditLogOfOneLinkOrUserLeadsToItsPage(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("owner@example.com", account.RoleAdmin)
	ann := st.person("ann@example.com", account.RoleMember)
	st.shorten(`{"url":"https://a.example/","alias":"one"}`)
	st.shorten(`{"url":"https://a.example/","alias":"gone"}`)
	st.call("DELETE", "/links/gone", "")
	user := fmt.Sprintf(`<a class="button small" href="/_/users/%d">Open the user ann@example.com</a>`, ann.ID)
	link := `<a class="button small" href="/_/link/one?owner=all">Open the link one</a>`
	for query, want := range map[string][]string{
		"code=one": {link}, "actor=ANN@example.com": {user}, fmt.Sprint("actor=", ann.ID): {user}, "code=one&actor=ann@example.com": {link, user},
		"code=gone": nil, "code=never": nil, "actor=nobody": nil, "actor=99": nil, "": nil, "code=one&from=x": nil,
	} {
		p := b.get("/_/audit?" + query)
		expect.Equal(t, strings.Count(p.body, ">Open the "), len(want), "%s: got %s, want %q", query, p.body, want)
		for _, text := range want {
			expect.Contains(t, p.body, text, query)
		}
	}
	b.open("/_/link/one?owner=all")
	b.open(fmt.Sprint("/_/users/", ann.ID))
}

func TestThePagesOfTheAuditLogKeepEveryFilter(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("owner@example.com", account.RoleAdmin)
	st.shorten(`{"url":"https://a.example/","alias":"one"}`)
	for i := range 40 {
		st.call("PATCH", "/links/one", fmt.Sprintf(`{"title":"title %02d"}`, i))
		st.shorten(fmt.Sprintf(`{"url":"https://a.example/","alias":"p%02d"}`, i))
	}
	const search = "actor=admin&code=one&from=2026-01-02&to=2026-01-02"
	first := b.open("/_/audit?" + search)
	next := b.open(first.linked(t, "next"))
	if next.want("title 00", "created a link one"); strings.Contains(next.text(), "link p0") {
		t.Errorf("the filters are lost: %s", next.text())
	}
	for _, field := range []string{`name="actor" value="admin"`, `name="code" value="one"`, `name="from" type="date" value="2026-01-02"`, `name="to" type="date" value="2026-01-02"`} {
		expect.That(t, strings.Contains(next.body, field), "the form has lost %s", field)
	}
	expect.Equal(t, next.linked(t, "first"), "/_/audit?"+search, "the first page")
	end := b.open("/_/audit?" + search + "&cursor=1")
	end.want("There are no more changes that match. Back to the first page")
	expect.Equal(t, end.linked(t, "first"), "/_/audit?"+search, "after the last page")
	end = b.open("/_/audit?cursor=1")
	end.want("There are no more changes. Back to the first page")
	expect.Equal(t, end.linked(t, "first"), "/_/audit", "after the last page")
}

// linked returns the address of the one link of a page that has that relation.
func (p *shown) linked(t *testing.T, rel string) string {
	t.Helper()
	links := regexp.MustCompile(`rel="`+rel+`" href="([^"]+)"`).FindAllStringSubmatch(p.body, -1)
	expect.MustEqual(t, len(links), 1, "%s links rel=%s", p.path, rel)
	return strings.ReplaceAll(links[0][1], "&amp;", "&")
}

func TestTheAuditLogHasPages(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("owner@example.com", account.RoleAdmin)
	for i := range 45 {
		st.shorten(fmt.Sprintf(`{"url":"https://a.example/","alias":"p%02d"}`, i))
	}
	p := b.open("/_/audit?actor=admin&from=2026-01-01")
	p.want("p44", "p20", "Older")
	expect.MustThat(t, !strings.Contains(p.text(), "p19") && !strings.Contains(p.text(), "Newest"), "got %s", p.body)
	next := b.open(p.linked(t, "next"))
	next.want("Newest", "p19", "p00")
	expect.That(t, !strings.Contains(next.text(), "p20") && !strings.Contains(next.text(), "Older"), "got %s", next.text())
}
