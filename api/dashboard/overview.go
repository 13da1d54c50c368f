package dashboard

import (
	"html/template"
	"slices"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/chart"
	"shunt/api/dashboard/visit"
	"shunt/api/ops"
	"shunt/engine"
)

// overviewView is what the overview shows.
type overviewView struct {
	ClockNote string   // see clockNote
	Here      string   // the address of the page
	Form      linkForm // creates a link
	Owner     string   // the parameter owner: empty (one's own links) or all
	Zone      string   // of days
	Admin     bool
	Today     comparison
	Unused    bool // no link was hit lately: the page says how to begin
	Others    []comparison
	Tabs      []tab
	Period    period
	Chart     template.HTML
	Window    ops.Figures
	Lists     []breakdown
	Top       []topLink
	TopBeyond uint64 // other links have at most that many hits in the window; 0: Top is certain
	Live      string // the path of the live figures of today
}

// A comparison is the figures of some days, beside those of the same number of days before.
type comparison struct {
	Title, Before string
	Today         bool // Now is of a day that is not over
	Now           ops.Figures
	Then          *ops.Figures // of the days before; nil: they are not kept
	from, since   time.Time    // of Now and of Then
}

// Delta returns the difference between the hits of Now and of Then in words.
func (c comparison) Delta() visit.Delta {
	now, then := c.Now.Hits, c.Then.Hits
	if c.Today && now < then {
		return visit.Delta{Class: "", Text: "so far " + chart.Share(now, then) + " of " + c.Before}
	}
	return visit.Compare(now, then, c.Before)
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
}{{1, "Hits today", "yesterday"}, {7, "Hits in 7 days", "in the 7 days before"}, {30, "Hits in 30 days", "in the 30 days before"}}

// keptComparisons returns the comparisons whose days are kept, without their figures.
func (r *request) keptComparisons() (all []comparison) {
	_, first := r.Engine.KeptSince()
	for _, c := range comparisons {
		shown := comparison{Title: c.title, Before: c.before, Today: c.days == 1, from: r.beginning("day", r.Now(), 1-c.days), since: r.beginning("day", r.Now(), 1-2*c.days)}
		if c.days > 1 && shown.from.Before(first) {
			break
		}
		if !shown.since.Before(first) {
			shown.Then = new(ops.Figures)
		}
		all = append(all, shown)
	}
	return all
}

// overview is GET /_/.
func (r *request) overview() error {
	view := overviewView{ClockNote: r.clockNote(), Here: r.Here(), Owner: r.Query("owner"), Zone: r.Engine.Zone().Name(), Admin: r.Admin()}
	view.Live = visit.Address(livePath, "owner", view.Owner)
	var err error
	if view.Form, err = r.newForm(linksPath, nil); err != nil {
		return err
	}
	periods := r.keptPeriods()
	view.Period = periodNamed(periods, r.Query("period"), "30d")
	view.Tabs = tabs(periods, r.With("period"), view.Period.Name)
	if err := r.Heavily(func() error { return r.readOverview(&view) }); err != nil {
		return err
	}
	return r.Show(fasthttp.StatusOK, "overview", "Overview", view)
}

// readOverview reads the figures of the overview, all in one turn.
func (r *request) readOverview(view *overviewView) error {
	p := view.Period
	window, err := r.ownerQuery(view.Owner, "from", moment(r.since(p)), "interval", p.Interval, "include", allLists, "top", topShown)
	if err != nil {
		return err
	}
	window.MaxLinks = engine.MaxScannedLinks // a page has no time for more
	queries := []ops.FiguresQuery{window}
	compared := r.keptComparisons()
	for _, c := range compared {
		during, err := r.ownerQuery(view.Owner, "from", moment(c.from))
		if err != nil {
			return err
		}
		queries = append(queries, during)
		if c.Then == nil {
			continue
		}
		before, err := r.ownerQuery(view.Owner, "from", moment(c.since), "to", moment(c.from))
		if err != nil {
			return err
		}
		queries = append(queries, before)
	}
	figures, err := r.Calls.SeveralOwnerFigures(r.Caller, queries)
	if err != nil {
		return err
	}
	return r.fillOverview(view, figures, compared)
}

// fillOverview puts the figures into the view: those of the window, and then those of each
// comparison.
func (r *request) fillOverview(view *overviewView, figures []ops.Figures, compared []comparison) (err error) {
	view.Window = figures[0]
	view.Lists = r.breakdowns(&view.Window)
	view.TopBeyond = view.Window.TopBeyond
	for _, l := range view.Window.Top {
		view.Top = append(view.Top, topLink{l, linkPath(l.Code, view.Owner)})
	}
	figures = figures[1:]
	for i := range compared {
		c := &compared[i]
		c.Now, figures = figures[0], figures[1:]
		if c.Then != nil {
			*c.Then, figures = figures[0], figures[1:]
		}
	}
	view.Today, view.Others = compared[0], compared[1:]
	view.Unused = view.Window.Hits == 0 && !slices.ContainsFunc(compared, func(c comparison) bool { return c.Now.Hits > 0 })
	view.Chart, err = r.drawn(view.Period.Interval, view.Window.Series)
	return err
}

// topShown is the number of links in the list of the most-hit ones.
const topShown = "10"

// ownerQuery returns a query for figures of all links of the caller, or of owner.
func (r *request) ownerQuery(owner string, pairs ...string) (ops.FiguresQuery, error) {
	return ops.ParseOwnerFigures(r.Caller, parameters(append(pairs, "owner", owner)...))
}

// linkPath returns the path of a link's page. owner is the parameter by which an admin sees a link
// of somebody else; empty: none.
func linkPath(code, owner string) string { return visit.Address(Root+"link/"+code, "owner", owner) }

const livePath = Root + "live"

// IsStream reports whether path is that of an endless answer, which is about this node's own moment.
func IsStream(path []byte) bool { return string(path) == livePath }

// liveToday is GET /_/live: the hits and visitors of today of all links, as a stream.
func (r *request) liveToday() error {
	q, err := r.ownerQuery(r.Query("owner"), "from", moment(r.beginning("day", r.Now(), 0)))
	if err != nil {
		return err
	}
	read := func() (hits, unique uint64, err error) {
		err = r.Heavily(func() error {
			q.From = r.beginning("day", r.Now(), 0)
			f, err := r.Calls.OwnerFigures(r.Caller, q)
			hits, unique = f.Hits, f.Unique
			return err
		})
		return hits, unique, err
	}
	return r.Stream(r.Ctx, r.Caller, q.Guard, read)
}

// shownMisses is how many codes the page of misses shows.
const shownMisses = 100

// missesPage is GET /_/misses: the codes most asked for in vain.
func (r *request) missesPage() error {
	m, err := r.Calls.Misses(shownMisses)
	if err != nil {
		return err
	}
	return r.Show(fasthttp.StatusOK, "misses", "Broken links", struct{ ops.Misses }{m})
}
