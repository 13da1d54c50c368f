package dashboard

import "strings"

// A who says which visitors may ask for a page.
type who uint8

const (
	anybody  who = iota
	signedIn     // others are asked to sign in
	creating     // as signedIn; the form creates links, so it has the limit of such calls
	admins       // for others the page does not exist; admins have no limits
)

// A row is one page, or one form that a page sends. A page with GET is asked for with HEAD, too.
type row struct {
	method, path string // the path is also the label route of the metrics
	who          who
	handle       func(*request) error
}

// rows returns the table of pages and forms. A form is sent to the path of the page that shows it,
// or to a path below it.
func rows() []row {
	return []row{
		{"GET", "/_/", signedIn, (*request).overview},
		{"GET", "/_/live", signedIn, (*request).liveToday},
		{"GET", "/_/link/{code}", signedIn, (*request).link},
		{"GET", "/_/account", signedIn, (*request).account},
		{"POST", "/_/account/password", signedIn, (*request).changePassword},
		{"POST", "/_/account/sessions", signedIn, (*request).endSessions},
		{"GET", "/_/setup", anybody, (*request).setupPage},
		{"POST", "/_/setup", anybody, (*request).setup},
		{"GET", "/_/welcome", signedIn, (*request).welcome},
		{"GET", "/_/link/{code}/edit", signedIn, (*request).editLink},
		{"POST", "/_/link/{code}/edit", signedIn, (*request).saveLink},
		{"POST", "/_/link/{code}/disabled", signedIn, (*request).setDisabled},
		{"GET", "/_/link/{code}/reset", signedIn, (*request).confirmReset},
		{"POST", "/_/link/{code}/reset", signedIn, (*request).resetLink},
		{"GET", "/_/link/{code}/owner", signedIn, (*request).ownerPage},
		{"POST", "/_/link/{code}/owner", signedIn, (*request).giveLink},
		{"GET", "/_/link/{code}/delete", signedIn, (*request).confirmDelete},
		{"POST", "/_/link/{code}/delete", signedIn, (*request).deleteLink},
		{"GET", "/_/links", signedIn, (*request).links},
		{"POST", "/_/links", creating, (*request).createLink},
		{"GET", "/_/links/new", signedIn, (*request).newLink},
		{"POST", "/_/links/new", creating, (*request).createLink},
		{"GET", "/_/links/bulk", signedIn, (*request).newBulk},
		{"POST", "/_/links/bulk", creating, (*request).createBulk},
		{"GET", "/_/tags", signedIn, (*request).tagsPage},
		{"GET", "/_/tags/rename", signedIn, (*request).renameTagPage},
		{"POST", "/_/tags/rename", signedIn, (*request).renameTag},
		{"GET", "/_/tags/delete", signedIn, (*request).deleteTagPage},
		{"POST", "/_/tags/delete", signedIn, (*request).deleteTag},
		{"GET", "/_/sign-in", anybody, (*request).signInPage},
		{"POST", "/_/sign-in", anybody, (*request).signIn},
		{"POST", "/_/sign-out", anybody, (*request).signOut},
		{"GET", "/_/tokens", signedIn, (*request).tokensPage},
		{"POST", "/_/tokens", signedIn, (*request).makeToken},
		{"GET", "/_/tokens/{id}/revoke", signedIn, (*request).revokePage},
		{"POST", "/_/tokens/{id}/revoke", signedIn, (*request).revokeToken},
		{"GET", "/_/users", admins, (*request).usersPage},
		{"POST", "/_/users", admins, (*request).inviteUser},
		{"GET", "/_/users/{id}", admins, (*request).userPage},
		{"POST", "/_/users/{id}", admins, (*request).editUser},
		{"POST", "/_/users/{id}/setup-link", admins, (*request).renewSetupLink},
		{"GET", "/_/users/{id}/delete", admins, (*request).deleteUserPage},
		{"POST", "/_/users/{id}/delete", admins, (*request).deleteUser},
		{"GET", "/_/misses", admins, (*request).missesPage},
		{"GET", "/_/audit", admins, (*request).auditPage},
		{"GET", "/_/transfer", signedIn, (*request).transferPage},
		{"POST", "/_/transfer", admins, (*request).importFile},
		{"GET", "/_/system", admins, (*request).systemPage},
	}
}

// changesAccounts reports whether r changes users, passwords or tokens. Signing in and out does not.
func (r *row) changesAccounts() bool {
	if r.method != "POST" {
		return false
	}
	return r.path == "/_/account/password" || r.path == "/_/setup" || strings.HasPrefix(r.path, "/_/users") || strings.HasPrefix(r.path, "/_/tokens")
}

// A Page is a row as others need it.
type Page struct {
	Method, Path     string // {name} stands for a part of the path
	SignedIn, Admins bool   // who may ask for it: only visitors who are signed in, only admins
}

// Pages returns all pages and forms. HEAD and the files that pages load are not among them.
func Pages() (pages []Page) {
	for _, r := range rows() {
		pages = append(pages, Page{r.method, r.path, r.who != anybody, r.who == admins})
	}
	return pages
}
