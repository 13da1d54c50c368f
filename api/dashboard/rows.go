package dashboard

import (
	"slices"

	"shunt/api/dashboard/apps"
	"shunt/api/dashboard/checks"
	"shunt/api/dashboard/domains"
	"shunt/api/dashboard/palette"
	"shunt/api/dashboard/qr"
	"shunt/api/dashboard/undo"
	"shunt/api/dashboard/visit"
	"shunt/api/qrorder"
)

// A row is one page, or one form that a page sends; see visit.Row.
type row struct {
	method, path string
	who          visit.Who
	page         func(*request) error
}

// rows returns the table of pages and forms. A form is sent to the path of the page that shows it,
// or to a path below it.
func rows() []row { return slices.Concat(rowsOfAll(), rowsOfAdmins()) }

func rowsOfAll() []row {
	return []row{
		{"GET", "/_/", visit.SignedIn, (*request).overview},
		{"GET", "/_/live", visit.SignedIn, (*request).liveToday},
		{"GET", "/_/figures.csv", visit.SignedIn, (*request).figuresCSV},
		{"GET", "/_/compare", visit.SignedIn, (*request).comparePage},
		{"GET", "/_/link/{code}", visit.SignedIn, (*request).link},
		{"GET", "/_/by", visit.SignedIn, (*request).byPage},
		{"GET", "/_/by.csv", visit.SignedIn, (*request).byCSV},
		{"GET", "/_/account", visit.SignedIn, (*request).account},
		{"POST", "/_/account/password", visit.SignedIn, (*request).changePassword},
		{"POST", "/_/zone", visit.SignedIn, (*request).tellZone},
		{"POST", "/_/account/zone", visit.SignedIn, (*request).chooseZone},
		{"POST", "/_/account/sessions", visit.SignedIn, (*request).endSessions},
		{"GET", "/_/setup", visit.Anybody, (*request).setupPage},
		{"POST", "/_/setup", visit.Anybody, (*request).setup},
		{"GET", "/_/welcome", visit.SignedIn, (*request).welcome},
		{"GET", qr.Row, visit.SignedIn, onRequest(qr.Page)},
		{"POST", qr.Row, visit.SignedIn, onRequest(qr.SendLogo)},
		{"GET", qr.Row + ".svg", visit.SignedIn, onRequest(qr.Picture(qrorder.SVG))},
		{"GET", qr.Row + ".png", visit.SignedIn, onRequest(qr.Picture(qrorder.PNG))},
		{"GET", qr.Row + ".pdf", visit.SignedIn, onRequest(qr.Picture(qrorder.PDF))},
		{"GET", "/_/link/{code}/edit", visit.SignedIn, (*request).editLink},
		{"POST", "/_/link/{code}/edit", visit.SignedIn, (*request).saveLink},
		{"POST", "/_/link/{code}/disabled", visit.SignedIn, (*request).setDisabled},
		{"POST", "/_/link/{code}/undo", visit.SignedIn, onRequest(undo.TakeBack)},
		{"GET", "/_/link/{code}/reset", visit.SignedIn, (*request).confirmReset},
		{"POST", "/_/link/{code}/reset", visit.SignedIn, (*request).resetLink},
		{"GET", "/_/link/{code}/owner", visit.SignedIn, (*request).ownerPage},
		{"POST", "/_/link/{code}/owner", visit.SignedIn, (*request).giveLink},
		{"GET", "/_/link/{code}/delete", visit.SignedIn, (*request).confirmDelete},
		{"POST", "/_/link/{code}/delete", visit.SignedIn, (*request).deleteLink},
		{"GET", "/_/links", visit.SignedIn, (*request).links},
		{"POST", "/_/links", visit.Creating, (*request).createLink},
		{"GET", "/_/links/new", visit.SignedIn, (*request).newLink},
		{"POST", "/_/links/new", visit.Creating, (*request).createLink},
		{"GET", "/_/links/bulk", visit.SignedIn, (*request).newBulk},
		{"POST", "/_/links/bulk", visit.Creating, (*request).createBulk},
		{"POST", "/_/links/bulk/results", visit.SignedIn, (*request).bulkResults},
		{"GET", "/_/links/filters", visit.SignedIn, (*request).filtersPage},
		{"POST", "/_/links/filters", visit.SignedIn, (*request).keepFilter},
		{"POST", "/_/links/filters/delete", visit.SignedIn, (*request).deleteFilter},
		{"POST", "/_/links/selected", visit.SignedIn, (*request).selected},
		{"POST", "/_/links/selected/change", visit.SignedIn, (*request).changeSelected},
		{"GET", "/_/links/export", visit.SignedIn, (*request).exportShown},
		{"GET", checks.Path, visit.SignedIn, onRequest(checks.Page)},
		{"POST", checks.Path, visit.SignedIn, onRequest(checks.Start)},
		{"GET", undo.TrashPath, visit.SignedIn, onRequest(undo.Trash)},
		{"POST", undo.RestorePath, visit.SignedIn, onRequest(undo.Restore)},
		{"POST", undo.PurgePath, visit.SignedIn, onRequest(undo.Purge)},
		{"GET", "/_/tags", visit.SignedIn, (*request).tagsPage},
		{"GET", "/_/tags/figures", visit.SignedIn, (*request).tagFigures},
		{"GET", "/_/tags/rename", visit.SignedIn, (*request).renameTagPage},
		{"POST", "/_/tags/rename", visit.SignedIn, (*request).renameTag},
		{"GET", "/_/tags/delete", visit.SignedIn, (*request).deleteTagPage},
		{"POST", "/_/tags/delete", visit.SignedIn, (*request).deleteTag},
		{"GET", "/_/campaigns", visit.SignedIn, (*request).campaignsPage},
		{"POST", "/_/campaigns", visit.SignedIn, (*request).makeCampaign},
		{"POST", "/_/campaigns/delete", visit.SignedIn, (*request).deleteCampaign},
		{"GET", "/_/sign-in", visit.Anybody, (*request).signInPage},
		{"POST", "/_/sign-in", visit.Anybody, (*request).signIn},
		{"POST", "/_/sign-out", visit.Anybody, (*request).signOut},
		{"GET", "/_/tokens", visit.SignedIn, (*request).tokensPage},
		{"POST", "/_/tokens", visit.SignedIn, (*request).makeToken},
		{"GET", apps.Path, visit.SignedIn, onRequest(apps.List)},
		{"POST", apps.Path, visit.SignedIn, onRequest(apps.Make)},
		{"GET", "/_/tokens/{id}/revoke", visit.SignedIn, (*request).revokePage},
		{"POST", "/_/tokens/{id}/revoke", visit.SignedIn, (*request).revokeToken},
		{"GET", "/_/transfer", visit.SignedIn, (*request).transferPage},
		{"GET", palette.Path, visit.SignedIn, onRequest(palette.Page)},
		{"GET", palette.KeysPath, visit.SignedIn, onRequest(palette.Keys)},
	}
}

