package api

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"shunt/api/account"
	"shunt/api/dashboard"
	"shunt/api/folder"
	"shunt/engine/expect"
)

// This file is the matrix of roles × calls × pages × folders: who gets what of a link that is in a folder, and is
// somebody else's. That a table has a row for whatever names a link or a folder, its test holds.

// folderTable is accessTable for callers by their right in a folder, with each of its lines that names a link or a
// folder. {code} is a link of the owner in the folder, {deleted} one that was there when it was deleted, {folder} an
// empty folder of the same members.
//
//	reads, edits     members, who may read or edit
//	keeper           the owner of the folder, to whom no link in it belongs
//	stranger         a member of the server, not of the folder
//	admin, areads    admins; the second may also read as a member of the folder
//	viewer           a viewer; vreads and vedits are members of the folder, too
const folderTable = `
request                                 reads edits keeper stranger admin areads viewer vreads vedits
GET /links/{code}                       200   200   200    404      404   200    404    200    200
GET /links/{code}?owner=all             403   403   403    403      200   200    200    200    200
GET /links/{code}?owner={owner}         403   403   403    403      200   200    200    200    200
GET /links/{code}?owner={other}         403   403   403    403      404   404    404    404    404
PATCH /links/{code}                     404   200   200    404      404   404    403    403    403
PATCH /links/{code}?owner=all           403   403   403    403      200   200    403    403    403
POST /links/{code}/reset                404   404   404    404      404   404    403    403    403
POST /links/{code}/reset?owner=all      403   403   403    403      200   200    403    403    403
GET /links/{code}/qr                    200   200   200    404      404   200    404    200    200
GET /links/{code}/qr?owner=all          403   403   403    403      200   200    200    200    200
POST /links/{code}/qr                   200   200   200    404      404   200    404    200    200
POST /links/{code}/qr?owner=all         403   403   403    403      200   200    200    200    200
POST /links/{deleted}/restore           404   404   404    404      404   404    403    403    403
POST /links/{deleted}/restore?owner=all 403   403   403    403      200   200    403    403    403
DELETE /links/{deleted}?purge=true      404   404   404    404      404   404    403    403    403
GET /links/{deleted}                    404   404   404    404      404   404    404    404    404
DELETE /links/{code}                    404   204   204    404      404   404    403    403    403
DELETE /links/{code}?purge=true         404   404   404    404      404   404    403    403    403
DELETE /links/{code}?owner=all          403   403   403    403      204   204    403    403    403
GET /stats/{code}                       200   200   200    404      404   200    404    200    200
GET /stats/{code}?owner=all             403   403   403    403      200   200    200    200    200
GET /stats/{code}?interval=day          200   200   200    404      404   200    404    200    200
GET /stats/{code}/live                  200   200   200    404      404   200    404    200    200
GET /stats/{code}/live?owner={owner}    403   403   403    403      200   200    200    200    200
GET /folders/{folder}                   200   200   200    404      200   200    200    200    200
PATCH /folders/{folder}                 403   403   200    404      200   200    403    403    403
DELETE /folders/{folder}                403   403   204    404      204   204    403    403    403
DELETE /folders/{folder}/members/{user} 403   403   204    404      204   204    403    403    403
GET /stats?folder={folder}              200   200   200    404      200   200    200    200    200
GET /export?folder={folder}             200   200   200    404      200   200    200    200    200
GET /links?folder={folder}              200   200   200    404      200   200    200    200    200
`

