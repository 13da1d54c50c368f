package dashboard

import (
	"net/url"

	"github.com/valyala/fasthttp"

	"shunt/api/dashboard/fieldtext"
	"shunt/api/dashboard/find"
	"shunt/api/dashboard/qr"
	"shunt/api/dashboard/targets"
	"shunt/api/dashboard/visit"
	"shunt/api/ops"
	"shunt/engine"
	"shunt/engine/texts"
)

// linkView is what the page of a link shows.
type linkView struct {
	figuresView
	Link ops.Link
	visit.Whose
	shareView
	Edits     bool          // the visitor may change the link
	Resets    bool          // and reset its figures
	Folder    *visit.Option // it leads to its links; nil: none
	Works     bool          // the link redirects, so it has a preview
	Life      ops.Figures
	Pending   uint64 // hits that are not on the disk yet
	Live      string
	Changes   string // address of the changes of the link in the audit log; empty: the visitor is no admin
	Duplicate string // address of the form for a link like it
	Compare   string // address of the comparison with others
	Targets   []targets.Row
	Site      string // the host of the target
	Alike     string // address of the list of links to that host
	List      string // address of the list of links
	Query     string // the query that the link's other pages need; "": none
}

// A linkText is a text of a link.
type linkText struct{ Label, Text string }

// Texts returns the texts that the link has beside its title.
func (v *linkView) Texts() (all []linkText) {
	for _, t := range texts.All() {
		if text := *v.Link.Text(t.Name); text != "" && t.Name != "title" {
			all = append(all, linkText{t.Label, text})
		}
	}
	return all
}

// A shareView is the addresses at which a link is shared.
type shareView struct {
	SVG, PNG string // of its QR code
	Look     string // of the page of that
	Preview  string
}

func shareOf(l *ops.Link, w visit.Whose) shareView {
	v := shareView{SVG: w.Address(qr.Path(l.Code) + ".svg"), PNG: w.Address(qr.Path(l.Code) + ".png"), Look: w.Address(qr.Path(l.Code))}
	if v.Preview = "/" + l.Code + "+"; l.Host != "" {
		v.Preview = l.ShortURL + "+"
	}
	return v
}

// Tagged returns the address of the links with a tag.
func (v *linkView) Tagged(tag string) string {
	return find.Of(visit.Whose{Owner: v.Owner}, tag).Address()
}

// TagFigures returns the address of the figures of a tag.
func (v *linkView) TagFigures(tag string) string {
	return v.Address(tagFigurePath, "tag", tag)
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
	whose := r.Whose().In(l.Host)
	view := linkView{figuresView: r.figuresView(l.CreatedAt, whose.Pairs("code", code)...), Whose: whose, shareView: shareOf(&l, whose), Link: l, Edits: r.Calls.MayEdit(r.Caller, guard, &l), Works: l.State == engine.StateActive}
	view.Resets = view.Edits && owns(guard, &l)
	if number := fieldtext.Folder(&l); number != "" {
		view.Folder = &visit.Option{Name: r.FolderName(number), Path: (&find.Search{Folder: number}).Address()}
	}
	if r.Admin() {
		view.Changes = (&auditSearch{Code: l.Code, Domain: l.Host}).address("")
	}
	view.Duplicate = whose.Address(newPath, "like", code)
	view.Compare = whose.Address(comparePath, "codes", code)
	view.Query = whose.Address("")
	view.List = (&find.Search{Owner: whose.Owner}).Address()
	view.Site, _ = splitTarget(l.Target)
	view.Alike = (&find.Search{Q: view.Site, Owner: whose.Owner}).Address()
	view.Live = "/api/v1/stats/" + url.PathEscape(code) + "/live" + view.Query
	status := fasthttp.StatusOK
	if view.Span == nil {
		status = fasthttp.StatusUnprocessableEntity
	}
	if err := r.Heavily(func() error { return r.readLink(&view, code) }); err != nil {
		return err
	}
	return r.Show(status, "link", visit.Name(code), &view)
}

// linkAsked returns the {code} of the path and the guard of the query.
func (r *request) linkAsked() (code string, g ops.Whose, err error) {
	if g, err = r.Asked(r.Whose()); err != nil {
		return "", g, err
	}
	code, err = ops.ParseCode(r.Segment("code"))
	return code, g, err
}

// readLink reads the figures of a link: of its life, and of the chosen span.
func (r *request) readLink(view *linkView, code string) error {
	life := window{pairs: []string{"include", "bots,durability,error"}, figures: &view.Life}
	if err := r.readLinkWindows(code, view.Whose, life); err != nil {
		return err
	}
	if d := view.Life.Durability; d != nil && view.Life.Hits > d.DurableHits {
		view.Pending = view.Life.Hits - d.DurableHits
	}
	if view.Span == nil {
		return nil
	}
	if err := r.readLinkWindows(code, view.Whose, view.windows("include", listsOf(&view.Link))...); err != nil {
		return err
	}
	view.Targets = targets.Rows(&view.Link, view.Window.Targets)
	return r.fillFigures(&view.figuresView)
}

// readLinkWindows reads the figures of windows for one link.
func (r *request) readLinkWindows(code string, whose visit.Whose, windows ...window) error {
	for _, w := range windows {
		q, err := r.Calls.ParseFigures(r.Caller, w.parameters(whose.Pairs()...))
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
