package dashboard

import (
	"errors"
	"net/url"
	"strings"

	"github.com/valyala/fasthttp"

	"shunt/api/problem"
)

// signInView is what the page to sign in shows.
type signInView struct {
	Email string
	Next  string // the path to go to
	Kept  string // the form to fill in again, see packForm
	Lost  bool   // the form was too large to keep
	Error string
	Ended bool // a session has ended while the visitor was at work
}

// maxNextBytes bounds the path to return to.
const maxNextBytes = 2048

// safeNext returns the path to go to after signing in: next if it is one of our pages, the overview
// otherwise.
func safeNext(next string) string {
	u, err := url.Parse(next)
	if err != nil || len(next) > maxNextBytes || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(next, Root) ||
		strings.Contains(next, "//") || strings.ContainsAny(next, "\\\r\n\t") || strings.HasPrefix(next, Root+"sign-") ||
		strings.HasPrefix(next, Root+"setup") {
		return Root
	}
	return next
}

// signInPage is GET /_/sign-in.
func (r *request) signInPage() error {
	if r.signedIn() {
		return r.seeOther(safeNext(r.query("next")))
	}
	return r.show(fasthttp.StatusOK, "sign-in", "Sign in", signInView{Next: safeNext(r.query("next"))})
}

// signIn is POST /_/sign-in.
func (r *request) signIn() error {
	view := signInView{Email: r.sent("email"), Next: safeNext(r.sent("next")), Kept: r.sent("kept")}
	caller, err := r.sessions.LogIn(r.ctx, view.Email, r.sent("password"))
	if err != nil {
		return r.refuseSignIn(view, err)
	}
	r.caller = caller
	if f := r.unpackForm(view.Kept); f != nil {
		r.keep.change(caller.SessionID, func(e *kept) {
			e.form = f
			e.notice = &notice{"info", "You are signed in again. Nothing has been sent yet: check the form and send it."}
		})
		return r.seeOther(f.path)
	}
	return r.seeOther(view.Next)
}

// refuseSignIn shows the form again with the reason.
func (r *request) refuseSignIn(view signInView, err error) error {
	p, known := problem.Of(err)
	if !known {
		return err
	}
	view.Error = p.Detail
	return r.show(p.Kind.Status, "sign-in", "Sign in", view)
}

// signOut is POST /_/sign-out.
func (r *request) signOut() error {
	if err := r.sessions.LogOut(r.ctx); err != nil {
		return err
	}
	return r.seeOther(Root + "sign-in")
}

// askToSignIn answers a request of somebody who is not signed in. A form that was sent is filled in
// again after signing in, but never sent by itself.
func (r *request) askToSignIn() error {
	if !r.posts() {
		if r.fromElsewhere() {
			return r.show(fasthttp.StatusOK, "continue", "One moment", r.ctx.URI().RequestURI())
		}
		next := string(r.ctx.URI().RequestURI())
		if next == Root {
			return r.seeOther(Root + "sign-in")
		}
		return r.seeOther(Root + "sign-in?next=" + url.QueryEscape(next))
	}
	view := signInView{Next: r.pageOf(r.path()), Ended: true}
	packed, err := packForm(view.Next, r.ctx.PostArgs())
	view.Kept, view.Lost = packed, err != nil
	return r.show(fasthttp.StatusUnauthorized, "sign-in", "Sign in again", view)
}

// fromElsewhere reports whether a link on a page of another site was followed. Browsers then leave
// out the cookie of the session, because it is SameSite=Strict. They send it when a page of ours
// asks for the same address.
func (r *request) fromElsewhere() bool {
	return string(r.ctx.Request.Header.Peek("Sec-Fetch-Site")) == "cross-site" &&
		string(r.ctx.Request.Header.Peek("Sec-Fetch-Mode")) == "navigate"
}

// pageOf returns the page that shows the form that is sent to path.
func (d *Dashboard) pageOf(path string) string {
	for {
		for i := range d.rows {
			if p := &d.rows[i]; p.method == fasthttp.MethodGet && matches(p.path, path) {
				return path
			}
		}
		slash := strings.LastIndexByte(path, '/')
		if slash < len(Root) {
			return Root
		}
		path = path[:slash]
	}
}

// matches reports whether path is one of those that a row's pattern means.
func matches(pattern, path string) bool {
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if want[i] != got[i] && (!strings.HasPrefix(want[i], "{") || got[i] == "") {
			return false
		}
	}
	return true
}

var errFormTooLarge = errors.New("the form is too large to keep")

// packForm returns a form as text for a hidden field, without passwords and codes. Files are not
// part of it.
func packForm(path string, sent *fasthttp.Args) (string, error) {
	values := url.Values{}
	for name, value := range sent.All() {
		if n := string(name); !secretField(n) {
			values.Add(n, string(value))
		}
	}
	packed := path + "?" + values.Encode()
	if len(packed) > maxFormBytes {
		return "", errFormTooLarge
	}
	return packed, nil
}

// secretField reports whether a form's field is one that is never kept.
func secretField(name string) bool {
	return strings.Contains(name, "password") || name == "code" || name == "kept"
}

// unpackForm returns the form that packForm has packed; nil if it is none.
func (d *Dashboard) unpackForm(packed string) *form {
	path, query, found := strings.Cut(packed, "?")
	if !found || len(packed) > maxFormBytes || safeNext(path) != path || d.pageOf(path) != path {
		return nil
	}
	values, err := url.ParseQuery(query)
	if err != nil || len(values) == 0 {
		return nil
	}
	for name := range values {
		if secretField(name) {
			return nil
		}
	}
	return &form{path, values}
}
