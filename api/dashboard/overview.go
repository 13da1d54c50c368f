package dashboard

import (
	"html/template"

	"github.com/valyala/fasthttp"

	"shunt/api/ops"
)

// overviewView is what the overview shows.
type overviewView struct {
	Owner    string // the parameter owner: empty (one's own links) or all
	Admin    bool
	Today    comparison
	Others   []comparison
	Tabs     []tab
	Period   period
	Chart    template.HTML
	Window   ops.Figures
	Lists    []breakdown
	Top      []topLink
	TopAmong uint64 // Top is among that many links with the most hits ever; 0: among all
	TopError string // why there is no list of the most-hit links
	Live     string // the path of the live figures of today
	BaseURL  string
}

// A comparison is the figures of some days, beside those of the same number of days before.
type comparison struct {
	Title, Before string
	Now, Then     ops.Figures
}

// A topLink is one of the most-hit links.
type topLink struct {
	ops.LinkFigures
	Path string
}

// comparisons are the days that the overview compares: the last of them is today.
var comparisons = []struct {
	days          int
	title, before string
}{{1, "Today", "yesterday"}, {7, "7 days", "the 7 days before"}, {30, "30 days", "the 30 days before"}}

// overview is GET /_/.
func (r *request) overview() error {
	view := overviewView{Owner: r.query("owner"), Admin: r.admin(), BaseURL: r.baseURL, Live: Root + "live"}
	if view.Owner != "" {
		view.Live += "?owner=" + template.URLQueryEscaper(view.Owner)
	}
	view.Period = periodNamed(r.query("period"), "30d")
	view.Tabs = tabs(r.with("period"), view.Period.Name)
	if err := r.heavily(func() error { return r.readOverview(&view) }); err != nil {
		return err
	}
	return r.show(fasthttp.StatusOK, "overview", "Overview", view)
}

// readOverview reads the figures of the overview, all in one turn.
func (r *request) readOverview(view *overviewView) error {
	now := r.now()
	today := beginning("day", now)
	p := view.Period
	window, err := r.ownerQuery(view.Owner, "from", moment(p.from(now)), "interval", p.Interval, "include", allLists, "top", topShown)
	if err != nil {
		return err
	}
	window.AmongMostHit = true
	queries := []ops.FiguresQuery{window}
	for _, c := range comparisons {
		from := today.AddDate(0, 0, 1-c.days)
		during, err := r.ownerQuery(view.Owner, "from", moment(from))
		if err != nil {
			return err
		}
		before, err := r.ownerQuery(view.Owner, "from", moment(from.AddDate(0, 0, -c.days)), "to", moment(from))
		if err != nil {
			return err
		}
		queries = append(queries, during, before)
	}
	figures, err := r.calls.SeveralOwnerFigures(r.caller, queries)
	if err != nil {
		return err
	}
	return r.fillOverview(view, figures)
}

// fillOverview puts the figures into the view: those of the window, and then two for each comparison.
func (r *request) fillOverview(view *overviewView, figures []ops.Figures) (err error) {
	view.Window = figures[0]
	view.Lists = breakdowns(&view.Window)
	view.TopAmong = uint64(view.Window.TopAmong)
	for _, l := range view.Window.Top {
		view.Top = append(view.Top, topLink{l, linkPath(l.Code, view.Owner)})
	}
	for i, c := range comparisons {
		shown := comparison{Title: c.title, Before: c.before, Now: figures[1+2*i], Then: figures[2+2*i]}
		if i == 0 {
			view.Today = shown
		} else {
			view.Others = append(view.Others, shown)
		}
	}
	view.Chart, err = r.drawn("Hits and visitors, "+view.Period.Title, view.Period.Interval, view.Window.Series)
	return err
}

// topShown is the number of links in the list of the most-hit ones.
const topShown = "10"

// ownerQuery returns a query for figures of all links of the caller, or of owner.
func (r *request) ownerQuery(owner string, pairs ...string) (ops.FiguresQuery, error) {
	return ops.ParseOwnerFigures(r.caller, parameters(append(pairs, "owner", owner)...))
}

// linkPath returns the path of a link's page. owner is the parameter by which an admin sees a link
// of somebody else; empty: none.
func linkPath(code, owner string) string {
	if owner == "" {
		return Root + "link/" + code
	}
	return Root + "link/" + code + "?owner=" + template.URLQueryEscaper(owner)
}

// with returns the path and query of the request without the parameter name, up to its new value.
func (r *request) with(name string) string {
	args := &fasthttp.Args{}
	r.ctx.QueryArgs().CopyTo(args)
	args.Del(name)
	path := r.path() + "?"
	if args.Len() > 0 {
		path += args.String() + "&"
	}
	return path + name + "="
}

// liveToday is GET /_/live: the hits and visitors of today of all links, as a stream.
func (r *request) liveToday() error {
	q, err := r.ownerQuery(r.query("owner"), "from", moment(beginning("day", r.now())))
	if err != nil {
		return err
	}
	read := func() (hits, unique uint64, err error) {
		err = r.heavily(func() error {
			q.From = beginning("day", r.now())
			f, err := r.calls.OwnerFigures(r.caller, q)
			hits, unique = f.Hits, f.Unique
			return err
		})
		return hits, unique, err
	}
	return r.stream(r.ctx, r.caller, q.Guard, read)
}
