package dashboard

import (
	"errors"
	"strconv"

	"github.com/valyala/fasthttp"

	"shunt/api/dashboard/find"
	"shunt/api/ops"
	"shunt/engine"
)

// confirmView is what a page shows that asks before something is done with a link.
type confirmView struct {
	Link    ops.Link
	Owner   string // the parameter
	Foreign bool   // the link is somebody else's
	Version string
	Back    string // the path of the link's page
	Changed bool   // the link was edited since the page was shown
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
	code, guard, owner, err := r.whoseLink()
	if err != nil {
		return v, err
	}
	l, err := r.Calls.Read(r.Caller, code, guard)
	if err != nil {
		return v, err
	}
	return confirmView{
		Link: l, Owner: owner, Foreign: l.Owner != r.Caller.User.ID, Version: strconv.FormatUint(l.Version, 10),
		Back: linkPath(code, owner), Changed: status == fasthttp.StatusPreconditionFailed,
	}, nil
}

// deleteLink is POST /_/link/{code}/delete.
func (r *request) deleteLink() error {
	return r.confirmed(r.showDelete, func(code string, guard engine.Guard, owner string, versions []uint64) (said, page string, err error) {
		err = r.Calls.Delete(r.Caller, code, guard, versions)
		return "The link " + code + " is deleted.", (&find.Search{Owner: owner}).Address(), err
	})
}

// confirmed does what such a page has asked for, once, and goes to the page that do returns. show shows the page again
// if the link was edited since.
func (r *request) confirmed(
	show func(status int) error, do func(code string, guard engine.Guard, owner string, versions []uint64) (said, page string, err error),
) error {
	code, guard, owner, err := r.whoseLink()
	if err != nil {
		return err
	}
	err = r.SeeOnce(func() (string, error) {
		said, page, err := do(code, guard, owner, []uint64{versionOf(r.Sent("version"))})
		if err == nil {
			r.Say("done", said)
		}
		return page, err
	})
	if errors.Is(err, engine.ErrVersion) {
		return show(fasthttp.StatusPreconditionFailed)
	}
	return err
}
