package undo

import (
	"cmp"
	"net/url"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/dashboard/find"
	"shunt/api/dashboard/visit"
	"shunt/api/ops"
	"shunt/api/problem"
	"shunt/engine"
)

const (
	// TrashPath is the page of the trash. RestorePath and PurgePath take its forms.
	TrashPath   = find.Path + "/trash"
	RestorePath = TrashPath + "/restore"
	PurgePath   = TrashPath + "/purge"

	listed = "25" // links of a page, as text for the call
)

// view is what the page shows.
type view struct {
	Rows   []row
	Admin  bool
	All    bool   // of all users
	Mine   string // address of the visitor's own
	Others string // address of those of all users
	List   string // address of the list of links
	Newest string // address of the first page; empty: this is it
	Older  string // address of the next page; empty: there is none
	Days   uint64 // that a link is in the trash
}

// A row is a link in the trash.
type row struct {
	ops.Link
	visit.Whose
	Until     time.Time // when it leaves
	OwnerName string
}

// Version returns the version as a field of a form has it.
func (r *row) Version() string { return strconv.FormatUint(r.Link.Version, 10) }

// Trash is GET /_/links/trash.
func Trash(r *visit.Request) error {
	w, cursor := r.Whose(), r.Query("cursor")
	q, err := r.Calls.ParseList(r.Caller, visit.Parameters(w.Pairs("state", string(engine.StateDeleted), "cursor", cursor, "limit", listed)...))
	if err != nil {
		return err
	}
	v := view{
		Admin: r.Admin(), All: q.Whose.Anybody, Mine: w.Of("").Address(TrashPath), Others: w.Of("all").Address(TrashPath),
		List: find.Of(w, "").Address(), Days: engine.TrashDays,
	}
	if cursor != "" {
		v.Newest = w.Address(TrashPath)
	}
	var page ops.Page
	err = r.Heavily(func() error {
		return r.Calls.List(r.Caller, q, func(p ops.Page) error {
			page = p
			return nil
		})
	})
	if err != nil {
		return err
	}
	if page.Next != "" {
		v.Older = w.Address(TrashPath, "cursor", page.Next)
	}
	if err := v.take(r, w, page.Links); err != nil {
		return err
	}
	return r.Show(fasthttp.StatusOK, "trash", "Trash", &v)
}

// take puts the links of a page into the view.
func (v *view) take(r *visit.Request, w visit.Whose, links []ops.Link) error {
	names := make(map[uint32]string)
	if v.All {
		users, err := r.Accounts.ListUsers()
		if err != nil {
			return err
		}
		for _, u := range users {
			names[u.ID] = u.Name
		}
	}
	for _, l := range links {
		one := row{Link: l, Whose: w.In(l.Host), Until: l.DeletedAt.AddDate(0, 0, engine.TrashDays)}
		if v.All {
			one.OwnerName = cmp.Or(names[l.Owner], "user "+strconv.FormatUint(uint64(l.Owner), 10))
		}
		v.Rows = append(v.Rows, one)
	}
	return nil
}

// asked returns the link that a form names, whose it is, and the version that it had when it was deleted. Without the
// version, a form about a later deletion would be the same form as one that was sent before.
func asked(r *visit.Request) (code string, w ops.Whose, whose visit.Whose, versions []uint64, err error) {
	whose = r.SentWhose()
	if w, err = r.Asked(whose); err == nil {
		code, err = ops.NamedCode(r.Sent("code"))
	}
	return code, w, whose, []uint64{r.SentVersion()}, err
}

// Restore is POST /_/links/trash/restore. It shows the link, or the trash again if it was sent from there.
func Restore(r *visit.Request) error {
	code, w, whose, versions, err := asked(r)
	if err != nil {
		return err
	}
	return once(r, whose, func() (string, error) {
		l, err := r.Calls.Restore(r.Caller, code, w, versions)
		if err != nil {
			return "", err
		}
		back, page := "The link "+code+" is back, with its hits.", linkPath(code, whose)
		if l.State != engine.StateActive {
			back += " It does not redirect: it is " + string(l.State) + "."
		}
		if r.Sent("list") == "" {
			r.Say("done", back)
			return page, nil
		}
		r.SayWith("done", back, visit.Option{Name: "Open it", Path: page})
		return whose.In("").Address(TrashPath), nil
	})
}

// Purge is POST /_/links/trash/purge: it deletes a link of the trash for good, and spares one that was restored
// meanwhile, which has another version.
func Purge(r *visit.Request) error {
	code, w, whose, versions, err := asked(r)
	if err != nil {
		return err
	}
	return once(r, whose, func() (string, error) {
		err := r.Calls.Purge(r.Caller, code, w, versions)
		if err == nil {
			r.Say("done", "The link "+code+" is deleted for good.")
		}
		return whose.In("").Address(TrashPath), err
	})
}

// once does what a form about a link of the trash asks for, once, and goes to the page that do returns. If it is
// refused, the trash says why.
func once(r *visit.Request, whose visit.Whose, do func() (page string, err error)) error {
	page, err := r.Once(do)
	if why := refusal(err); why != "" {
		r.Say("error", why)
		return r.SeeOther(whose.In("").Address(TrashPath))
	}
	if err != nil {
		return err
	}
	return r.SeeOther(page)
}

// refusal returns why a link of the trash was neither restored nor deleted, if the page should say that.
func refusal(err error) string {
	if err == nil {
		return ""
	}
	switch p, _ := problem.Of(err); p.Kind {
	case problem.NotFound, problem.Precondition:
		return "That link is not in the trash any more."
	case problem.AliasTaken:
		return "The link cannot be restored: " + p.Detail + "."
	}
	return ""
}

// linkPath returns the address of a link's page.
func linkPath(code string, w visit.Whose) string {
	return w.Address(visit.Root + "link/" + url.PathEscape(code))
}
