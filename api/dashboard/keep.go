package dashboard

import (
	"net/url"
	"strings"
	"sync"
	"time"

	"shunt/api/account"
)

// A notice tells the visitor on the next page what a form has done.
type notice struct {
	Kind string // info, done, warning or error: a class of the style
	Text string
	Link option // that is offered; empty: none
}

// A form is what a visitor had typed when the session had ended.
type form struct {
	path   string // of its page, decoded
	fields string // URL-encoded; parsed, 48 KiB of empty fields would take megabytes
}

// Limits of what is kept in memory for the next page of a session: 12 MiB of forms in all.
const (
	maxKept      = 256
	maxKeptUser  = 16       // sessions of one user, so that nobody can push out what is kept for others
	maxFormBytes = 48 << 10 // so that it fits into the body of a sign-in
	keptFor      = 10 * time.Minute
)

// keep has what the next page of a session shows once: notices, secrets that are shown once, and
// forms to fill in again. It is lost when the server restarts. If there are too many sessions, of
// all or of one user, the one whose entry is oldest loses it.
type keep struct {
	now func() time.Time
	mu  *sync.Mutex
	of  map[string]*kept // by Caller.SessionID
}

type kept struct {
	user   uint32
	until  time.Time
	notice *notice
	secret string // with its purpose before it
	form   *form
	sent   []*sentForm // the last forms that make something, see once
}

func newKeep(now func() time.Time) keep {
	return keep{now: now, mu: new(sync.Mutex), of: make(map[string]*kept)}
}

// change calls set with what is kept for the caller's session.
func (k *keep) change(c account.Caller, set func(*kept)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	e := k.of[c.SessionID]
	if e == nil || e.until.Before(now) {
		delete(k.of, c.SessionID)
		k.makeRoom(c.User.ID, now)
		e = &kept{user: c.User.ID}
		k.of[c.SessionID] = e
	}
	e.until = now.Add(keptFor)
	set(e)
}

// makeRoom removes what is too old, and makes room for one more session of user: it removes the
// oldest entry of the user who has too many, or of all.
func (k *keep) makeRoom(user uint32, now time.Time) {
	var oldest, oldestOfUser string
	ofUser := 0
	for session, e := range k.of {
		if e.until.Before(now) {
			delete(k.of, session)
			continue
		}
		if oldest == "" || e.until.Before(k.of[oldest].until) {
			oldest = session
		}
		if e.user != user {
			continue
		}
		if ofUser++; oldestOfUser == "" || e.until.Before(k.of[oldestOfUser].until) {
			oldestOfUser = session
		}
	}
	switch {
	case ofUser >= maxKeptUser:
		delete(k.of, oldestOfUser)
	case len(k.of) >= maxKept:
		delete(k.of, oldest)
	}
}

// take calls get with what is kept for a session, if there is anything.
func (k *keep) take(session string, get func(*kept)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.of[session]
	if e == nil {
		return
	}
	if !e.until.Before(k.now()) {
		get(e)
	}
	if e.notice == nil && e.secret == "" && e.form == nil && len(e.sent) == 0 || e.until.Before(k.now()) {
		delete(k.of, session)
	}
}

// say keeps a notice for the next page.
func (r *request) say(kind, text string) {
	r.keep.change(r.caller, func(e *kept) { e.notice = &notice{Kind: kind, Text: text} })
}

// sayWith is say with a link after the text.
func (r *request) sayWith(kind, text string, link option) {
	r.keep.change(r.caller, func(e *kept) { e.notice = &notice{kind, text, link} })
}

// keepSecret keeps a text for the next page that takes one for the same purpose.
func (r *request) keepSecret(purpose, text string) {
	r.keep.change(r.caller, func(e *kept) { e.secret = purpose + " " + text })
}

// take calls get with what is kept for the visitor's session, if there is anything, and if the
// visitor will see it.
func (r *request) take(get func(*kept)) {
	if !r.ctx.IsHead() {
		r.keep.take(r.caller.SessionID, get)
	}
}

// takeNotice returns the notice that is kept, and forgets it; nil: none.
func (r *request) takeNotice() (n *notice) {
	r.take(func(e *kept) { n, e.notice = e.notice, nil })
	return n
}

// takeForm returns the fields that are kept for the form of this page, and forgets them; nil: none.
func (r *request) takeForm() (fields url.Values) {
	r.take(func(e *kept) {
		if e.form != nil && e.form.path == r.path() {
			fields, _ = url.ParseQuery(e.form.fields)
			e.form = nil
		}
	})
	return fields
}

// takeSecret returns the text that is kept for a purpose, and forgets it; "": none.
func (r *request) takeSecret(purpose string) (text string) {
	r.take(func(e *kept) {
		if secret, found := strings.CutPrefix(e.secret, purpose+" "); found {
			text, e.secret = secret, ""
		}
	})
	return text
}