// pageTable is folderTable for pages and forms: those with a link or a folder in their path, and those that name one in
// a parameter, or in a field, which the row has after a #. A form without such fields has everyField. {full} is a
// folder with a link of the owner. A cell with ! has changed the link or the folder, and no other has. The answer of a
// cell with - is that for a link or folder that is not there; so are all from 400 on except 422.
const pageTable = `
page                                                                     reads edits keeper stranger admin areads viewer vreads vedits
GET /_/link/{code}                                                       200   200   200    404      404   200    200    200    200
GET /_/link/{code}?owner=all                                             403   403   403    403      200   200    200    200    200
GET /_/link/{code}/edit                                                  404   200   200    404      404   404    404    404    404
GET /_/link/{code}/edit?owner=all                                        403   403   403    403      200   200    404    404    404
POST /_/link/{code}/edit                                                 404   303!  303!   404      404   404    404    404    404
POST /_/link/{code}/edit?owner=all                                       403   403   403    403      303!  303!   404    404    404
POST /_/link/{code}/disabled                                             404   303!  303!   404      404   404    404    404    404
POST /_/link/{code}/disabled?owner=all                                   403   403   403    403      303!  303!   404    404    404
POST /_/link/{code}/undo#patch={"title":"t"}                             404   303!  303!   404      404   404    404    404    404
POST /_/link/{code}/undo?owner=all#patch={"title":"t"}                   403   403   403    403      303!  303!   404    404    404
POST /_/link/{code}/undo#entry=1&field=title                             404   404   404    404      404   404    404    404    404
GET /_/link/{code}/reset                                                 404   404   404    404      404   404    404    404    404
GET /_/link/{code}/reset?owner=all                                       403   403   403    403      200   200    404    404    404
POST /_/link/{code}/reset                                                404   404   404    404      404   404    404    404    404
POST /_/link/{code}/reset?owner=all                                      403   403   403    403      303!  303!   404    404    404
GET /_/link/{code}/owner                                                 404   404   404    404      404   404    404    404    404
GET /_/link/{code}/owner?owner=all                                       404   404   404    404      200   200    404    404    404
POST /_/link/{code}/owner                                                404   404   404    404      404   404    404    404    404
POST /_/link/{code}/owner?owner=all                                      404   404   404    404      303!  303!   404    404    404
GET /_/link/{code}/delete                                                404   200   200    404      404   404    404    404    404
GET /_/link/{code}/delete?owner=all                                      403   403   403    403      200   200    404    404    404
POST /_/link/{code}/delete                                               404   303!  303!   404      404   404    404    404    404
POST /_/link/{code}/delete?owner=all                                     403   403   403    403      303!  303!   404    404    404
GET /_/link/{code}/qr                                                    200   200   200    404      404   200    200    200    200
GET /_/link/{code}/qr?owner=all                                          403   403   403    403      200   200    200    200    200
GET /_/link/{code}/qr.svg                                                200   200   200    404      404   200    200    200    200
GET /_/link/{code}/qr.png                                                200   200   200    404      404   200    200    200    200
GET /_/link/{code}/qr.pdf                                                200   200   200    404      404   200    200    200    200
POST /_/link/{code}/qr                                                   422   422   422    404      404   422    404    422    422
POST /_/link/{code}/qr?owner=all                                         403   403   403    403      422   422    422    422    422
GET /_/links/new?like={code}                                             200   200   200    404      404   200    404    404    404
GET /_/links/new?like={code}&owner=all                                   403   403   403    403      200   200    404    404    404
GET /_/by?code={code}&country=DE                                         200   200   200    404      404   200    200    200    200
GET /_/by?code={code}&country=DE&owner=all                               403   403   403    403      200   200    200    200    200
GET /_/by.csv?code={code}&country=DE                                     200   200   200    404      404   200    200    200    200
GET /_/figures.csv?code={code}                                           200   200   200    404      404   200    200    200    200
GET /_/figures.csv?code={code}&owner=all                                 403   403   403    403      200   200    200    200    200
GET /_/compare?codes={code},shared                                       200   200   200    422-     422-  200    200    200    200
GET /_/compare?codes={code},shared&owner=all                             403   403   403    403      200   200    200    200    200
POST /_/links/trash/restore#code={deleted}&version=1                     303-  303-  303-   303-     303-  303-   404    404    404
POST /_/links/trash/restore?owner=all#code={deleted}&version=1           403   403   403    403      303!  303!   404    404    404
POST /_/links/trash/purge#code={deleted}&version=1                       303-  303-  303-   303-     303-  303-   404    404    404
POST /_/links/trash/purge?owner=all#code={deleted}&version=1             403   403   403    403      303!  303!   404    404    404
POST /_/links/selected#do=disable&code={code}                            200-  200-  200-   200-     200-  200-   400    400    400
POST /_/links/selected#do=export&code={code}                             200   200   200    200-     200-  200    200-   200    200
POST /_/links/selected#do=export&code={code}&owner=all                   403   403   403    403      200   200    200    200    200
POST /_/links/selected/change#do=disable&code={code}                     200-  200!  200!   200-     200-  200-   404    404    404
POST /_/links/selected/change#do=delete&code={code}                      200-  200!  200!   200-     200-  200-   404    404    404
POST /_/links/selected/change#do=tag&tags=t&code={code}                  200-  200!  200!   200-     200-  200-   404    404    404
POST /_/links/selected/change#do=folder&into=&code={code}                200-  200!  200!   200-     200-  200-   404    404    404
POST /_/links/selected/change#do=disable&code={code}&owner=all           403   403   403    403      200!  200!   404    404    404
POST /_/links/selected/change#do=move&to=1&code={code}&owner=all         400   400   400    400      200!  200!   404    404    404
POST /_/links/selected/undo#undo=[["{code}",1,{"title":"t"}]]            200-  200!  200!   200-     200-  200-   404    404    404
POST /_/links/selected/undo#of=all&undo=[["{code}",1,{"title":"t"}]]     403   403   403    403      200!  200!   404    404    404
POST /_/links/selected/undo#undo=[["{deleted}",1]]                       200-  200-  200-   200-     200-  200-   404    404    404
POST /_/links/selected/undo#of=all&undo=[["{deleted}",1]]                403   403   403    403      200!  200!   404    404    404
POST /_/links/selected/change#do=disable&all=true&folder={full}          200   200!  200!   404      200   200    404    404    404
GET /_/links?folder={full}                                               200   200   200    422      200   200    200    200    200
GET /_/links/export?folder={full}                                        200   200   200    404      200   200    200    200    200
GET /_/links/new?folder={folder}                                         200-  200   200    200-     200   200    404    404    404
POST /_/links#url=a.example&folder={folder}                              422   303!  303!   422-     303!  303!   404    404    404
POST /_/links/new#url=a.example&folder={folder}                          422   303!  303!   422-     303!  303!   404    404    404
POST /_/links/check#folder={full}                                        303   303   303    404      303   303    404    404    404
GET /_/folders/{folder}                                                  200   200   200    404      200   200    200    200    200
GET /_/folders/{folder}/figures                                          200   200   200    404      200   200    200    200    200
GET /_/folders/{folder}/leave                                            200   200   404    404      404   200    404    404    404
POST /_/folders/{folder}/leave                                           303!  303!  404    404      404   303!   404    404    404
POST /_/folders/{folder}#name=R{folder}&read=owner@example.com&version=1 404   404   303!   404      303!  303!   404    404    404
GET /_/folders/{folder}/delete                                           404   404   200    404      200   200    404    404    404
POST /_/folders/{folder}/delete                                          404   404   303!   404      303!  303!   404    404    404
`

