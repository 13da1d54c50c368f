package visit

import (
	"net/url"
	"strings"
)

// This file is what a request keeps for the next page of its session, and what is kept for it.

// Say keeps a notice for the next page.
func (r *Request) Say(kind, text string) { r.SayWith(kind, text, Option{}) }

// SayWith is say with a link after the text.
func (r *Request) SayWith(kind, text string, link Option) {
	r.keep.change(r.Caller, func(e *kept) { e.notice = &notice{Kind: kind, Text: text, Link: link} })
}

// SayUndo is Say with a form that takes back what was done, unless it has no path.
func (r *Request) SayUndo(kind, text string, u Undo) {
	r.keep.change(r.Caller, func(e *kept) { e.notice = &notice{Kind: kind, Text: text, Undo: u} })
}

// KeepSecret keeps a text for the next page that takes one for the same purpose.
func (r *Request) KeepSecret(purpose, text string) {
	r.keep.change(r.Caller, func(e *kept) { e.secret = purpose + " " + text })
}

// take calls get with what is kept for the visitor's session, if there is anything, and if the
// visitor will see it.
func (r *Request) take(get func(*kept)) {
	if !r.Ctx.IsHead() {
		r.keep.take(r.Caller.SessionID, get)
	}
}

// takeNotice returns the notice that is kept, and forgets it; nil: none.
func (r *Request) takeNotice() (n *notice) {
	r.take(func(e *kept) { n, e.notice = e.notice, nil })
	return n
}

// takeForm returns the fields that are kept for the form of this page, and forgets them; nil: none.
func (r *Request) takeForm() (fields url.Values) {
	r.take(func(e *kept) {
		if e.form != nil && e.form.path == r.Path() {
			fields, _ = url.ParseQuery(e.form.fields)
			e.form = nil
		}
	})
	return fields
}

// TakeSecret returns the text that is kept for a purpose, and forgets it; "": none.
func (r *Request) TakeSecret(purpose string) (text string) {
	r.take(func(e *kept) {
		if secret, found := strings.CutPrefix(e.secret, purpose+" "); found {
			text, e.secret = secret, ""
		}
	})
	return text
}

// Typed returns what the visitor has typed into a field: in the form that was sent, or before
// signing in again. ok == false: nothing, so the field shows its default.
func (r *Request) Typed(name string) (text string, ok bool) {
	switch {
	case r.Posts():
		return r.Sent(name), true
	case r.KeptFields() == nil:
		return "", false
	}
	return r.kept.Get(name), true
}

// KeptFields returns what the visitor had typed into the form of this page before signing in again;
// nil: nothing. It is given to one request.
func (r *Request) KeptFields() url.Values {
	if !r.keptRead {
		r.kept, r.keptRead = r.takeForm(), true
	}
	return r.kept
}
