package folders

import (
	"errors"
	"strconv"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/dashboard/visit"
	"shunt/api/folder"
	"shunt/api/folders"
)

// path is the page with all folders.
const path = visit.Root + "folders"

// listView is what the page with all folders shows.
type listView struct {
	Folders []listed
	Total   uint64
	Pager   visit.CutPager
	Form    *form // nil: the visitor makes none
}

// A listed is a folder in the table.
type listed struct {
	folders.Object
	Path      string // of its page
	Links     string // address of its links
	Figures   string // and of their figures
	OwnerName any    // a visit.Name, or a text of ours
	Shared    uint64 // members
}

// PathOf returns the address of the page of a folder.
func PathOf(n uint32) string { return path + "/" + strconv.FormatUint(uint64(n), 10) }

func linksOf(n uint32) string {
	return visit.Address(visit.Root+"links", "folder", strconv.FormatUint(uint64(n), 10))
}

func figuresOf(n uint32) string { return PathOf(n) + "/figures" }

// List is GET /_/folders.
func List(r *visit.Request) error { return showList(r, fasthttp.StatusOK, newForm(r, path, nil)) }

func showList(r *visit.Request, status int, f *form) error {
	all, err := r.Calls.Folders(r.Caller, r.Caller.ReadsAll())
	if err != nil {
		return err
	}
	view := listView{Total: uint64(len(all))}
	if r.Edits() {
		view.Form = f
	}
	all, view.Pager = visit.Cut(r, all)
	for _, one := range all {
		row, err := rowOf(r, one)
		if err != nil {
			return err
		}
		view.Folders = append(view.Folders, row)
	}
	return r.Show(status, "folders", "Folders", view)
}

func rowOf(r *visit.Request, f *folder.Folder) (row listed, err error) {
	if row.Object, err = r.Folders.Shown(r.Caller, f); err != nil {
		return row, err
	}
	row.Path, row.Links, row.Figures, row.Shared = PathOf(row.ID), linksOf(row.ID), figuresOf(row.ID), uint64(len(row.Members))
	row.OwnerName, err = ownerName(r, row.Owner)
	return row, err
}

// ownerName returns what the owner of a folder is called for the visitor.
func ownerName(r *visit.Request, owner uint32) (name any, err error) {
	if owner == r.Caller.User.ID {
		return "you", nil
	}
	u := account.User{}
	if r.Admin() {
		if u, err = r.Accounts.UserNumbered(owner); errors.Is(err, account.ErrNoUser) {
			err = nil
		}
	}
	if u.Name != "" {
		return visit.Name(u.Name), err
	}
	return "user " + strconv.FormatUint(uint64(owner), 10), err
}

// Add is POST /_/folders.
func Add(r *visit.Request) error {
	f := newForm(r, path, nil)
	err := r.SeeOnce(func() (string, error) {
		body, err := f.body()
		if err != nil {
			return "", err
		}
		o, err := r.Folders.Add(r.Caller, body)
		if err != nil {
			return "", err
		}
		r.Say("done", "The folder “"+o.Name+"” is made. Links are put there on the pages that create and edit them.")
		return path, nil
	})
	if err == nil {
		return nil
	}
	status, ok := f.refuse(err)
	if !ok {
		return err
	}
	return showList(r, status, f)
}

// oneView is what the page of a folder shows.
type oneView struct {
	folders.Object
	OwnerName     any    // a visit.Name, or a text of ours
	Form          *form  // nil: the visitor does not manage it
	Crossed       bool   // another change was saved since the form was shown
	Links, Delete string // addresses
	Figures       string // address of the figures of its links
	Export        string // address of its links as a file
	Leave         string // address; empty: the visitor is no member, or changes nothing
}

// Named returns the folder with a number, whose links the visitor may see, or that the page is missing.
func Named(r *visit.Request, number string) (f *folder.Folder, err error) {
	n, err := folders.Number(number)
	if err == nil {
		f, err = r.Calls.FolderFor(r.Caller, n)
	}
	if err != nil {
		err = r.Missing()
	}
	return f, err
}

// seen returns the {folder} of the path, which the visitor may see, or that the page is missing.
func seen(r *visit.Request) (o folders.Object, err error) {
	f, err := Named(r, r.Segment("folder"))
	if err != nil {
		return o, err
	}
	return r.Folders.Shown(r.Caller, f)
}

// asked is seen for a folder that the visitor manages.
func asked(r *visit.Request) (o folders.Object, err error) {
	if o, err = seen(r); err == nil && !o.Manages() {
		err = r.Missing()
	}
	return o, err
}

// left is seen for a folder of which the visitor is a member.
func left(r *visit.Request) (o folders.Object, err error) {
	if o, err = seen(r); err == nil && !isMember(r, &o) {
		err = r.Missing()
	}
	return o, err
}

func isMember(r *visit.Request, o *folders.Object) bool {
	f, err := r.Calls.FolderFor(r.Caller, o.ID)
	return err == nil && f.IsMember(r.Caller.User.ID)
}