// otherPages are the rows that name neither a link nor a folder, with their methods. Who may ask for them follows from
// their rows alone: see TestEveryPageIsForItsRoles.
const otherPages = `
/_/ GET
/_/live GET
/_/account GET
/_/account/password POST
/_/zone POST
/_/account/zone POST
/_/account/language POST
/_/account/sessions POST
/_/setup GET POST
/_/welcome GET
/_/links/check GET
/_/new GET
/_/links/trash GET
/_/tags GET
/_/tags/figures GET
/_/tags/rename GET POST
/_/tags/delete GET POST
/_/folders GET POST
/_/campaigns GET POST
/_/campaigns/delete POST
/_/sign-in GET POST
/_/sign-out POST
/_/tokens GET POST
/_/tokens/apps GET POST
/_/tokens/{id}/revoke GET POST
/_/transfer GET POST
/_/go GET
/_/keys GET
/_/links/bulk GET POST
/_/links/bulk/results POST
/_/links/filters GET POST
/_/links/filters/delete POST
/_/users GET POST
/_/users/{id} GET POST
/_/users/{id}/setup-link POST
/_/users/{id}/delete GET POST
/_/all-tokens GET
/_/all-tokens/{id}/revoke GET POST
/_/domains GET POST
/_/domains/{host} GET POST
/_/domains/{host}/check POST
/_/domains/{host}/delete GET POST
/_/misses GET
/_/audit GET
/_/system GET
/_/system/edges GET
/_/system/edges/{name}/forget GET POST
`

