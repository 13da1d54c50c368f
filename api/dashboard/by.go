package dashboard

import (
	"slices"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/chart"
	"shunt/api/dashboard/folders"
	"shunt/api/dashboard/shares"
	"shunt/api/dashboard/visit"
	"shunt/api/ops"
	"shunt/api/problem"
	"shunt/engine"
)

// The paths of the page of the hits with one value, and of its figures as a file.
const (
	byPath    = Root + "by"
	byCSVPath = Root + "by.csv"
)

// byView is what the page shows of the hits that a filter chooses.
type byView struct {
	figuresView
	Domains    *visit.DomainChoice // nil: of one link, or there is only one
	Filter     shares.Filter
	Of         string // whose hits these are
	Back       string // address of the page with all of them
	BackTitle  any    // a text, or a visit.Name
	Everywhere string // address of the page for all links; empty: this is it
	Found      ops.Filtered
	part, then *ops.Filtered // see figuresView
	Share      string        // of all hits
	Hosts      *shares.List
	Links      []byLink
}

// A byLink is one of the links with the most chosen hits.
type byLink struct {
	ops.FilteredLink
	Path, By string // addresses: of the link, and of this page for it
}

// lists returns the lists of a view's window. Their lines lead to the figures of each value.
func (r *request) lists(v *figuresView) shares.Lists {
	p := shares.Page{Map: r.MapURL(), NoCountries: "No country is known."}
	if !slices.Contains(v.scope, "codes") { // the hits of several links by one value are on no page
		p.Path = byAddress(v.scope)
	}
	if r.Admin() {
		p.NoCountries += " The server finds countries with --geoip FILE, or takes them from a proxy with --country-header."
	}
	return p.Of(&v.Window)
}

// byAddress returns a function that returns the address of the hits with a value; scope has the other parameters.
func byAddress(scope []string) func(name, value string) string {
	return func(name, value string) string {
		return visit.Address(byPath, append([]string{name, value}, scope...)...)
	}
}

// Hits says how the chosen hits differ from those of the time before.
func (v *byView) Hits() visit.Delta {
	part := v.part
	if part == nil {
		part = &v.Found
	}
	return compared(v.Found.Chosen, part.Chosen, v.then.Chosen, v.Span.Before)
}

// byPage is GET /_/by: the hits with one value, of a link (code), of the links with a tag or in a folder, or of all of
// an owner.
func (r *request) byPage() error {
	view, err := r.byAsked()
	if err != nil {
		return err
	}
	status := fasthttp.StatusOK
	if view.Span == nil {
		status = fasthttp.StatusUnprocessableEntity
	}
	return r.Show(status, "by", view.Filter.Kind+": "+view.Filter.Label, &view)
}

// byCSV is GET /_/by.csv: what the page shows, as a file.
func (r *request) byCSV() error {
	view, err := r.byAsked()
	if err != nil {
		return err
	}
	if view.Span == nil {
		return problem.New(problem.Invalid, "%s", view.Picker.Error)
	}
	name := view.Filter.Name
	if code := r.Query("code"); code != "" {
		name = code + "-" + name
	}
	r.sendCSV(view.fileName(name), view.Found.CSVIn(r.zoneOf(&view.figuresView).Place(), view.Filter.Value, view.part, view.then))
	return nil
}

// byAsked returns the view that the address asks for.
func (r *request) byAsked() (view byView, err error) {
	of, whose := byWhich{r.Query("code"), r.Query("tag"), r.Query("folder")}, r.Whose()
	filter, ok := shares.ReadFilter(r.Query)
	if !ok || of.several() {
		return view, r.Missing()
	}
	if view, err = r.byView(filter, of, whose); err != nil || view.Span == nil {
		return view, err
	}
	return view, r.Heavily(func() error { return r.readBy(&view, of, whose) })
}

// byWhich is which links the hits are of, of which at most one is not empty; else all of an owner.
type byWhich struct{ code, tag, folder string }

