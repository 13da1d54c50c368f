package api

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"shunt/api/account"
	"shunt/api/domain"
	"shunt/api/folder"
	"shunt/engine"
	"shunt/engine/expect"
)

// accessTable says which caller gets which status, for every endpoint: one line a request, the
// columns in the order of its head. {code} is a link of the owner, {tag} a tag of the owner, {token} a token of the
// owner, {user} another user than all of these. A 404 must be equal to that for a missing object.
//
//	owner, other, admin   their tokens: all scopes of a member, of a member, of an admin
//	reader                a token of the owner for links:read and stats:read only
//	page, page2           a page of ours in the browser of the owner, of the other
//	edge                  an edge, by the token that an admin has made for it
//	viewer, vpage         a viewer: a token, which only reads, and a page in the viewer's browser
const accessTable = `
request                                   owner other admin reader revoked expired none malformed page page2 edge viewer vpage
POST /shorten                             201   201   201   403    401     401     401  401       201  201   403  403    403
POST /shorten/bulk                        200   200   200   403    401     401     401  401       200  200   403  403    403
POST /import                              403   403   200   403    401     401     401  401       403  403   403  403    403
POST /import?owner={owner}                403   403   200   403    401     401     401  401       403  403   403  403    403
GET /links                                200   200   200   200    401     401     401  401       200  200   403  200    200
GET /links?owner=all                      403   403   200   403    401     401     401  401       403  403   403  200    200
GET /links?owner={owner}                  403   403   200   403    401     401     401  401       403  403   403  200    200
GET /export                               200   200   200   200    401     401     401  401       200  200   403  200    200
GET /export?owner=all                     403   403   200   403    401     401     401  401       403  403   403  200    200
GET /export?owner={other}                 403   403   200   403    401     401     401  401       403  403   403  200    200
GET /links/{code}                         200   404   404   200    401     401     401  401       200  404   403  404    404
GET /links/{code}?owner=all               403   403   200   403    401     401     401  401       403  403   403  200    200
GET /links/{code}?owner={owner}           403   403   200   403    401     401     401  401       403  403   403  200    200
GET /links/{code}?owner={other}           403   403   404   403    401     401     401  401       403  403   403  404    404
PATCH /links/{code}                        200   404   404   403    401     401     401  401       200  404   403  403    403
PATCH /links/{code}?owner=all              403   403   200   403    401     401     401  401       403  403   403  403    403
POST /links/{code}/reset                  200   404   404   403    401     401     401  401       200  404   403  403    403
POST /links/{code}/reset?owner=all        403   403   200   403    401     401     401  401       403  403   403  403    403
GET /links/{code}/qr                      200   404   404   200    401     401     401  401       200  404   403  404    404
GET /links/{code}/qr?owner=all            403   403   200   403    401     401     401  401       403  403   403  200    200
POST /links/{code}/qr                     200   404   404   200    401     401     401  401       200  404   403  404    404
POST /links/{code}/qr?owner=all           403   403   200   403    401     401     401  401       403  403   403  200    200
POST /links/{deleted}/restore             200   404   404   403    401     401     401  401       200  404   403  403    403
POST /links/{deleted}/restore?owner=all   403   403   200   403    401     401     401  401       403  403   403  403    403
DELETE /links/{deleted}?purge=true        204   404   404   403    401     401     401  401       204  404   403  403    403
GET /links/{deleted}                      404   404   404   404    401     401     401  401       404  404   403  404    404
GET /links?state=deleted                  200   200   200   200    401     401     401  401       200  200   403  200    200
GET /links?state=deleted&owner=all        403   403   200   403    401     401     401  401       403  403   403  200    200
GET /links?state=deleted&owner={owner}    403   403   200   403    401     401     401  401       403  403   403  200    200
DELETE /links/{code}                      204   404   404   403    401     401     401  401       204  404   403  403    403
DELETE /links/{code}?purge=true           204   404   404   403    401     401     401  401       204  404   403  403    403
DELETE /links/{code}?owner=all            403   403   204   403    401     401     401  401       403  403   403  403    403
GET /tags                                 200   200   200   200    401     401     401  401       200  200   403  200    200
GET /tags?owner={owner}                   403   403   200   403    401     401     401  401       403  403   403  200    200
PATCH /tags/{tag}                         200   404   404   403    401     401     401  401       200  404   403  403    403
PATCH /tags/{tag}?owner={owner}           403   403   200   403    401     401     401  401       403  403   403  403    403
DELETE /tags/{tag}                        200   404   404   403    401     401     401  401       200  404   403  403    403
DELETE /tags/{tag}?owner={owner}          403   403   200   403    401     401     401  401       403  403   403  403    403
POST /target-check                        200   200   200   403    401     401     401  401       200  200   403  403    403
GET /target-check                         200   200   200   200    401     401     401  401       200  200   403  200    200
DELETE /target-check                      204   204   204   403    401     401     401  401       204  204   403  403    403
POST /titles                              422   422   422   403    401     401     401  401       422  422   403  403    403
GET /stats/{code}                         200   404   404   200    401     401     401  401       200  404   403  404    404
GET /stats/{code}?owner=all               403   403   200   403    401     401     401  401       403  403   403  200    200
GET /stats/{code}?interval=day            200   404   404   200    401     401     401  401       200  404   403  404    404
GET /stats/{code}/live                    200   404   404   200    401     401     401  401       200  404   403  404    404
GET /stats/{code}/live?owner={owner}      403   403   200   403    401     401     401  401       403  403   403  200    200
GET /stats                                200   200   200   200    401     401     401  401       200  200   403  200    200
GET /stats?owner={owner}                  403   403   200   403    401     401     401  401       403  403   403  200    200
GET /domains                              200   200   200   200    401     401     401  401       200  200   403  200    200
POST /domains                             403   403   201   403    401     401     401  401       403  403   403  403    403
GET /domains/{host}                       200   200   200   200    401     401     401  401       200  200   403  200    200
PATCH /domains/{host}                     403   403   200   403    401     401     401  401       403  403   403  403    403
DELETE /domains/{host}                    403   403   204   403    401     401     401  401       403  403   403  403    403
POST /domains/{host}/check                403   403   200   403    401     401     401  401       403  403   403  403    403
GET /edges                                403   403   200   403    401     401     401  401       403  403   403  403    403
DELETE /edges/{name}                      403   403   204   403    401     401     401  401       403  403   403  403    403
GET /misses                               403   403   200   403    401     401     401  401       403  403   403  403    403
GET /misses?domain={host}                 403   403   200   403    401     401     401  401       403  403   403  403    403
GET /audit                                403   403   200   403    401     401     401  401       403  403   403  403    403
GET /tokens                               200   200   200   403    401     401     401  401       200  200   403  403    200
POST /tokens                              201   201   201   403    401     401     401  401       201  201   403  403    201
DELETE /tokens/{token}                    204   404   404   403    401     401     401  401       204  404   403  403    404
GET /me                                   200   200   200   200    401     401     401  401       200  200   403  200    200
GET /users                                403   403   200   403    401     401     401  401       403  403   403  403    403
POST /users                               403   403   201   403    401     401     401  401       403  403   403  403    403
PATCH /users/{user}                       403   403   200   403    401     401     401  401       403  403   403  403    403
DELETE /users/{user}                      403   403   204   403    401     401     401  401       403  403   403  403    403
GET /folders                              200 200 200 200 401 401 401 401 200 200 403 200 200
GET /folders?owner=all                    403 403 200 403 401 401 401 401 403 403 403 200 200
POST /folders                             201 201 201 403 401 401 401 401 201 201 403 403 403
GET /folders/{folder}                     200 404 200 200 401 401 401 401 200 404 403 200 200
PATCH /folders/{folder}                   200 404 200 403 401 401 401 401 200 404 403 403 403
DELETE /folders/{folder}                  204 404 204 403 401 401 401 401 204 404 403 403 403
DELETE /folders/{folder}/members/{user}   204 404 204 403 401 401 401 401 204 404 403 403 403
GET /links?folder={folder}                200 404 200 200 401 401 401 401 200 404 403 200 200
GET /stats?folder={folder}                200 404 200 200 401 401 401 401 200 404 403 200 200
GET /export?folder={folder}               200 404 200 200 401 401 401 401 200 404 403 200 200
GET /tokens?owner=all                     403 403 200 403 401 401 401 401 403 403 403 403 403
GET /tokens?owner={owner}                 403 403 200 403 401 401 401 401 403 403 403 403 403
DELETE /tokens/{token}?owner=all          403 403 204 403 401 401 401 401 403 403 403 403 403
DELETE /tokens/{token}?owner={owner}      403 403 204 403 401 401 401 401 403 403 403 403 403
DELETE /tokens/{token}?owner={other}      403 403 404 403 401 401 401 401 403 403 403 403 403
POST /session                             200   200   200   200    200     200     200  200       200  200   200  200    200
DELETE /session                           204   204   204   204    204     204     204  204       204  204   204  204    204
GET /openapi.json                         200   200   200   200    200     200     200  200       200  200   200  200    200
GET /openapi-3.0.json                     200   200   200   200    200     200     200  200       200  200   200  200    200
`

