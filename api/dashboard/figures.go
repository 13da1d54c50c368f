package dashboard

import (
	"errors"
	"html/template"
	"slices"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/chart"
	"shunt/api/dashboard/shares"
	"shunt/api/dashboard/span"
	"shunt/api/dashboard/visit"
	"shunt/api/ops"
	"shunt/engine"
	"shunt/engine/zone"
)

// A figuresView is what all pages with figures show.
type figuresView struct {
	ClockNote string // see clockNote
	Here      string // the address of the page
	Picker    picker
	Span      *span.Span    // nil: the dates that were asked for are none
	Window    ops.Figures   // of the span
	Part      *ops.Figures  // of the part of the span that is compared; nil: the whole, or nothing is
	Then      *ops.Figures  // of the equal time before; nil: nothing is compared
	Chart     template.HTML // empty: there is nothing to draw
	TooLong   bool          // the span is too long for a chart
	Lists     shares.Lists
	scope     []string // parameters by which other pages show the same figures
	hitsOnly  bool     // visitors are not known
}

// A picker is the choice of a span.
type picker struct {
	Choices  []tab
	Path     string            // of the page
	Kept     []visit.Parameter // parameters of the page that stay
	Custom   bool              // dates were chosen
	From, To string            // as typed, or those of the span
	Zone     string            // of the days
	Error    string            // why the dates cannot be shown
	Earlier  string            // address of the page with the time before, as long; empty: there is none
	Later    string            // the same after
	CSV      string            // address of the figures as a file
}

// A tab is one choice of a span.
type tab struct {
	Title, Path string
	Current     bool
}

// rememberedFor is how long a browser keeps which choice was made last. Dates are kept until it is closed.
const rememberedFor = 365 * 24 * time.Hour

// calendar returns what spans depend on now.
func (r *request) calendar() *span.Calendar {
	hour, day := r.Engine.KeptSince()
	return &span.Calendar{Now: r.Now(), FirstHour: hour, FirstDay: day, Store: r.Engine.Zone(), Viewer: r.Zone()}
}

// asked returns the span that the address asks for, or else the one that was chosen last.
func (r *request) asked() span.Asked {
	asked := span.Ask(r.Query("period"), r.Query("from"), r.Query("to"))
	if asked == (span.Asked{}) {
		return span.ReadText(r.Remembered(visit.LastSpan))
	}
	return asked
}

// figuresView returns the view of a page of figures without its figures, and has the browser remember the span. made is
// when the subject was made; zero: it has been there for ever. pairs are the parameters of the figures as a file.
func (r *request) figuresView(made time.Time, pairs ...string) (v figuresView) {
	calendar, asked := r.calendar(), r.asked()
	v = figuresView{ClockNote: r.clockNote(), Here: r.Here(), Picker: picker{Path: r.Path()}}
	p := &v.Picker
	for name, value := range r.Ctx.QueryArgs().All() {
		if !slices.Contains([]string{"period", "from", "to"}, string(name)) {
			p.Kept = append(p.Kept, visit.Parameter{Name: string(name), Value: string(value)})
		}
	}
	s, err := calendar.Of(asked, made)
	var wrong span.Error
	if errors.As(err, &wrong) {
		p.Error, p.Custom, p.From, p.To, p.Zone = wrong.Text, true, asked.From, asked.To, r.Engine.Zone().Name()
	} else {
		v.Span = s
		p.Custom, p.Zone = s.Name == span.Custom, s.Zone.Name()
		p.From, p.To = s.Dates()
		v.scope = append(pairs, "period", s.Name, "from", s.Asked.From, "to", s.Asked.To)
		p.CSV = visit.Address(csvPath, v.scope...)
		r.rememberSpan(s)
		p.Earlier, p.Later = p.beside(calendar.Earlier(s, made)), p.beside(calendar.Later(s))
	}
	for _, c := range calendar.Offered() {
		p.Choices = append(p.Choices, tab{c.Title, p.address("period", c.Name), v.Span != nil && c.Name == s.Name})
	}
	return v
}