// A matrix is a site with the people of folderTable and their folder.
type matrix struct {
	*access
	browsers map[string]*plainBrowser
}

func newMatrix(t *testing.T) *matrix {
	m := &matrix{access: newAccess(t), browsers: make(map[string]*plainBrowser)}
	m.members = []folder.Member{{User: m.owner.ID, May: folder.Edit}}
	for _, p := range []struct {
		column string
		role   account.Role
		may    folder.Right
	}{
		{"reads", account.RoleMember, folder.Read}, {"edits", account.RoleMember, folder.Edit}, {"keeper", account.RoleMember, folder.None}, {"stranger", account.RoleMember, folder.None},
		{"admin", account.RoleAdmin, folder.None}, {"areads", account.RoleAdmin, folder.Read},
		{"viewer", account.RoleViewer, folder.None}, {"vreads", account.RoleViewer, folder.Read}, {"vedits", account.RoleViewer, folder.Edit},
	} {
		email := p.column + "@matrix.example"
		u := m.person(email, p.role)
		scopes := everyMemberScope
		switch p.role {
		case account.RoleAdmin:
			scopes = account.AllScopes
		case account.RoleViewer:
			scopes = nil
		}
		m.lines[p.column] = []string{"Authorization: Bearer " + m.issue(account.CallerOf(u), scopes...)}
		m.browsers[p.column] = m.browse(email)
		if p.may != folder.None {
			m.members = append(m.members, folder.Member{User: u.ID, May: p.may})
		}
		if p.column == "keeper" {
			m.keeper = u.ID
		}
	}
	m.in = m.freshFolder("0")
	m.as(m.lines["owner"], "POST", "/shorten", fmt.Sprintf(`{"url":%q,"alias":"shared","folder":%d}`, secretTarget, m.in)).need(t, "a second link in the folder", 201)
	return m
}

// A thing is what a row of a table is about, made for it.
type thing struct {
	there, missing string // the row with it, and with what is not there in its place
	code           string // of a link; empty: there is none
	folder         uint32 // 0: none
}

func (m *matrix) thing(row string) (x thing) {
	m.t.Helper()
	x.there, x.missing = m.fresh(row)
	n := strconv.Itoa(m.made)
	if strings.Contains(row, "{full}") {
		m.freshLink(n, m.freshFolder(n))
		x.there, x.missing = strings.ReplaceAll(x.there, "{full}", fmt.Sprint(m.folder)), strings.ReplaceAll(x.missing, "{full}", fmt.Sprint(m.folder+1000))
	}
	if strings.Contains(row, "{folder}") || strings.Contains(row, "{full}") {
		x.folder = m.folder
	}
	if !strings.Contains(row, "{folder}") {
		x.code = "code" + n
	}
	return x
}

// asThere returns what is said of what is not there, as it would be of x.
func (x *thing) asThere(text string) string {
	text = formKey.ReplaceAllString(text, "")
	if x.folder != 0 {
		text = strings.ReplaceAll(text, fmt.Sprint(x.folder+1000), fmt.Sprint(x.folder))
	}
	return strings.ReplaceAll(text, "none", "code")
}

var formKey = regexp.MustCompile(`name="key" value="[^"]+"`)

// differing returns where two texts begin to differ.
func differing(a, b string) (string, string) {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	from := max(0, n-100)
	return a[from:min(len(a), n+100)], b[from:min(len(b), n+100)]
}

// stateOf returns what its owner sees of x.
func (m *matrix) stateOf(x *thing) (state string) {
	m.t.Helper()
	if x.code != "" {
		state = m.as(m.lines["owner"], "GET", "/links/"+x.code, "").whole() + m.as(m.lines["owner"], "GET", "/links?state=deleted&limit=1", "").whole()
	}
	if x.folder != 0 {
		state += m.as(m.lines["keeper"], "GET", fmt.Sprint("/folders/", x.folder), "").whole() + m.as(m.lines["keeper"], "GET", fmt.Sprint("/links?folder=", x.folder), "").whole()
	}
	return state
}