func rowsOfAdmins() []row {
	return []row{
		{"GET", "/_/users", visit.Admins, (*request).usersPage},
		{"POST", "/_/users", visit.Admins, (*request).inviteUser},
		{"GET", "/_/users/{id}", visit.Admins, (*request).userPage},
		{"POST", "/_/users/{id}", visit.Admins, (*request).editUser},
		{"POST", "/_/users/{id}/setup-link", visit.Admins, (*request).renewSetupLink},
		{"GET", "/_/users/{id}/delete", visit.Admins, (*request).deleteUserPage},
		{"POST", "/_/users/{id}/delete", visit.Admins, (*request).deleteUser},
		{"GET", "/_/domains", visit.Admins, onRequest(domains.List)},
		{"POST", "/_/domains", visit.Admins, onRequest(domains.Add)},
		{"GET", "/_/domains/{host}", visit.Admins, onRequest(domains.One)},
		{"POST", "/_/domains/{host}", visit.Admins, onRequest(domains.Save)},
		{"POST", "/_/domains/{host}/check", visit.Admins, onRequest(domains.Check)},
		{"GET", "/_/domains/{host}/delete", visit.Admins, onRequest(domains.AskToRemove)},
		{"POST", "/_/domains/{host}/delete", visit.Admins, onRequest(domains.Remove)},
		{"GET", "/_/misses", visit.Admins, (*request).missesPage},
		{"GET", "/_/audit", visit.Admins, (*request).auditPage},
		{"POST", "/_/transfer", visit.Admins, (*request).importFile},
		{"GET", "/_/system", visit.Admins, (*request).systemPage},
		{"GET", "/_/system/edges", visit.Admins, (*request).edgesPage},
		{"GET", "/_/system/edges/{name}/forget", visit.Admins, (*request).forgetEdgePage},
		{"POST", "/_/system/edges/{name}/forget", visit.Admins, (*request).forgetEdge},
	}
}

// onRequest returns the page of another room.
func onRequest(page func(*visit.Request) error) func(*request) error {
	return func(r *request) error { return page(r.Request) }
}

// A Page is a row as others need it.
type Page struct {
	Method, Path     string // {name} stands for a part of the path
	SignedIn, Admins bool   // who may ask for it: only visitors who are signed in, only admins
}

// Pages returns all pages and forms. HEAD and the files that pages load are not among them.
func Pages() (pages []Page) {
	for _, r := range rows() {
		pages = append(pages, Page{r.method, r.path, r.who != visit.Anybody, r.who == visit.Admins})
	}
	return pages
}
