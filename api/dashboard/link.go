package dashboard

import (
	"cmp"
	"html/template"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/chart"
	"shunt/api/dashboard/shares"
	"shunt/api/dashboard/visit"
	"shunt/api/ops"
	"shunt/engine"
)

// linkView is what the page of a link shows.
type linkView struct {
	ClockNote string // see clockNote
	Here      string // the address of the page
	Link      ops.Link
	Owner     string // the parameter owner
	Zone      string // of days
	place     *time.Location
	Works     bool // the link redirects, so it has a QR code and a preview
	Life      ops.Figures
	Pending   uint64 // hits that are not on the disk yet
	Error     string // of Life.Unique
	Tabs      []tab
	Period    period // its Name is empty if the visitor chose a window
	Window    ops.Figures
	WindowErr string // why the window cannot be shown
	From, To  string // as typed
	Chart     template.HTML
	TooLong   bool // the window is too long for a chart
	Lists     shares.Lists
	Live      string
	Changes   string // address of the changes of the link in the audit log; empty: the visitor is no admin
	Duplicate string // address of the form for a link like it
	Query     string // the query that the link's other pages need; "": none
}

// Days reports whether the window is in days.
func (v linkView) Days() bool { return v.Period.Interval == "day" }

// FirstDay and LastDay return the days of a window in days, as those of UTC with their dates.
func (v linkView) FirstDay() time.Time { return v.date(v.Window.From) }
func (v linkView) LastDay() time.Time  { return v.date(v.Window.To.Add(-1)) }

func (v linkView) date(t time.Time) time.Time {
	year, month, day := t.In(v.place).Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
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
	view := linkView{ClockNote: r.clockNote(), Here: r.Here(), Link: l, Owner: r.Query("owner"), Zone: r.Engine.Zone().Name(), place: r.Engine.Zone().Place(), Works: l.State == engine.StateActive, From: r.Query("from"), To: r.Query("to")}
	if r.Admin() {
		view.Changes = (&auditSearch{Code: l.Code}).address("")
	}
	view.Duplicate = visit.Address(newPath, "like", code, "owner", view.Owner)
	view.Query = visit.Address("", "owner", view.Owner)
	view.Live = "/api/v1/stats/" + code + "/live" + view.Query
	periods := r.keptPeriods()
	if view.From == "" && view.To == "" {
		view.Period = periodNamed(periods, r.Query("period"), "48h")
	}
	view.Tabs = tabs(periods, linkTabs(code, view.Owner), view.Period.Name)
	if err := r.Heavily(func() error { return r.readLink(&view, code) }); err != nil {
		return err
	}
	return r.Show(fasthttp.StatusOK, "link", code, view)
}

// linkAsked returns the {code} of the path and the guard of the query.
func (r *request) linkAsked() (code string, g engine.Guard, err error) {
	if g, err = ops.ParseGuard(r.Caller, parameters("owner", r.Query("owner"))); err != nil {
		return "", g, err
	}
	code, err = ops.ParseCode(r.Segment("code"))
	return code, g, err
}

func linkTabs(code, owner string) string {
	if owner == "" {
		return Root + "link/" + code + "?period="
	}
	return linkPath(code, owner) + "&period="
}

// readLink reads the figures of a link: of its life, and of the chosen window.
func (r *request) readLink(view *linkView, code string) (err error) {
	view.Life, err = r.linkFigures(code, view.Owner, "include", "bots,durability,error")
	if err != nil {
		return err
	}
	if d := view.Life.Durability; d != nil && view.Life.Hits > d.DurableHits {
		view.Pending = view.Life.Hits - d.DurableHits
	}
	view.Window, err = r.linkFigures(code, view.Owner, r.windowAsked(view)...)
	if at, general, ok := visit.FieldErrors(err, "from", "to"); err != nil && ok && view.Period.Name == "" {
		view.WindowErr = visit.Sentence(cmp.Or(labelled("From", at["from"]), labelled("To", at["to"]), general))
		return nil
	}
	if err != nil {
		return err
	}
	view.Lists = r.lists(&view.Window, "code", code, "owner", view.Owner, "period", view.Period.Name)
	view.TooLong = len(fromFirstHit(view.Period.Interval, view.Window.Series)) > chart.MaxBuckets
	view.Chart, err = r.drawn(view.Period.Interval, view.Window.Series)
	return err
}

// maxHourly is the longest window that is shown by the hour.
const maxHourly = 48 * time.Hour

// windowAsked returns the parameters of the window that a link's page shows. A window that the
// visitor chose is shown by the hour if it is short, and so recent that hours are kept.
func (r *request) windowAsked(view *linkView) []string {
	p, from, to := &view.Period, view.From, view.To
	if p.Name != "" {
		from = moment(r.sinceMade(*p, view.Link.CreatedAt))
	} else {
		p.Interval = "day"
		hours, _ := r.Engine.KeptSince()
		if at, err := time.Parse(time.DateOnly, from); err == nil && r.Now().Sub(at) <= maxHourly && !at.Before(hours) {
			p.Interval = "hour"
		}
	}
	return []string{"from", from, "to", to, "interval", p.Interval, "include", allLists}
}

// sinceMade returns the beginning of the period for a link. The chart of a young link does not show
// 400 days of nothing.
func (r *request) sinceMade(p period, created time.Time) time.Time {
	from := r.since(p)
	if p.Interval == "hour" {
		return from
	}
	least := r.beginning("day", r.Now(), 1-leastDays)
	if first := r.beginning("day", created, 0); first.Before(least) {
		least = first
	}
	return later(from, least)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func labelled(label, text string) string {
	if text == "" {
		return ""
	}
	return label + ": " + text
}

func (r *request) linkFigures(code, owner string, pairs ...string) (ops.Figures, error) {
	q, err := ops.ParseFigures(r.Caller, parameters(append(pairs, "owner", owner)...))
	if err != nil {
		return ops.Figures{}, err
	}
	return r.Calls.Figures(r.Caller, code, q)
}
