package dashboard

import (
	"net/url"

	"github.com/valyala/fasthttp"

	"shunt/api/dashboard/find"
	"shunt/api/dashboard/visit"
	"shunt/api/ops"
	"shunt/engine"
)

// linkView is what the page of a link shows.
type linkView struct {
	figuresView
	Link      ops.Link
	Owner     string // the parameter owner
	Works     bool   // the link redirects, so it has a QR code and a preview
	Life      ops.Figures
	Pending   uint64 // hits that are not on the disk yet
	Live      string
	Changes   string // address of the changes of the link in the audit log; empty: the visitor is no admin
	Duplicate string // address of the form for a link like it
	Compare   string // address of the comparison with others
	Site      string // the host of the target
	Alike     string // address of the list of links to that host
	Query     string // the query that the link's other pages need; "": none
}

// link is GET /_/link/{code}.
func (r *request) link() error {
	code, guard, err := r.linkAsked()
	if err != nil {
		return err
	}
	l, err := r.Calls.Read(r.Caller, code, guard)
	if err != nil {
		return err
	}
	owner := r.Query("owner")
	view := linkView{figuresView: r.figuresView(l.CreatedAt, "code", code, "owner", owner), Link: l, Owner: owner, Works: l.State == engine.StateActive}
	if r.Admin() {
		view.Changes = (&auditSearch{Code: l.Code}).address("")
	}
	view.Duplicate = visit.Address(newPath, "like", code, "owner", owner)
	view.Compare = visit.Address(comparePath, "codes", code, "owner", owner)
	view.Query = visit.Address("", "owner", owner)
	view.Site, _ = splitTarget(l.Target)
	view.Alike = (&find.Search{Q: view.Site, Owner: owner}).Address()
	view.Live = "/api/v1/stats/" + url.PathEscape(code) + "/live" + view.Query
	status := fasthttp.StatusOK
	if view.Span == nil {
		status = fasthttp.StatusUnprocessableEntity
	}
	if err := r.Heavily(func() error { return r.readLink(&view, code) }); err != nil {
		return err
	}
	return r.Show(status, "link", code, &view)
}

// linkAsked returns the {code} of the path and the guard of the query.
func (r *request) linkAsked() (code string, g ops.Whose, err error) {
	if g, err = r.Calls.ParseWhose(r.Caller, parameters("owner", r.Query("owner"))); err != nil {
		return "", g, err
	}
	code, err = ops.ParseCode(r.Segment("code"))
	return code, g, err
}

// readLink reads the figures of a link: of its life, and of the chosen span.
func (r *request) readLink(view *linkView, code string) error {
	life := window{pairs: []string{"include", "bots,durability,error"}, figures: &view.Life}
	if err := r.readLinkWindows(code, view.Owner, life); err != nil {
		return err
	}
	if d := view.Life.Durability; d != nil && view.Life.Hits > d.DurableHits {
		view.Pending = view.Life.Hits - d.DurableHits
	}
	if view.Span == nil {
		return nil
	}
	if err := r.readLinkWindows(code, view.Owner, view.windows("include", allLists)...); err != nil {
		return err
	}
	return r.fillFigures(&view.figuresView)
}

// readLinkWindows reads the figures of windows for one link.
func (r *request) readLinkWindows(code, owner string, windows ...window) error {
	for _, w := range windows {
		q, err := r.Calls.ParseFigures(r.Caller, w.parameters("owner", owner))
		if err != nil {
			return err
		}
		q.Zone = w.zone
		if *w.figures, err = r.Calls.Figures(r.Caller, code, q); err != nil {
			return err
		}
	}
	return nil
}