// address returns the address of the page with another span.
func (p *picker) address(pairs ...string) string {
	for _, kept := range p.Kept {
		pairs = append(pairs, kept.Name, kept.Value)
	}
	return visit.Address(p.Path, pairs...)
}

// beside returns the address of the page with a time, "" if there is no such time.
func (p *picker) beside(a span.Asked, ok bool) string {
	if !ok {
		return ""
	}
	return p.address(a.Pairs()...)
}

// rememberSpan has the browser remember a span that the address names.
func (r *request) rememberSpan(s *span.Span) {
	text, age := s.Text(), rememberedFor
	if s.Name == span.Custom {
		age = 0
	}
	if r.Query("period")+r.Query("from")+r.Query("to") != "" && text != r.Remembered(visit.LastSpan) {
		r.Remember(visit.LastSpan, text, age)
	}
}

// A window is one of the times whose figures a page reads, and where they go.
type window struct {
	from, to time.Time
	zone     *zone.Zone
	pairs    []string // further parameters of the call
	figures  *ops.Figures
}

// windows returns the times whose figures the view shows; pairs are the parameters of the span itself.
func (v *figuresView) windows(pairs ...string) []window {
	s := v.Span
	interval := "day"
	if s.Hourly {
		interval = "hour"
	}
	all := []window{{s.From, s.To, s.Zone, append(pairs, "interval", interval), &v.Window}}
	if b := s.Before; b != nil {
		if !b.Whole {
			v.Part = new(ops.Figures)
			all = append(all, window{b.From, b.To, nil, nil, v.Part})
		}
		v.Then = new(ops.Figures)
		all = append(all, window{b.Since, b.Till, nil, nil, v.Then})
	}
	return all
}

// parameters returns the parameters of the call for w.
func (w *window) parameters(pairs ...string) *fasthttp.Args {
	return parameters(slices.Concat([]string{"from", visit.Moment(w.from), "to", visit.Moment(w.to)}, w.pairs, pairs)...)
}

// readOwner reads the figures of windows for all links of the caller, or of those that pairs name, in one turn.
func (r *request) readOwner(windows []window, pairs ...string) error {
	queries := make([]ops.FiguresQuery, len(windows))
	for i := range windows {
		var err error
		if queries[i], err = r.Calls.ParseOwnerFigures(r.Caller, windows[i].parameters(pairs...)); err != nil {
			return err
		}
		queries[i].Zone = windows[i].zone
		queries[i].MaxLinks = engine.MaxScannedLinks // a page has no time for more
	}
	figures, err := r.Calls.SeveralOwnerFigures(r.Caller, queries)
	for i := range figures {
		*windows[i].figures = figures[i]
	}
	return err
}

// fillFigures fills in what follows from the figures.
func (r *request) fillFigures(v *figuresView) (err error) {
	v.Lists = r.lists(v)
	series := v.Window.Series
	if !v.Span.Hourly {
		series = fromFirstHit(series)
	}
	v.TooLong = len(series) > chart.MaxBuckets
	v.Chart, err = r.drawn(v, series)
	return err
}

// Hits and Visitors say how the part of the span that is compared differs from the time before.
func (v *figuresView) Hits() visit.Delta {
	return v.delta(func(f *ops.Figures) uint64 { return f.Hits })
}

func (v *figuresView) Visitors() visit.Delta {
	return v.delta(func(f *ops.Figures) uint64 { return f.Unique })
}

// Scans returns the hits of the span by QR codes.
func (v *figuresView) Scans() uint64 {
	if v.Window.Scans == nil {
		return 0
	}
	return *v.Window.Scans
}

func (v *figuresView) delta(of func(*ops.Figures) uint64) visit.Delta {
	part := v.Part
	if part == nil {
		part = &v.Window
	}
	return compared(of(&v.Window), of(part), of(v.Then), v.Span.Before)
}

