package dashboard

import (
	"slices"

	"shunt/api/dashboard/apps"
	"shunt/api/dashboard/checks"
	"shunt/api/dashboard/domains"
	"shunt/api/dashboard/folders"
	"shunt/api/dashboard/palette"
	"shunt/api/dashboard/qr"
	"shunt/api/dashboard/several"
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
func rows() []row { return slices.Concat(rowsOfAll(), rowsOfLinks(), rowsOfAdmins()) }

func rowsOfAll() []row {
	return []row{
		{"GET", "/_/", visit.SignedIn, (*request).overview},
		{"GET", "/_/live", visit.SignedIn, (*request).liveToday},
		{"GET", "/_/figures.csv", visit.SignedIn, (*request).figuresCSV},
		{"GET", "/_/compare", visit.SignedIn, (*request).comparePage},
		{"GET", "/_/by", visit.SignedIn, (*request).byPage},
		{"GET", "/_/by.csv", visit.SignedIn, (*request).byCSV},
		{"GET", "/_/account", visit.SignedIn, (*request).account},
		{"POST", "/_/account/password", visit.SignedIn, (*request).changePassword},
		{"POST", "/_/zone", visit.SignedIn, (*request).tellZone},
		{"POST", "/_/account/zone", visit.SignedIn, (*request).chooseZone},
		{"POST", "/_/account/language", visit.SignedIn, (*request).chooseLanguage},
		{"POST", "/_/account/sessions", visit.SignedIn, (*request).endSessions},
		{"GET", "/_/setup", visit.Anybody, (*request).setupPage},
		{"POST", "/_/setup", visit.Anybody, (*request).setup},
		{"GET", "/_/welcome", visit.SignedIn, (*request).welcome},
		{"GET", qr.Row, visit.SignedIn, onRequest(qr.Page)},
		{"POST", qr.Row, visit.SignedIn, onRequest(qr.SendLogo)},
		{"GET", qr.Row + ".svg", visit.SignedIn, onRequest(qr.Picture(qrorder.SVG))},
		{"GET", qr.Row + ".png", visit.SignedIn, onRequest(qr.Picture(qrorder.PNG))},
		{"GET", qr.Row + ".pdf", visit.SignedIn, onRequest(qr.Picture(qrorder.PDF))},
		{"GET", checks.Path, visit.Changing, onRequest(checks.Page)},
		{"POST", checks.Path, visit.Changing, onRequest(checks.Start)},
		{"GET", undo.TrashPath, visit.Changing, onRequest(undo.Trash)},
		{"POST", undo.RestorePath, visit.Changing, onRequest(undo.Restore)},
		{"POST", undo.PurgePath, visit.Changing, onRequest(undo.Purge)},
		{"GET", "/_/tags", visit.SignedIn, (*request).tagsPage},
		{"GET", "/_/tags/figures", visit.SignedIn, (*request).tagFigures},
		{"GET", "/_/tags/rename", visit.Changing, (*request).renameTagPage},
		{"POST", "/_/tags/rename", visit.Changing, (*request).renameTag},
		{"GET", "/_/tags/delete", visit.Changing, (*request).deleteTagPage},
		{"POST", "/_/tags/delete", visit.Changing, (*request).deleteTag},
		{"GET", "/_/folders", visit.SignedIn, onRequest(folders.List)},
		{"POST", "/_/folders", visit.Changing, onRequest(folders.Add)},
		{"GET", "/_/folders/{folder}", visit.SignedIn, onRequest(folders.One)},
		{"POST", "/_/folders/{folder}", visit.Changing, onRequest(folders.Save)},
		{"GET", "/_/folders/{folder}/figures", visit.SignedIn, (*request).folderFigures},
		{"GET", "/_/folders/{folder}/delete", visit.Changing, onRequest(folders.AskToRemove)},
		{"POST", "/_/folders/{folder}/delete", visit.Changing, onRequest(folders.Remove)},
		{"GET", "/_/folders/{folder}/leave", visit.Changing, onRequest(folders.AskToLeave)},
		{"POST", "/_/folders/{folder}/leave", visit.Changing, onRequest(folders.Leave)},
		{"GET", "/_/campaigns", visit.Changing, (*request).campaignsPage},
		{"POST", "/_/campaigns", visit.Changing, (*request).makeCampaign},
		{"POST", "/_/campaigns/delete", visit.Changing, (*request).deleteCampaign},
		{"GET", "/_/sign-in", visit.Anybody, (*request).signInPage},
		{"POST", "/_/sign-in", visit.Anybody, (*request).signIn},
		{"POST", "/_/sign-out", visit.Anybody, (*request).signOut},
		{"GET", "/_/tokens", visit.SignedIn, (*request).tokensPage},
		{"POST", "/_/tokens", visit.SignedIn, (*request).makeToken},
		{"GET", apps.Path, visit.Changing, onRequest(apps.List)},
		{"POST", apps.Path, visit.Changing, onRequest(apps.Make)},
		{"GET", "/_/tokens/{id}/revoke", visit.SignedIn, (*request).revokePage},
		{"POST", "/_/tokens/{id}/revoke", visit.SignedIn, (*request).revokeToken},
		{"GET", "/_/transfer", visit.SignedIn, (*request).transferPage},
		{"GET", palette.Path, visit.SignedIn, onRequest(palette.Page)},
		{"GET", palette.KeysPath, visit.SignedIn, onRequest(palette.Keys)},
	}
}

// rowsOfLinks are those of one link, and of lists of links.
func rowsOfLinks() []row {
	return []row{
		{"GET", "/_/link/{code}", visit.SignedIn, (*request).link},
		{"GET", "/_/link/{code}/edit", visit.Changing, (*request).editLink},
		{"POST", "/_/link/{code}/edit", visit.Changing, (*request).saveLink},
		{"POST", "/_/link/{code}/disabled", visit.Changing, (*request).setDisabled},
		{"POST", "/_/link/{code}/undo", visit.Changing, onRequest(undo.TakeBack)},
		{"GET", "/_/link/{code}/reset", visit.Changing, (*request).confirmReset},
		{"POST", "/_/link/{code}/reset", visit.Changing, (*request).resetLink},
		{"GET", "/_/link/{code}/owner", visit.Changing, (*request).ownerPage},
		{"POST", "/_/link/{code}/owner", visit.Changing, (*request).giveLink},
		{"GET", "/_/link/{code}/delete", visit.Changing, (*request).confirmDelete},
		{"POST", "/_/link/{code}/delete", visit.Changing, (*request).deleteLink},
		{"GET", "/_/links", visit.SignedIn, (*request).links},
		{"POST", "/_/links", visit.Creating, (*request).createLink},
		{"GET", "/_/links/new", visit.Changing, (*request).newLink},
		{"GET", apps.NewLinkPath, visit.Changing, (*request).newLinkOf},
		{"POST", "/_/links/new", visit.Creating, (*request).createLink},
		{"GET", "/_/links/bulk", visit.Changing, (*request).newBulk},
		{"POST", "/_/links/bulk", visit.Creating, (*request).createBulk},
		{"POST", "/_/links/bulk/results", visit.Changing, (*request).bulkResults},
		{"GET", "/_/links/filters", visit.SignedIn, (*request).filtersPage},
		{"POST", "/_/links/filters", visit.SignedIn, (*request).keepFilter},
		{"POST", "/_/links/filters/delete", visit.SignedIn, (*request).deleteFilter},
		{"POST", "/_/links/selected", visit.SignedIn, (*request).selected},
		{"POST", "/_/links/selected/change", visit.Changing, (*request).changeSelected},
		{"POST", several.UndoPath, visit.Changing, onRequest(several.TakeBack)},
		{"GET", "/_/links/export", visit.SignedIn, (*request).exportShown},
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
		{"GET", "/_/all-tokens", visit.Admins, (*request).allTokensPage},
		{"GET", "/_/all-tokens/{id}/revoke", visit.Admins, (*request).revokeAnyPage},
		{"POST", "/_/all-tokens/{id}/revoke", visit.Admins, (*request).revokeAny},
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
	Method, Path            string // {name} stands for a part of the path
	SignedIn, Edits, Admins bool   // who may ask for it: only visitors who are signed in, who change links, only admins
}

// Pages returns all pages and forms. HEAD and the files that pages load are not among them.
func Pages() (pages []Page) {
	for _, r := range rows() {
		edits := r.who == visit.Changing || r.who == visit.Creating
		pages = append(pages, Page{r.method, r.path, r.who != visit.Anybody, edits, r.who == visit.Admins})
	}
	return pages
}
