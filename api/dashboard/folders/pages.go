package folders

import (
	"cmp"
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
	Path      string // of its page; empty: the visitor does not manage it
	Links     string // address of its links
	OwnerName string
	Shared    uint64 // members
}

func pathOf(n uint32) string { return path + "/" + strconv.FormatUint(uint64(n), 10) }

func linksOf(n uint32) string {
	return visit.Address(visit.Root+"links", "folder", strconv.FormatUint(uint64(n), 10))
}

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
	row.Links, row.Shared = linksOf(row.ID), uint64(len(row.Members))
	if row.Manages() {
		row.Path = pathOf(row.ID)
	}
	if row.Owner == r.Caller.User.ID {
		row.OwnerName = "you"
		return row, nil
	}
	u := account.User{}
	if r.Admin() {
		if u, err = r.Accounts.UserNumbered(row.Owner); errors.Is(err, account.ErrNoUser) {
			err = nil
		}
	}
	row.OwnerName = cmp.Or(u.Name, "user "+strconv.FormatUint(uint64(row.Owner), 10))
	return row, err
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
	Form          *form
	Crossed       bool   // another change was saved since the form was shown
	Links, Delete string // addresses
}

// asked returns the {folder} of the path, which the visitor manages, or that the page is missing.
func asked(r *visit.Request) (o folders.Object, err error) {
	n, err := strconv.ParseUint(r.Segment("folder"), 10, 32)
	if err != nil {
		return o, r.Missing()
	}
	o, err = r.Folders.Read(r.Caller, uint32(n))
	if errors.Is(err, folder.ErrNoFolder) || err == nil && !o.Manages() {
		err = r.Missing()
	}
	return o, err
}

// One is GET /_/folders/{folder}.
func One(r *visit.Request) error {
	o, err := asked(r)
	if err != nil {
		return err
	}
	return showOne(r, fasthttp.StatusOK, &o, newForm(r, pathOf(o.ID), &o))
}

func showOne(r *visit.Request, status int, o *folders.Object, f *form) error {
	view := oneView{Object: *o, Form: f, Links: linksOf(o.ID), Delete: pathOf(o.ID) + "/delete"}
	view.Crossed = status == fasthttp.StatusPreconditionFailed
	return r.Show(status, "folder", o.Name, view)
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
	f := newForm(r, pathOf(o.ID), &o)
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
	view := removeView{Object: *o, Page: pathOf(o.ID), Action: pathOf(o.ID) + "/delete", Links: linksOf(o.ID), Error: wrong}
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