// accessBodies are the bodies of requests that need one; N is a new number each time.
var accessBodies = map[string]string{
	"PATCH /links/{code}": `{"title":"t"}`, "PATCH /links/{code}?owner=all": `{"title":"t"}`,
	"PATCH /tags/{tag}": `{"name":"renamed"}`, "PATCH /tags/{tag}?owner={owner}": `{"name":"renamed"}`,
	"POST /domains": `{"host":"newN.test"}`, "PATCH /domains/{host}": `{"robots":"none"}`,
	"POST /shorten":      `{"url":"https://a.example/"}`,
	"POST /shorten/bulk": `[{"url":"https://a.example/"}]`,
	"POST /import":       `[{"code":"imported","url":"https://a.example/"}]`, "POST /import?owner={owner}": `[{"code":"Imported","url":"https://a.example/"}]`,
	"POST /tokens":  `{"name":"n"}`,
	"POST /folders": `{"name":"nN"}`, "PATCH /folders/{folder}": `{"name":"renamedN"}`,
	"POST /users":         `{"email":"nN@example.com"}`,
	"PATCH /users/{user}": `{"role":"member"}`,
	"POST /titles":        `{"url":"http://127.0.0.1/"}`, "POST /links/{code}/qr": tinyPNG, "POST /links/{code}/qr?owner=all": tinyPNG,
	"POST /session": `{"email":"owner@example.com","password":"` + goodPassword + `"}`,
}

