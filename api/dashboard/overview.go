package dashboard

import (
	"fmt"
	"html/template"
	"slices"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/dashboard/shares"
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
	Lists     shares.Lists
	Top       []topLink
	TopBeyond uint64 // other links have at most that many hits in the window; 0: Top is certain
	Live      string // the path of the live figures of today
}

// A comparison is the figures of some days, beside those of an equal span before: the day that is not over is compared
// with yesterday until the same hour, and is not in longer spans.
type comparison struct {
	Title, Before string
	Now           ops.Figures  // what is shown
	Part          *ops.Figures // what is compared; nil: Now
	Then          *ops.Figures // of the span before; nil: it is not kept, or nothing of the day is over

	from, to    time.Time // of Now; to is zero: up to now
	since, till time.Time // of Then
	partly      time.Time // where Part ends, which begins as Now does
}

// Delta returns the difference between the hits of two equal spans in words.
func (c comparison) Delta() visit.Delta {
	now := c.Now.Hits
	if c.Part != nil {
		now = c.Part.Hits
	}
	return visit.Compare(now, c.Then.Hits, c.Before)
}

// A topLink is one of the most-hit links.
type topLink struct {
	ops.LinkFigures
	Path string
}

// comparedDays are the spans that the overview compares, after today.
var comparedDays = []int{7, 30}

// keptComparisons returns the comparisons whose days are kept, without their figures. The first one is today's.
func (r *request) keptComparisons() []comparison {
	hours, first := r.Engine.KeptSince()
	all := []comparison{r.today(hours)}
	now := r.Now()
	for _, days := range comparedDays {
		c := comparison{
			Title: fmt.Sprintf("Hits in %d days, without today", days), Before: fmt.Sprintf("in the %d days before", days),
			from: r.beginning("day", now, -days), to: all[0].from, since: r.beginning("day", now, -2*days), till: r.beginning("day", now, -days),
		}
		if c.from.Before(first) {
			break
		}
		if !c.since.Before(first) {
			c.Then = new(ops.Figures)
		}
		all = append(all, c)
	}
	return all
}

// today returns the comparison of today with yesterday until the same hour; hours are kept since then.
func (r *request) today(hours time.Time) comparison {
	now := r.Now()
	c := comparison{Title: "Hits today", from: r.beginning("day", now, 0), partly: r.beginning("hour", now, 0)}
	c.since = r.beginning("day", now, -1)
	c.till = c.since.Add(c.partly.Sub(c.from))
	zone := r.Engine.Zone()
	c.Before = "yesterday until " + c.till.In(zone.Place()).Format("15:04") + " " + zone.Name()
	if c.since.Before(c.till) && !c.since.Before(hours) {
		c.Part, c.Then = new(ops.Figures), new(ops.Figures)
	}
	return c
}

// A span is a part of a comparison, and where its figures go.
type span struct {
	from, to time.Time
	figures  *ops.Figures
}

func (c *comparison) spans() []span {
	all := []span{{c.from, c.to, &c.Now}}
	if c.Part != nil {
		all = append(all, span{c.from, c.partly, c.Part})
	}
	if c.Then != nil {
		all = append(all, span{c.since, c.till, c.Then})
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
	for i := range compared {
		for _, span := range compared[i].spans() {
			q, err := r.ownerQuery(view.Owner, "from", moment(span.from), "to", moment(span.to))
			if err != nil {
				return err
			}
			queries = append(queries, q)
		}
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
	view.Lists = r.lists(&view.Window, "owner", view.Owner, "period", view.Period.Name)
	view.TopBeyond = view.Window.TopBeyond
	for _, l := range view.Window.Top {
		view.Top = append(view.Top, topLink{l, linkPath(l.Code, view.Owner)})
	}
	figures = figures[1:]
	for i := range compared {
		for _, span := range compared[i].spans() {
			*span.figures, figures = figures[0], figures[1:]
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
