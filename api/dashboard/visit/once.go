package visit

import (
	"crypto/sha256"
	"time"

	"shunt/api/problem"
)

// Once calls do, which makes or deletes a thing and returns the path of the page that says so. If
// the session has sent the same form before and it was done, once only returns that page. A form
// that is sent twice at the same time waits for the first to end. The content is part of what is
// compared: somebody who comes back to a form, and types another name, wants another thing.
func (r *Request) Once(do func() (page string, err error)) (page string, err error) {
	key := sha256.Sum256(append([]byte(r.Path()+"\x00"), r.Ctx.PostBody()...))
	for {
		sent, first := r.keep.begin(r.Caller, key)
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

// SeeOnce is Once, after which the browser is to ask for the page.
func (r *Request) SeeOnce(do func() (page string, err error)) error {
	page, err := r.Once(do)
	if err != nil {
		return err
	}
	return r.SeeOther(page)
}

// endOf calls do, and forgets the form if it has done nothing, so that it can be sent again.
func (r *Request) endOf(sent *sentForm, do func() (page string, err error)) (page string, err error) {
	defer func() {
		if sent.page == "" {
			r.keep.forget(r.Caller, sent)
		}
		close(sent.ended)
	}()
	if page, err = do(); err == nil {
		sent.page = page
	}
	return page, err
}