// access is a site with the users of accessTable.
type access struct {
	*site
	owner, other, admin account.User
	lines               map[string][]string // by column: the header lines of its requests
	made                int

	in      uint32          // the folder of the links that fresh makes; 0: none
	keeper  uint32          // the owner of the folders that fresh makes; 0: that of the links
	members []folder.Member // of those folders
	folder  uint32          // the last of them
}

func newAccess(t *testing.T) *access {
	a := &access{site: newSite(t, fetching)}
	a.owner, a.other = a.person("owner@example.com", account.RoleMember), a.person("other@example.com", account.RoleMember)
	a.admin = a.person("boss@example.com", account.RoleAdmin)
	bearer := func(token string) []string { return []string{"Authorization: Bearer " + token} }
	a.lines = map[string][]string{
		"owner":     bearer(a.issue(account.CallerOf(a.owner))),
		"other":     bearer(a.issue(account.CallerOf(a.other))),
		"admin":     bearer(a.issue(account.CallerOf(a.admin), account.AllScopes...)),
		"reader":    bearer(a.issue(account.CallerOf(a.owner), account.LinksRead, account.StatsRead)),
		"revoked":   bearer(a.revokedToken()),
		"expired":   bearer(a.expiredToken()),
		"edge":      bearer(a.issueEdge(a.admin, "oslo")),
		"viewer":    bearer(a.issue(account.CallerOf(a.person("viewer@example.com", account.RoleViewer)))),
		"none":      nil,
		"malformed": bearer("shunt_" + strings.Repeat("x", 36)),
	}
	a.logInPages()
	return a
}

