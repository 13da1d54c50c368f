package visit

import (
	"html/template"
	"io/fs"
	"strings"
)

// A Who says which visitors may ask for a page.
type Who uint8

const (
	Anybody  Who = iota
	SignedIn     // others are asked to sign in
	Changing     // as SignedIn; for a viewer, who changes no links, the page does not exist
	Creating     // as Changing; the form creates links, so it has the limit of such calls
	Admins       // for others the page does not exist; admins have no limits
)

// A Row is one page, or one form that a page sends. A page with GET is asked for with HEAD, too.
type Row struct {
	Method, Path string // the path is also the label route of the metrics
	Who          Who
	Handle       func(*Request) error
}

// ChangesAccounts reports whether r changes users, passwords, tokens, domains or folders. Signing in and out does not.
func (r *Row) ChangesAccounts() bool {
	if r.Method != "POST" {
		return false
	}
	return r.Path == "/_/account/password" || r.Path == "/_/setup" || strings.HasPrefix(r.Path, "/_/users") || strings.HasPrefix(r.Path, "/_/tokens") ||
		strings.HasPrefix(r.Path, "/_/all-tokens") ||
		strings.HasPrefix(r.Path, "/_/system/edges") || strings.HasPrefix(r.Path, "/_/domains") || strings.HasPrefix(r.Path, "/_/folders")
}

// A Content is the pages.
type Content struct {
	Rows          []Row
	Templates     fs.FS            // templates/*.html and their parts
	Functions     template.FuncMap // that they call, beside those that all may call
	Style, Script string

	AskToSignIn func(r *Request) error // answers a request for a page that only visitors who are signed in may see

	views views // see Parse
}