// compared says how a figure of part, which is whole or the part of it that is compared, differs from that of then.
func compared(whole, part, then uint64, b *span.Before) visit.Delta {
	if whole > 0 && part == 0 && then == 0 && b.Open != "" {
		return visit.Delta{Text: "none before " + b.Open + ", and none " + b.Words}
	}
	return visit.Compare(part, then, b.Words)
}

// fileName names a file by what it is about, if that has a name, and by its days.
func (v *figuresView) fileName(of string) string {
	first, last := v.Span.Dates()
	name := "figures"
	if of != "" {
		name += "-" + of
	}
	if name += "-" + first; last != first {
		name += "-to-" + last
	}
	return name + ".csv"
}

// sendCSV answers with a file, which is not changed afterwards.
func (r *request) sendCSV(name string, text []byte) {
	r.nameCSV(name)
	r.Ctx.Response.SetBodyRaw(text)
}

// nameCSV makes the answer a file of CSV.
func (r *request) nameCSV(name string) {
	h := &r.Ctx.Response.Header
	h.SetContentType("text/csv; charset=utf-8")
	h.Set(fasthttp.HeaderContentDisposition, `attachment; filename="`+name+`"`)
}

// parameters returns names and values as parameters of a call; empty values are left out.
func parameters(pairs ...string) *fasthttp.Args {
	return visit.Parameters(pairs...)
}

// allLists asks for the breakdowns, and for what is apart from hits.
const allLists = "bots,scans,referrers,countries,devices,browsers,error"

// listsOf is allLists, and the targets of a link that has several, or had.
func listsOf(l *ops.Link) string {
	if l.LastTarget != 0 {
		return allLists + ",targets"
	}
	return allLists
}

// fromFirstHit returns a series of days without the empty ones at its beginning, as far as they are beyond
// span.LeastDays.
func fromFirstHit(series []ops.Bucket) []ops.Bucket {
	first := slices.IndexFunc(series, func(b ops.Bucket) bool { return b.Hits > 0 })
	if first < 0 || len(series) <= span.LeastDays {
		return series
	}
	return series[min(first, len(series)-span.LeastDays):]
}

// drawn returns the chart of a series, which may lack the beginning of the window's; "" if it is empty, or too long for
// a chart.
func (r *request) drawn(v *figuresView, series []ops.Bucket) (template.HTML, error) {
	if n := len(series); n == 0 || n > chart.MaxBuckets || v.Span.Name == span.All && !slices.ContainsFunc(series, isHit) {
		return "", nil
	}
	c := r.chartOf(v)
	for _, b := range series {
		c.Buckets = append(c.Buckets, chart.Bucket(b))
	}
	if len(series) < len(v.Window.Series) && series[0].Hits > 0 {
		c.Caption += ", since the first of them"
	}
	return c.HTML()
}

func isHit(b ops.Bucket) bool { return b.Hits > 0 }

// chartOf returns the chart of a view without its buckets.
func (r *request) chartOf(v *figuresView) chart.Chart {
	c := chart.Chart{ID: "hits", Caption: "Hits and visitors", Now: r.Now(), Interval: chart.Day, HitsOnly: v.hitsOnly}
	if v.hitsOnly {
		c.Caption = "Hits"
	}
	if v.Span.Hourly {
		c.Caption, c.Interval = c.Caption+" by hour", chart.Hour
	} else {
		c.Caption += " by day"
		c.Day = func(date string) string { return v.Picker.address("from", date, "to", date) }
	}
	if zone := r.zoneOf(v); zone.Name() != "UTC" || !v.Span.Hourly {
		c.Zone = zone.Place()
	}
	return c
}

// zoneOf returns the zone whose days the window of a view has: the moment when its hours were kept may have passed.
func (r *request) zoneOf(v *figuresView) *zone.Zone {
	if v.Window.Zone == v.Span.Zone.Name() {
		return v.Span.Zone
	}
	return r.Engine.Zone()
}

func labelled(label, text string) string {
	if text == "" {
		return ""
	}
	return label + ": " + text
}