func (a *access) logInPages() {
	a.t.Helper()
	a.lines["page"] = []string{a.logIn("owner@example.com"), ownPage}
	a.lines["page2"] = []string{a.logIn("other@example.com"), ownPage}
	a.lines["vpage"] = []string{a.logIn("viewer@example.com"), ownPage}
}

// issueEdge returns a token for an edge, which a user has made.
func (st *site) issueEdge(by account.User, name string) string {
	st.t.Helper()
	_, text, err := st.accounts.IssueToken(account.CallerOf(by), account.TokenDraft{Name: name, Scopes: []account.Scope{account.Edge}})
	expect.OK(st.t, err)
	return text
}

func (a *access) revokedToken() string {
	t, text, err := a.accounts.IssueToken(account.CallerOf(a.owner), account.TokenDraft{Name: "revoked"})
	if err == nil {
		err = a.accounts.RevokeToken(account.Caller{}, a.owner.ID, t.ID)
	}
	expect.NoError(a.t, err)
	return text
}

func (a *access) expiredToken() string {
	end := a.Server.now.Time().Add(time.Minute)
	_, text, err := a.accounts.IssueToken(account.CallerOf(a.owner), account.TokenDraft{Name: "expired", ExpiresAt: end})
	expect.NoError(a.t, err)
	a.now.Store(end.UnixMilli())
	return text
}

// secretTarget is the target of links that only their owner and admins may see.
const secretTarget = "https://secret.example/"

// fresh makes the object that the path of a request names, and returns the path with it, and the
// path with a missing object in its place.
func (a *access) fresh(path string) (there, missing string) {
	a.t.Helper()
	a.made++
	n := strconv.Itoa(a.made)
	there, missing = path, path
	replace := func(name, present, absent string) {
		there, missing = strings.ReplaceAll(there, name, present), strings.ReplaceAll(missing, name, absent)
	}
	if strings.Contains(path, "{code}") {
		a.freshLink(n, a.in)
		replace("{code}", "code"+n, "none"+n)
	}
	if strings.Contains(path, "{deleted}") {
		a.freshLink(n, a.in)
		a.as(a.lines["owner"], "DELETE", "/links/code"+n, "").need(a.t, "", 204)
		replace("{deleted}", "code"+n, "none"+n)
	}
	if strings.Contains(path, "{tag}") {
		body := fmt.Sprintf(`{"url":"%s","tags":["secret tag%s"]}`, secretTarget, n)
		a.as(a.lines["owner"], "POST", "/shorten", body).need(a.t, "", 201)
		replace("{tag}", "Secret%20tag"+n, "none"+n)
	}
	if strings.Contains(path, "{token}") {
		t, text, err := a.accounts.IssueToken(account.CallerOf(a.owner), account.TokenDraft{Name: "secret"})
		expect.NoError(a.t, err)
		a.secret(text)
		replace("{token}", t.ID, strings.Repeat("a", len(t.ID)))
	}
	if strings.Contains(path, "{user}") {
		u, err := a.accounts.AddUser(account.UserDraft{Email: "secret" + n + "@example.com", Role: account.RoleMember})
		expect.NoError(a.t, err)
		replace("{user}", strconv.Itoa(int(u.ID)), strconv.Itoa(int(u.ID)+1))
	}
	if strings.Contains(path, "{folder}") {
		var more []folder.Member
		if _, user, found := strings.Cut(there, "/members/"); found {
			id, err := strconv.ParseUint(user, 10, 32)
			expect.NoError(a.t, err)
			more = []folder.Member{{User: uint32(id), May: folder.Read}}
		}
		number := a.freshFolder(n, more...)
		replace("{folder}", strconv.Itoa(int(number)), strconv.Itoa(int(number)+1000))
	}
	if strings.Contains(path, "{host}") {
		expect.NoError(a.t, expect.Err(a.domains.Add(account.CallerOf(a.admin), domain.Domain{Host: "secret" + n + ".test"}, engine.TargetPolicy{})))
		replace("{host}", "secret"+n+".test", "none"+n+".test")
	}
	replace("{name}", "frankfurt", "none")
	replace("{owner}", strconv.Itoa(int(a.owner.ID)), strconv.Itoa(int(a.owner.ID)))
	replace("{other}", strconv.Itoa(int(a.other.ID)), strconv.Itoa(int(a.other.ID)))
	return there, missing
}

