package dashboard

import (
	"html/template"

	"github.com/valyala/fasthttp"

	"shunt/api/chart"
	"shunt/api/dashboard/shares"
	"shunt/api/dashboard/visit"
	"shunt/api/ops"
)

// byPath is the page of the hits with one value.
const byPath = Root + "by"

// byView is what the page shows of the hits that a filter chooses.
type byView struct {
	Filter shares.Filter
	Code   string // of the link; empty: all links of Owner
	Owner  string // the parameter owner
	Zone   string // of days
	Back   string // address of the page with all hits
	All    string // address of the page for all links; empty: this is it
	Tabs   []tab
	Period period
	Chart  template.HTML
	Found  ops.Filtered
	Share  string // of all hits
	Hosts  *shares.List
	Links  []byLink
}

// A byLink is one of the links with the most chosen hits.
type byLink struct {
	ops.FilteredLink
	Path, By string // addresses: of the link, and of this page for it
}

// lists returns the lists of figures. Their lines lead to the figures of each value, with the parameters of the page
// that are kept.
func (r *request) lists(f *ops.Figures, kept ...string) shares.Lists {
	p := shares.Page{Map: r.MapURL(), NoCountries: "No country is known.", Path: byAddress(kept)}
	if r.Admin() {
		p.NoCountries += " The server finds countries with --geoip FILE, or takes them from a proxy with --country-header."
	}
	return p.Of(f)
}

// byAddress returns a function that returns the address of the hits with a value; kept are the other parameters.
func byAddress(kept []string) func(name, value string) string {
	return func(name, value string) string {
		return visit.Address(byPath, append([]string{name, value}, kept...)...)
	}
}

// by is GET /_/by.
func (r *request) by() error {
	view := byView{Code: r.Query("code"), Owner: r.Query("owner"), Zone: r.Engine.Zone().Name()}
	var ok bool
	if view.Filter, ok = shares.ReadFilter(r.Query); !ok {
		return r.Missing()
	}
	periods := r.keptPeriods()
	view.Period = periodNamed(periods, r.Query("period"), "30d")
	view.Tabs = tabs(periods, r.With("period"), view.Period.Name)
	period := view.Period.Name
	view.Back = visit.Address(Root, "owner", view.Owner, "period", period)
	if view.Code != "" {
		view.Back = visit.Address(Root+"link/"+view.Code, "owner", view.Owner, "period", period)
		view.All = byAddress([]string{"owner", view.Owner, "period", period})(view.Filter.Name, view.Filter.Value)
	}
	if err := r.Heavily(func() error { return r.readBy(&view) }); err != nil {
		return err
	}
	return r.Show(fasthttp.StatusOK, "by", view.Filter.Kind+": "+view.Filter.Label, &view)
}

// readBy reads the figures of the page.
func (r *request) readBy(view *byView) error {
	p := view.Period
	q, err := r.ownerQuery(view.Owner, "from", moment(r.since(p)), "interval", p.Interval)
	if err != nil {
		return err
	}
	if view.Found, err = r.Calls.FilteredFigures(r.Caller, view.Code, q, view.Filter.Filter); err != nil {
		return err
	}
	view.Share = chart.Share(view.Found.Chosen, view.Found.Hits)
	view.Hosts = shares.Hosts(&view.Found, byAddress([]string{"code", view.Code, "owner", view.Owner, "period", p.Name}))
	for _, l := range view.Found.Links {
		by := byAddress([]string{"code", l.Code, "owner", view.Owner, "period", p.Name})
		view.Links = append(view.Links, byLink{l, linkPath(l.Code, view.Owner), by(view.Filter.Name, view.Filter.Value)})
	}
	view.Chart, err = r.drawn(p.Interval, view.Found.Series)
	return err
}
