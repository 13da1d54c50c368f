package dashboard

import (
	"net/url"
	"strings"
	"sync"
	"time"
)

// A notice tells the visitor on the next page what a form has done.
type notice struct {
	Kind string // info, done, warning or error: a class of the style
	Text string
}

// A form is what a visitor had typed when the session had ended.
type form struct {
	path   string
	values url.Values
}

// Limits of what is kept in memory for the next page of a session: 16 MiB in all.
const (
	maxKept      = 256
	maxFormBytes = 48 << 10 // so that it fits into the body of a sign-in
	keptFor      = 10 * time.Minute
)

// keep has what the next page of a session shows once: notices, secrets that are shown once, and
// forms to fill in again. It is lost when the server restarts. If there are too many sessions, the
// one with the oldest entry loses it.
type keep struct {
	now func() time.Time
	mu  *sync.Mutex
	of  map[string]*kept // by Caller.SessionID
}

type kept struct {
	until  time.Time
	notice *notice
	secret string // with its purpose before it
	form   *form
	sent   []*sentForm // the last forms that make something, see once
}

func newKeep(now func() time.Time) keep {
	return keep{now: now, mu: new(sync.Mutex), of: make(map[string]*kept)}
}

// change calls set with what is kept for a session.
func (k *keep) change(session string, set func(*kept)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	e := k.of[session]
	if e == nil || e.until.Before(now) {
		k.makeRoom(now)
		e = &kept{}
		k.of[session] = e
	}
	e.until = now.Add(keptFor)
	set(e)
}

// makeRoom removes what is too old, and at least one entry if there are too many.
func (k *keep) makeRoom(now time.Time) {
	if len(k.of) < maxKept {
		return
	}
	oldest := ""
	for session, e := range k.of {
		if e.until.Before(now) {
			delete(k.of, session)
		} else if oldest == "" || e.until.Before(k.of[oldest].until) {
			oldest = session
		}
	}
	if len(k.of) >= maxKept {
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

// takeForm returns the form that is kept for a session and a path, and forgets it; nil: none.
func (k *keep) takeForm(session, path string) (f *form) {
	k.take(session, func(e *kept) {
		if e.form != nil && e.form.path == path {
			f, e.form = e.form, nil
		}
	})
	return f
}

// takeNotice returns the notice that is kept for a session, and forgets it; nil: none.
func (k *keep) takeNotice(session string) (n *notice) {
	k.take(session, func(e *kept) { n, e.notice = e.notice, nil })
	return n
}

// say keeps a notice for the next page.
func (r *request) say(kind, text string) {
	r.keep.change(r.caller.SessionID, func(e *kept) { e.notice = &notice{kind, text} })
}

// keepSecret keeps a text for the next page that takes one for the same purpose.
func (r *request) keepSecret(purpose, text string) {
	r.keep.change(r.caller.SessionID, func(e *kept) { e.secret = purpose + " " + text })
}

// takeSecret returns the text that is kept for a purpose, and forgets it; "": none.
func (r *request) takeSecret(purpose string) (text string) {
	r.keep.take(r.caller.SessionID, func(e *kept) {
		if secret, found := strings.CutPrefix(e.secret, purpose+" "); found {
			text, e.secret = secret, ""
		}
	})
	return text
}