// freshLink makes a link of the owner, in a folder unless that is 0.
func (a *access) freshLink(n string, in uint32) {
	a.t.Helper()
	body := fmt.Sprintf(`{"url":"%s%s","alias":"code%s"`, secretTarget, n, n)
	if in != 0 {
		body += fmt.Sprintf(`,"folder":%d`, in)
	}
	a.as(a.lines["owner"], "POST", "/shorten", body+"}").need(a.t, "", 201)
}

func (a *access) freshFolder(n string, more ...folder.Member) uint32 {
	a.t.Helper()
	f, err := a.folders.Add(account.CallerOf(a.owner), folder.Folder{Name: "secret" + n, Owner: cmp.Or(a.keeper, a.owner.ID), Members: slices.Concat(a.members, more)})
	expect.OK(a.t, err)
	a.folder = f.Number
	return f.Number
}

// ask sends a request of the table. It requests live figures by HEAD, because they have no end.
func (a *access) ask(column, request, path string) reply {
	a.t.Helper()
	method, _, _ := strings.Cut(request, " ")
	if strings.Contains(path, "/live") {
		method = "HEAD"
	}
	body := accessBodies[request]
	if body != tinyPNG {
		body = strings.ReplaceAll(body, "N", strconv.Itoa(a.made))
	}
	return a.as(a.lines[column], method, path, body)
}

// eachAccess calls fn for each row and column of accessTable.
func eachAccess(fn func(request, column string, status int)) {
	eachCell(accessTable, func(request, column, cell string) {
		status, _ := strconv.Atoi(cell)
		fn(request, column, status)
	})
}

// eachCell calls fn for each row and column of a table. The first two words of a row are the request.
func eachCell(table string, fn func(request, column, cell string)) {
	lines := strings.Split(strings.TrimSpace(table), "\n")
	columns := strings.Fields(lines[0])[1:]
	for _, line := range lines[1:] {
		cells := strings.Fields(line)
		for i, column := range columns {
			fn(cells[0]+" "+cells[1], column, cells[i+2])
		}
	}
}

// routeOf returns the endpoint that a request of the table is for.
func routeOf(request string) string {
	route, _, _ := strings.Cut(request, "?")
	return strings.NewReplacer("/members/{user}", "/members/{user}", "{token}", "{id}", "{user}", "{id}", "{deleted}", "{code}").Replace(route)
}

func TestEveryEndpointAnswersOnlyPermittedCallers(t *testing.T) {
	t.Parallel()
	a := newAccess(t)
	tried := map[string]bool{}
	eachAccess(func(request, column string, want int) {
		tried[routeOf(request)] = true
		_, path, _ := strings.Cut(request, " ")
		there, _ := a.fresh(path)
		r := a.ask(column, request, there)
		r.expect(t, fmt.Sprintf("%s as %s", request, column), want)
		expect.That(t, want/100 == 2 || !strings.Contains(fmt.Sprint(r), "secret"), "%s as %s: got %+v, which tells too much", request, column, r)
		if request == "DELETE /session" && strings.Contains(column, "page") {
			a.logInPages()
		}
	})
	for _, e := range a.endpoints() {
		expect.That(t, tried[e.method+" "+e.path], "accessTable has no line for %s %s", e.method, e.path)
	}
}

func TestAForeignObjectLooksLikeAMissingOne(t *testing.T) {
	a := newAccess(t)
	eachAccess(func(request, column string, want int) {
		_, path, _ := strings.Cut(request, " ")
		there, missing := a.fresh(path)
		if there == missing || want/100 == 2 {
			return
		}
		foreign, none := a.ask(column, request, there), a.ask(column, request, missing)
		if got, want := foreign.whole(), none.whole(); got != want {
			t.Errorf("%s as %s: a foreign one gets\n%s\nand a missing one\n%s", request, column, got, want)
		}
	})
}
