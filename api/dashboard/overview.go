package dashboard

import (
	"html/template"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/ops"
	"shunt/api/problem"
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

// readOverview reads the figures of the overview.
func (r *request) readOverview(view *overviewView) (err error) {
	now := r.now()
	today := beginning("day", now)
	for i, c := range comparisons {
		from := today.AddDate(0, 0, 1-c.days)
		shown := comparison{Title: c.title, Before: c.before}
		if shown.Now, err = r.ownerFigures(view.Owner, "from", moment(from)); err != nil {
			return err
		}
		if shown.Then, err = r.ownerFigures(view.Owner, "from", moment(from.AddDate(0, 0, -c.days)), "to", moment(from)); err != nil {
			return err
		}
		if i == 0 {
			view.Today = shown
		} else {
			view.Others = append(view.Others, shown)
		}
	}
	if err := r.readWindow(view, now); err != nil {
		return err
	}
	return r.readTop(view, now)
}

// readWindow reads the figures of the chosen period.
func (r *request) readWindow(view *overviewView, now time.Time) (err error) {
	p := view.Period
	view.Window, err = r.ownerFigures(view.Owner, "from", moment(p.from(now)), "interval", p.Interval, "include", allLists)
	if err != nil {
		return err
	}
	view.Lists = breakdowns(&view.Window)
	view.Chart, err = r.drawn("Hits and visitors, "+p.Title, p.Interval, view.Window.Series)
	return err
}

// topShown is the number of links in the list of the most-hit ones.
const topShown = "10"

// readTop reads the most-hit links of the chosen period. There may be too many links to choose
// from; then the list is missing.
func (r *request) readTop(view *overviewView, now time.Time) error {
	f, err := r.ownerFigures(view.Owner, "from", moment(view.Period.from(now)), "top", topShown)
	if p, _ := problem.Of(err); err != nil && p.Kind == problem.Invalid {
		view.TopError = p.Detail
		return nil
	}
	for _, l := range f.Top {
		view.Top = append(view.Top, topLink{l, linkPath(l.Code, view.Owner)})
	}
	return err
}

// ownerFigures returns figures of all links of the caller, or of owner.
func (r *request) ownerFigures(owner string, pairs ...string) (ops.Figures, error) {
	q, err := ops.ParseOwnerFigures(r.caller, parameters(append(pairs, "owner", owner)...))
	if err != nil {
		return ops.Figures{}, err
	}
	return r.calls.OwnerFigures(r.caller, q)
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
	owner := r.query("owner")
	read := func() (hits, unique uint64, err error) {
		err = r.heavily(func() error {
			f, err := r.ownerFigures(owner, "from", moment(beginning("day", r.now())))
			hits, unique = f.Hits, f.Unique
			return err
		})
		return hits, unique, err
	}
	q, err := ops.ParseOwnerFigures(r.caller, parameters("owner", owner))
	if err != nil {
		return err
	}
	return r.stream(r.ctx, r.caller, q.Guard, read)
}