// One is GET /_/folders/{folder}.
func One(r *visit.Request) error {
	o, err := seen(r)
	if err != nil {
		return err
	}
	var f *form
	if o.Manages() {
		f = newForm(r, PathOf(o.ID), &o)
	}
	return showOne(r, fasthttp.StatusOK, &o, f)
}

func showOne(r *visit.Request, status int, o *folders.Object, f *form) (err error) {
	view := oneView{Object: *o, Form: f, Links: linksOf(o.ID), Delete: PathOf(o.ID) + "/delete"}
	view.Figures, view.Export = figuresOf(o.ID), visit.Address(visit.Root+"links/export", "folder", strconv.FormatUint(uint64(o.ID), 10))
	view.Crossed = status == fasthttp.StatusPreconditionFailed
	if r.Edits() && isMember(r, o) {
		view.Leave = PathOf(o.ID) + "/leave"
	}
	if view.OwnerName, err = ownerName(r, o.Owner); err != nil {
		return err
	}
	return r.Show(status, "folder", visit.Name(o.Name), view)
}

// showCrossed shows the form again after another change of the folder: what was typed, beside what the folder has now.
// If it is sent again, it changes the folder as it is now.
func showCrossed(r *visit.Request, f *form) error {
	o, err := asked(r)
	if err != nil {
		return err
	}
	f.meet(&o)
	return showOne(r, fasthttp.StatusPreconditionFailed, &o, f)
}

// Save is POST /_/folders/{folder}.
func Save(r *visit.Request) error {
	o, err := asked(r)
	if err != nil {
		return err
	}
	f := newForm(r, PathOf(o.ID), &o)
	body, err := f.body()
	if err == nil {
		_, err = r.Folders.Edit(r.Caller, o.ID, []uint64{r.SentVersion()}, body)
	}
	switch {
	case err == nil:
		r.Say("done", "The folder is saved.")
		return r.SeeOther(path)
	case errors.Is(err, folder.ErrVersion):
		return showCrossed(r, f)
	}
	status, ok := f.refuse(err)
	if !ok || errors.Is(err, folder.ErrNoFolder) {
		return err
	}
	return showOne(r, status, &o, f)
}

// removeView is what the page shows that asks before a folder is deleted.
type removeView struct {
	folders.Object
	Page, Action, Links string
	Changed             bool // the folder was changed since the page was shown
	Error               string
}

// AskToRemove is GET /_/folders/{folder}/delete.
func AskToRemove(r *visit.Request) error {
	o, err := asked(r)
	if err != nil {
		return err
	}
	return showRemove(r, fasthttp.StatusOK, &o, "")
}

func showRemove(r *visit.Request, status int, o *folders.Object, wrong string) error {
	view := removeView{Object: *o, Page: PathOf(o.ID), Action: PathOf(o.ID) + "/delete", Links: linksOf(o.ID), Error: wrong}
	view.Changed = status == fasthttp.StatusPreconditionFailed
	return r.Show(status, "folder-delete", "Delete "+o.Name, view)
}

// Remove is POST /_/folders/{folder}/delete.
func Remove(r *visit.Request) error {
	var o folders.Object
	err := r.SeeOnce(func() (page string, err error) {
		if o, err = asked(r); err != nil {
			return "", err
		}
		if err := r.Folders.Remove(r.Caller, o.ID, []uint64{r.SentVersion()}); err != nil {
			return "", err
		}
		r.Say("done", "The folder “"+o.Name+"” is deleted.")
		return path, nil
	})
	if errors.Is(err, folder.ErrVersion) {
		return showRemove(r, fasthttp.StatusPreconditionFailed, &o, "")
	}
	_, general, ok := visit.FieldErrors(err)
	if err == nil || !ok || visit.StatusOf(err) == fasthttp.StatusNotFound {
		return err
	}
	return showRemove(r, visit.StatusOf(err), &o, visit.Sentence(general))
}

// leaveView is what the page shows that asks before a member leaves a folder.
type leaveView struct {
	folders.Object
	Page, Action string
}

// AskToLeave is GET /_/folders/{folder}/leave.
func AskToLeave(r *visit.Request) error {
	o, err := left(r)
	if err != nil {
		return err
	}
	return r.Show(fasthttp.StatusOK, "folder-leave", "Leave "+o.Name, leaveView{o, PathOf(o.ID), PathOf(o.ID) + "/leave"})
}

// Leave is POST /_/folders/{folder}/leave.
func Leave(r *visit.Request) error {
	return r.SeeOnce(func() (page string, err error) {
		o, err := left(r)
		if err != nil {
			return "", err
		}
		if err := r.Folders.TakeOut(r.Caller, o.ID, r.Caller.User.ID); err != nil {
			return "", err
		}
		r.Say("done", "You have left the folder “"+o.Name+"”.")
		return path, nil
	})
}