func (w byWhich) several() bool {
	n := 0
	for _, text := range []string{w.code, w.tag, w.folder} {
		if text != "" {
			n++
		}
	}
	return n > 1
}

// byView returns the view without its figures. Errors: those of a link or a folder that the visitor cannot see.
func (r *request) byView(filter shares.Filter, which byWhich, whose visit.Whose) (view byView, err error) {
	code, tag := which.code, which.tag
	var made time.Time
	everywhere := visit.Whose{Owner: whose.Owner}
	switch view.Back, view.BackTitle, view.Of = whose.Address(Root), "Overview", "All of your links"; {
	case code != "":
		guard, err := r.Asked(whose)
		if err != nil {
			return view, err
		}
		if _, err := ops.NamedCode(code); err != nil {
			return view, err
		}
		l, err := r.Calls.Read(r.Caller, code, guard)
		if err != nil {
			return view, err
		}
		made = l.CreatedAt
		view.Back, view.BackTitle, view.Of = linkPath(code, whose), visit.Name(code), "The link "+code
	case tag != "":
		view.Back, view.BackTitle, view.Of = whose.Address(tagFigurePath, "tag", tag), visit.Name(tag), "The links that have the tag "+tag+" now"
	case which.folder != "":
		f, err := folders.Named(r.Request, which.folder)
		if err != nil {
			return view, err
		}
		view.Back, view.BackTitle, view.Of = visit.Address(folders.PathOf(f.Number)+"/figures", "domain", whose.Domain), visit.Name(f.Name), "The links that are in the folder "+f.Name+" now"
	case whose.Owner == "all":
		view.Of = "The links of all users"
	case whose.Owner != "":
		view.Of = "The links of user " + whose.Owner
	}
	view.figuresView, view.Filter = r.figuresView(made, whose.Pairs("code", code, "tag", tag, "folder", which.folder)...), filter
	if view.hitsOnly = true; view.Span != nil {
		view.Picker.CSV = visit.Address(byCSVPath, append([]string{filter.Name, filter.Value}, view.scope...)...)
	}
	if code == "" {
		view.Domains = r.DomainsOfList(whose.Domain, true)
	}
	if which != (byWhich{}) {
		view.Everywhere = byAddress(everywhere.Pairs())(filter.Name, filter.Value)
	}
	return view, nil
}

// readBy reads the figures of the page.
func (r *request) readBy(view *byView, which byWhich, whose visit.Whose) error {
	windows := view.windows()
	queries := make([]ops.FiguresQuery, len(windows))
	for i := range windows {
		q, err := r.Calls.ParseOwnerFigures(r.Caller, windows[i].parameters(whose.Pairs("tag", which.tag, "folder", which.folder)...))
		if err != nil {
			return err
		}
		q.Zone, q.MaxLinks = windows[i].zone, engine.MaxScannedLinks // a page has no time for more
		queries[i] = q
	}
	found, err := r.Calls.FilteredFigures(r.Caller, which.code, queries, view.Filter.Filter)
	if err != nil {
		return err
	}
	for i := range found {
		*windows[i].figures = found[i].Figures
	}
	view.Found = found[0]
	if view.Then != nil {
		view.then = &found[len(found)-1]
	}
	if view.Part != nil {
		view.part = &found[1]
	}
	view.Share = chart.Share(view.Found.Chosen, view.Found.Hits)
	view.Hosts = shares.Hosts(&view.Found, byAddress(view.scope))
	for _, l := range view.Found.Links {
		of := whose.In(l.Host)
		view.Links = append(view.Links, byLink{l, linkPath(l.Code, of), byAddress(of.Pairs("code", l.Code))(view.Filter.Name, view.Filter.Value)})
	}
	series := view.Window.Series
	if !view.Span.Hourly {
		series = fromFirstHit(series)
	}
	view.TooLong = len(series) > chart.MaxBuckets
	view.Chart, err = r.drawn(&view.figuresView, series)
	return err
}