// namesThing reports whether a row is about a link or a folder.
func namesThing(row string) bool {
	return strings.Contains(row, "{code}") || strings.Contains(row, "{deleted}") || strings.Contains(row, "{folder}")
}

func TestEveryCallAnswersByFolder(t *testing.T) {
	t.Parallel()
	m := newMatrix(t)
	rows := map[string]bool{}
	eachCell(folderTable, func(request, column, cell string) {
		rows[request] = true
		want, _ := strconv.Atoi(cell)
		_, path, _ := strings.Cut(request, " ")
		x := m.thing(path)
		before := m.stateOf(&x)
		r := m.ask(column, request, x.there)
		r.expect(t, fmt.Sprintf("%s as %s", request, column), want)
		if want/100 == 2 {
			return
		}
		expect.That(t, !strings.Contains(fmt.Sprint(r), "secret"), "%s as %s: got %+v, which tells too much", request, column, r)
		expect.Equal(t, m.stateOf(&x), before, "%s as %s has changed it", request, column)
		if want == 404 || x.folder == 0 { // a member knows that the folder is there
			expect.Equal(t, r.whole(), m.ask(column, request, x.missing).whole(), "%s as %s: a foreign one and a missing one differ", request, column)
		}
	})
	eachAccess(func(request, _ string, _ int) {
		expect.That(t, rows[request] || !namesThing(request), "folderTable has no line for %s", request)
	})
}

// askRow asks for a page of a row of pageTable, or sends its form. said is what the visitor reads after that.
func (b *plainBrowser) askRow(p dashboard.Page, row string) (answer *shown, said string) {
	b.st.t.Helper()
	path, fields, given := strings.Cut(row, "#")
	switch {
	case p.Method == "GET":
		answer = b.get(path)
		return answer, answer.saying()
	case given:
		answer = b.post(path, formType, strings.NewReplacer("{", "%7B", "}", "%7D", `"`, "%22", ":", "%3A", "/", "%2F", "[", "%5B", "]", "%5D", ",", "%2C").Replace(fields))
	default:
		answer = b.askFor(p, path)
	}
	return answer, answer.saying() + b.get("/_/account").text() // with the notice
}

// saying returns all of an answer but its length.
func (p *shown) saying() string {
	p.header.Del("Content-Length")
	return p.whole()
}

func TestEveryPageAnswersByFolder(t *testing.T) {
	t.Parallel()
	m := newMatrix(t)
	rows := map[string]bool{}
	eachCell(pageTable, func(row, column, cell string) {
		method, path, _ := strings.Cut(row, " ")
		bare, _, _ := strings.Cut(path, "#")
		bare, _, _ = strings.Cut(bare, "?")
		rows[method+" "+bare] = true
		x, b, p := m.thing(path), m.browsers[column], dashboard.Page{Method: method, Path: bare}
		before := m.stateOf(&x)
		answer, said := b.askRow(p, x.there)
		want, _ := strconv.Atoi(strings.TrimRight(cell, "!-"))
		expect.Equal(t, answer.status, want, "%s as %s: %s", row, column, answer.text())
		expect.Equal(t, m.stateOf(&x) != before, strings.HasSuffix(cell, "!"), "%s as %s has changed it", row, column)
		if (want < 400 || want == 422) && !strings.HasSuffix(cell, "-") {
			return
		}
		expect.That(t, !strings.Contains(said, "secret"), "%s as %s: got %s, which tells too much", row, column, answer.text())
		if column == "admin" || column == "areads" { // who is led to the links of all
			return
		}
		_, none := b.askRow(p, x.missing)
		got, wanted := differing(x.asThere(said), x.asThere(none))
		expect.Equal(t, got, wanted, "%s as %s: a foreign one and a missing one differ", row, column)
	})
	for line := range strings.Lines(strings.TrimSpace(otherPages)) {
		path, methods, _ := strings.Cut(line, " ")
		for _, method := range strings.Fields(methods) {
			row := method + " " + path
			expect.That(t, !rows[row] && !namesThing(row), "%s is in otherPages, too", row)
			rows[row] = true
		}
	}
	for _, p := range dashboard.Pages() {
		expect.That(t, rows[p.Method+" "+p.Path], "neither pageTable nor otherPages has %s %s", p.Method, p.Path)
	}
}
