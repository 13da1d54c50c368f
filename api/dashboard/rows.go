package dashboard

// who may ask for a page.
type who uint8

const (
	anybody  who = iota
	signedIn     // others are asked to sign in
	admins       // for others the page does not exist
)

// A row is one page, or one form that a page sends.
type row struct {
	method, path string // the path is also the label route of the metrics
	who          who
	handle       func(*request) error
	creates      bool // it may create a link
}

// rows returns the table of pages and forms. A form is sent to the path of the page that shows it,
// or to a path below it.
func rows() []row {
	return []row{
		{"GET", "/_/", signedIn, (*request).overview, false},
		{"GET", "/_/live", signedIn, (*request).liveToday, false},
		{"GET", "/_/link/{code}", signedIn, (*request).link, false},
		{"GET", "/_/account", signedIn, (*request).account, false},
		{"POST", "/_/account/password", signedIn, (*request).changePassword, false},
		{"POST", "/_/account/sessions", signedIn, (*request).endSessions, false},
		{"GET", "/_/setup", anybody, (*request).setupPage, false},
		{"POST", "/_/setup", anybody, (*request).setup, false},
		{"GET", "/_/welcome", signedIn, (*request).welcome, false},
		{"GET", "/_/link/{code}/edit", signedIn, (*request).editLink, false},
		{"POST", "/_/link/{code}/edit", signedIn, (*request).saveLink, false},
		{"POST", "/_/link/{code}/disabled", signedIn, (*request).setDisabled, false},
		{"GET", "/_/link/{code}/delete", signedIn, (*request).confirmDelete, false},
		{"POST", "/_/link/{code}/delete", signedIn, (*request).deleteLink, false},
		{"GET", "/_/links", signedIn, (*request).links, false},
		{"POST", "/_/links", signedIn, (*request).createLink, true},
		{"GET", "/_/links/new", signedIn, (*request).newLink, false},
		{"POST", "/_/links/new", signedIn, (*request).createLink, true},
		{"GET", "/_/links/bulk", signedIn, (*request).newBulk, false},
		{"POST", "/_/links/bulk", signedIn, (*request).createBulk, true},
		{"GET", "/_/sign-in", anybody, (*request).signInPage, false},
		{"POST", "/_/sign-in", anybody, (*request).signIn, false},
		{"POST", "/_/sign-out", anybody, (*request).signOut, false},
		{"GET", "/_/tokens", signedIn, (*request).tokensPage, false},
		{"POST", "/_/tokens", signedIn, (*request).makeToken, false},
		{"GET", "/_/tokens/{id}/revoke", signedIn, (*request).revokePage, false},
		{"POST", "/_/tokens/{id}/revoke", signedIn, (*request).revokeToken, false},
		{"GET", "/_/users", admins, (*request).usersPage, false},
		{"POST", "/_/users", admins, (*request).inviteUser, false},
		{"GET", "/_/users/{id}", admins, (*request).userPage, false},
		{"POST", "/_/users/{id}", admins, (*request).editUser, false},
		{"POST", "/_/users/{id}/setup-link", admins, (*request).renewSetupLink, false},
		{"GET", "/_/users/{id}/delete", admins, (*request).deleteUserPage, false},
		{"POST", "/_/users/{id}/delete", admins, (*request).deleteUser, false},
		{"GET", "/_/misses", admins, (*request).missesPage, false},
		{"GET", "/_/transfer", signedIn, (*request).transferPage, false},
		{"POST", "/_/transfer", admins, (*request).importFile, true},
		{"GET", "/_/system", admins, (*request).systemPage, false},
	}
}
