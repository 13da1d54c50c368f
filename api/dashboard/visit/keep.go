package visit

import (
	"crypto/sha256"
	"slices"
	"sync"
	"time"

	"shunt/api/account"
)

// An Option leads to a list.
type Option struct{ Name, Path string }

// A notice tells the visitor on the next page what a form has done.
type notice struct {
	Kind string // info, done, warning or error: a class of the style
	Text string
	Link Option // that is offered; empty: none
	Undo Undo   // the same
}

// An Undo is a form that a notice offers, to take back what was done.
type Undo struct {
	Path   string
	Fields []Parameter
}

// A form is what a visitor had typed when the session had ended.
type form struct {
	path   string // of its page, decoded
	fields string // URL-encoded; parsed, 48 KiB of empty fields would take megabytes
}

// Limits of what is kept in memory for the next page of a session: 12 MiB of forms in all, and 8 MiB of what a notice
// needs to take back an edit (package undo).
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

// A sentForm is a form that was sent to make something that the API has no Idempotency-Key for, or to
// delete something, which is there only once.
type sentForm struct {
	key   [sha256.Size]byte // of the path and the whole form
	ended chan struct{}     // closed when its request has ended
	page  string            // that says what the form has done; "": nothing. Not set before ended is closed
}

// Limits of the forms that a session has sent.
const (
	maxSentForms = 16
	sentPatience = 20 * time.Second // for the end of the first of two equal requests
)

// begin notes that the caller's session sends a form. first == false: it was sent before.
func (k *keep) begin(c account.Caller, key [sha256.Size]byte) (sent *sentForm, first bool) {
	k.change(c, func(e *kept) {
		if i := slices.IndexFunc(e.sent, func(s *sentForm) bool { return s.key == key }); i >= 0 {
			sent = e.sent[i]
			return
		}
		sent, first = &sentForm{key: key, ended: make(chan struct{})}, true
		if len(e.sent) >= maxSentForms {
			e.sent = e.sent[1:]
		}
		e.sent = append(e.sent, sent)
	})
	return sent, first
}

// forget removes a form.
func (k *keep) forget(c account.Caller, sent *sentForm) {
	k.change(c, func(e *kept) {
		e.sent = slices.DeleteFunc(slices.Clone(e.sent), func(s *sentForm) bool { return s == sent })
	})
}
