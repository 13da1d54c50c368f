package dashboard

import (
	"errors"
	"strconv"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/dashboard/find"
	"shunt/api/dashboard/undo"
	"shunt/api/dashboard/visit"
	"shunt/api/jsonbody"
	"shunt/api/ops"
	"shunt/engine"
)

// confirmView is what a page shows that asks before something is done with a link.
type confirmView struct {
	Link ops.Link
	visit.Whose
	Foreign bool // the link is somebody else's
	Version string
	Back    string // the path of the link's page
	Changed bool   // the link was edited since the page was shown

	owned bool // see owns
}

// confirmDelete is GET /_/link/{code}/delete.
func (r *request) confirmDelete() error { return r.showDelete(fasthttp.StatusOK) }

// showDelete asks whether the link is to be deleted, as it is now.
func (r *request) showDelete(status int) error {
	view, err := r.confirmView(status)
	if err != nil {
		return err
	}
	return r.Show(status, "link-delete", "Delete "+view.Link.Code, view)
}

// confirmView returns what such a page shows of the link, as it is now.
func (r *request) confirmView(status int) (v confirmView, err error) {
	code, guard, whose, err := r.whoseLink()
	if err != nil {
		return v, err
	}
	l, err := r.readToEdit(code, guard)
	if err != nil {
		return v, err
	}
	return confirmView{
		Link: l, Whose: whose, Foreign: l.Owner != r.Caller.User.ID, Version: strconv.FormatUint(l.Version, 10),
		Back: linkPath(code, whose), Changed: status == fasthttp.StatusPreconditionFailed, owned: owns(guard, &l),
	}, nil
}

// deleteLink is POST /_/link/{code}/delete.
func (r *request) deleteLink() error {
	return r.confirmed(r.showDelete, func(code string, guard ops.Whose, whose visit.Whose, versions []uint64) (did, error) {
		l, err := r.Calls.Read(r.Caller, code, guard)
		if err == nil {
			err = r.Calls.Delete(r.Caller, code, guard, versions)
		}
		said, back := "The link "+code+" is deleted. For 30 days it is in the trash.", undo.OfDeletion(code, r.Sent("version"), whose)
		if !owns(guard, &l) { // it was in a folder
			said, back = "The link "+code+" is deleted. For 30 days its owner has it in the trash.", visit.Undo{}
		}
		return did{said, find.Of(whose, "").Address(), back}, err
	})
}

// did is what such a page has done: what the page that follows says, its address, and how it is taken back.
type did struct {
	said, page string
	undo       visit.Undo // empty: it cannot be
}

// confirmed does what such a page has asked for, once, and goes to the page that do returns. show shows the page again
// if the link was edited since.
func (r *request) confirmed(
	show func(status int) error, do func(code string, guard ops.Whose, whose visit.Whose, versions []uint64) (did, error),
) error {
	code, guard, whose, err := r.whoseLink()
	if err != nil {
		return err
	}
	err = r.SeeOnce(func() (string, error) {
		done, err := do(code, guard, whose, []uint64{r.SentVersion()})
		if err == nil {
			r.SayUndo("done", done.said, done.undo)
		}
		return done.page, err
	})
	if errors.Is(err, engine.ErrVersion) {
		return show(fasthttp.StatusPreconditionFailed)
	}
	return err
}

// confirmReset is GET /_/link/{code}/reset: it asks whether the figures of a link are to be reset.
func (r *request) confirmReset() error { return r.showReset(fasthttp.StatusOK) }

func (r *request) showReset(status int) error {
	view, err := r.confirmView(status)
	if err == nil && !view.owned { // a member of its folder does not reset it
		err = engine.ErrNotFound
	}
	if err != nil {
		return err
	}
	return r.Show(status, "link-reset", "Reset "+view.Link.Code, view)
}

// resetLink is POST /_/link/{code}/reset.
func (r *request) resetLink() error {
	return r.confirmed(r.showReset, func(code string, guard ops.Whose, whose visit.Whose, versions []uint64) (did, error) {
		_, err := r.Calls.Reset(r.Caller, code, guard, versions)
		return did{said: "The figures of the link are zero now.", page: linkPath(code, whose)}, err
	})
}

// ownerView is what the page shows that gives a link to another user.
type ownerView struct {
	confirmView
	Now   string // the owner's e-mail address; empty: the user was deleted
	To    string // as typed
	Error string
}

// ownerPage is GET /_/link/{code}/owner.
func (r *request) ownerPage() error { return r.showOwner(fasthttp.StatusOK, "") }

// The page of the owner exists for admins only. Its row says SignedIn, because the navigation of pages of links differs
// from that of pages that are nowhere.

func (r *request) showOwner(status int, wrong string) error {
	if !r.Admin() {
		return r.Missing()
	}
	confirm, err := r.confirmView(status)
	if err != nil {
		return err
	}
	view := ownerView{confirmView: confirm, Error: wrong}
	view.To, _ = r.Typed("to")
	now, err := r.userNamed(strconv.FormatUint(uint64(confirm.Link.Owner), 10))
	if err != nil && !errors.Is(err, account.ErrNoUser) {
		return err
	}
	view.Now = now.Name
	return r.Show(status, "link-owner", "Owner of "+confirm.Link.Code, view)
}

// giveLink is POST /_/link/{code}/owner.
func (r *request) giveLink() error {
	if !r.Admin() {
		return r.Missing()
	}
	code, guard, whose, err := r.whoseLink()
	if err != nil {
		return err
	}
	to, err := r.userNamed(r.Sent("to"))
	if errors.Is(err, account.ErrNoUser) {
		return r.showOwner(fasthttp.StatusUnprocessableEntity, "There is no such user.")
	}
	if err != nil {
		return err
	}
	id := strconv.FormatUint(uint64(to.ID), 10)
	body := jsonbody.Body{MediaType: []byte(jsonbody.JSON), Text: []byte(`{"owner":` + id + `}`)}
	_, err = r.Calls.Update(r.Caller, code, guard, []uint64{r.SentVersion()}, body)
	switch {
	case errors.Is(err, engine.ErrVersion):
		return r.showOwner(fasthttp.StatusPreconditionFailed, "")
	case err != nil:
		return err
	}
	r.Say("done", "The link now belongs to "+to.Name+".")
	if to.ID == r.Caller.User.ID {
		id = ""
	}
	return r.SeeOther(linkPath(code, whose.Of(id)))
}
