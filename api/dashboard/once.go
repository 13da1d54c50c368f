package dashboard

import (
	"crypto/sha256"
	"time"

	"shunt/api/account"
	"shunt/api/problem"
)

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

// once calls do, which makes or deletes a thing and returns the path of the page that says so. If
// the session has sent the same form before and it was done, once only returns that page. A form
// that is sent twice at the same time waits for the first to end. The content is part of what is
// compared: somebody who comes back to a form, and types another name, wants another thing.
func (r *request) once(do func() (page string, err error)) (page string, err error) {
	key := sha256.Sum256(append([]byte(r.path()+"\x00"), r.ctx.PostBody()...))
	for {
		sent, first := r.keep.begin(r.caller, key)
		if first {
			return r.endOf(sent, do)
		}
		select {
		case <-sent.ended:
			if sent.page != "" {
				return sent.page, nil
			}
		case <-time.After(sentPatience):
			return "", problem.New(problem.Overloaded, "this form was sent twice, and the first has not ended")
		}
	}
}

// endOf calls do, and forgets the form if it has done nothing, so that it can be sent again.
func (r *request) endOf(sent *sentForm, do func() (page string, err error)) (page string, err error) {
	defer func() {
		if sent.page == "" {
			r.keep.forget(r.caller, sent)
		}
		close(sent.ended)
	}()
	if page, err = do(); err == nil {
		sent.page = page
	}
	return page, err
}

// begin notes that the caller's session sends a form. first == false: it was sent before.
func (k *keep) begin(c account.Caller, key [sha256.Size]byte) (sent *sentForm, first bool) {
	k.change(c, func(e *kept) {
		for _, s := range e.sent {
			if s.key == key {
				sent = s
				return
			}
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
		for i, s := range e.sent {
			if s == sent {
				e.sent = append(e.sent[:i:i], e.sent[i+1:]...)
				return
			}
		}
	})
}
