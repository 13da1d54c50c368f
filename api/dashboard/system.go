package dashboard

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/admin"
	"shunt/api/chart"
	"shunt/api/dashboard/visit"
	"shunt/api/edges"
	"shunt/engine"
)

// systemView is what the page of the server shows.
type systemView struct {
	BaseURL string
	Summary summary
	Edges   string // how many there are
	Groups  []admin.Group
}

// systemPage is GET /_/system: the server's metrics in words.
func (r *request) systemPage() error {
	groups, err := r.Facts()
	if err != nil {
		return err
	}
	all, err := r.Edges()
	if err != nil {
		return err
	}
	return r.Show(fasthttp.StatusOK, "system", "System", systemView{r.BaseURL, r.summary(groups), edgesText(all), groups})
}

// edgesText says how many edges there are, and how many of them are heard.
func edgesText(all []edges.Edge) string {
	connected := 0
	for i := range all {
		if all[i].State == edges.Connected {
			connected++
		}
	}
	if len(all) == 0 {
		return "none"
	}
	return fmt.Sprintf("%d, %d connected", len(all), connected)
}

const edgesPath = visit.Root + "system/edges"

// edgesPage is GET /_/system/edges.
func (r *request) edgesPage() error {
	all, err := r.Edges()
	if err != nil {
		return err
	}
	return r.Show(fasthttp.StatusOK, "edges", "Edges", struct {
		Edges []edges.Edge
		Place *time.Location // of days
	}{all, r.Place()})
}

// forgetEdgePage asks whether an edge is to be forgotten.
func (r *request) forgetEdgePage() error {
	all, err := r.Edges()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(e edges.Edge) bool { return e.Name == r.Segment("name") })
	if i < 0 {
		return r.Missing()
	}
	return r.Show(fasthttp.StatusOK, "edge-forget", "Forget an edge", all[i])
}

func (r *request) forgetEdge() error {
	return r.SeeOnce(func() (string, error) {
		e, err := r.ForgetEdge(r.Caller, r.Segment("name"))
		if err != nil {
			return "", err
		}
		r.Say("done", "The edge "+e.Name+" is forgotten, and its token is revoked.")
		return edgesPath, nil
	})
}

// valueText returns a value of a fact as people read it.
func valueText(unit admin.Unit, v admin.Value) template.HTML {
	if v.Mean {
		if v.Of == 0 {
			return "none"
		}
		mean := strconv.FormatFloat(v.N, 'f', 1, 64)
		if unit == admin.Seconds {
			mean = seconds(v.N)
		}
		return template.HTML(fmt.Sprintf("%s, %s on average", chart.Grouped(v.Of), mean))
	}
	switch unit {
	case admin.Info:
		return template.HTML(template.HTMLEscapeString(v.Text))
	case admin.Moment:
		if v.N == 0 {
			return "never"
		}
		return visit.TimeTag(time.UnixMilli(int64(v.N * 1000)))
	case admin.YesNo:
		if v.N == 0 {
			return "no"
		}
		return "yes"
	case admin.Ratio:
		return template.HTML(strconv.FormatFloat(100*v.N, 'f', 1, 64) + " %")
	case admin.Bytes:
		return template.HTML(bytesText(v.N))
	case admin.Seconds:
		return template.HTML(seconds(v.N))
	}
	return template.HTML(countText(v.N))
}

// countText returns a number in digits; most are whole.
func countText(n float64) string {
	if n >= 0 && n < 1<<63 && n == math.Trunc(n) {
		return chart.Grouped(uint64(n))
	}
	return strconv.FormatFloat(n, 'g', 6, 64)
}

// bytesText returns a number of bytes in the unit that suits it.
func bytesText(n float64) string {
	if n >= 1<<60 {
		return "no limit"
	}
	const space = "\u00a0" // a number stays beside its unit
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for ; n >= 1024 && i < len(units)-1; i++ {
		n /= 1024
	}
	if i == 0 {
		return countText(n) + space + "bytes"
	}
	return strconv.FormatFloat(n, 'f', 1, 64) + space + units[i]
}

func sizeText(n uint64) string { return bytesText(float64(n)) }

// seconds returns a duration in the unit that suits it.
func seconds(n float64) string {
	switch {
	case n == 0:
		return "0 s"
	case n < 1e-3:
		return strconv.FormatFloat(n*1e6, 'f', 0, 64) + " µs"
	case n < 1:
		return strconv.FormatFloat(n*1e3, 'f', 1, 64) + " ms"
	case n < 120:
		return strconv.FormatFloat(n, 'f', 1, 64) + " s"
	}
	minutes := int64(n / 60)
	switch {
	case minutes >= 24*60:
		return twoUnits(minutes/(24*60), "d", minutes/60%24, "h")
	case minutes >= 60:
		return twoUnits(minutes/60, "h", minutes%60, "min")
	}
	return strconv.FormatInt(minutes, 10) + " min"
}

// twoUnits returns large units and what is left in small ones, such as 3 d 4 h.
func twoUnits(n int64, large string, rest int64, small string) string {
	text := strconv.FormatInt(n, 10) + " " + large
	if rest > 0 {
		text += " " + strconv.FormatInt(rest, 10) + " " + small
	}
	return text
}

// A summary says on top of the page of the server whether all is well.
type summary struct {
	Problems []string // each with what to do; empty: everything works
	Disk     *diskUse // nil: the store does not report it
	Version  string
	Since    template.HTML // when the server started; empty: unknown
}

// diskUse is how much disk space the data takes.
type diskUse struct {
	All, Parts string
	Free       string // empty: unknown
}

// summary returns the summary of the server; groups are its metrics.
func (r *request) summary(groups []admin.Group) summary {
	m := r.Engine.Metrics()
	s := summary{Problems: append(r.problemsNow(), problemsSince(&m)...), Disk: diskUseOf(groups, m.JournalBytes)}
	if v, ok := valueOf(groups, "shunt_build_info"); ok {
		s.Version = v.Text
	}
	if v, ok := valueOf(groups, "process_start_time_seconds"); ok {
		s.Since = valueText(admin.Moment, v)
	}
	return s
}

// problemsNow are the conditions that may pass.
func (r *request) problemsNow() (all []string) {
	for _, c := range r.Health().Wrong() {
		all = append(all, c.Detail)
	}
	return all
}

// clockNote says that the clock has jumped lately, by so much that figures show it; else it is empty.
func clockNote(m *engine.Metrics) string {
	const least = 12 * time.Hour // a computer that slept for a night is not to be told so
	if m.ClockJumpBy.Abs() < least {
		return ""
	}
	way := "ahead"
	if m.ClockJumpBy < 0 {
		way = "back"
	}
	by := visit.Plural(uint64(m.ClockJumpBy.Abs().Round(24*time.Hour)/(24*time.Hour)), "day", "days")
	return "The server's clock jumped " + way + " by about " + by + ", and showed " + m.ClockJumpAt.UTC().Format("2 January 2006, 15:04") +
		" UTC then. Hits count on the days that the clock showed. Nothing was deleted too early. If the time is wrong now, set the clock."
}

func (r *request) clockNote() string {
	m := r.Engine.Metrics()
	return clockNote(&m)
}

// problemsSince are what has happened since the start. They stay until the next one.
func problemsSince(m *engine.Metrics) (all []string) {
	add := func(n uint64, one, many, text string) {
		if n > 0 {
			all = append(all, visit.Plural(n, one, many)+text)
		}
	}
	add(m.FlushErrors, "write of figures has", "writes of figures have", " failed since the start. The server tried again. If the number grows, check the disk and the server's log.")
	add(m.HitsMissing, "hit", "hits", " could not be kept for the disk, because it did not answer for too long. What was not kept counts until the server stops, and is lost then. Check the disk.")
	add(m.VisitorsDropped+m.ValuesDropped+m.ReferrersRefused, "detail of a hit", "details of hits",
		" (visitors, referrers, countries, devices, browsers) dropped since the start, because memory was full. The hits themselves count. Check whether the disk is slow.")
	add(m.FlushesReduced, "write of figures was", "writes of figures were", " too large and left out breakdowns or visitors. The hits themselves count. Check whether the disk is slow.")
	if note := clockNote(m); note != "" {
		all = append(all, note)
	}
	add(m.JournalMissing, "file", "files", " of the journal could not be recovered whole at the start, so some of the last hits before it may be missing. Check the disk.")
	return all
}

// diskUseOf adds up what the data takes; the journal's files are mapped into memory.
func diskUseOf(groups []admin.Group, journal uint64) *diskUse {
	number := func(name string) float64 {
		v, _ := valueOf(groups, "shunt_storage_"+name)
		return v.N
	}
	database, log, ballast := number("disk_bytes"), number("log_disk_bytes"), number("ballast_bytes")
	if database == 0 {
		return nil
	}
	use := &diskUse{All: bytesText(database + ballast + float64(journal))}
	use.Parts = "tables " + bytesText(max(database-log, 0)) + ", log of writes with the room reserved for it " + bytesText(log) +
		", journal of hits " + bytesText(float64(journal)) + ", reserve for a full disk " + bytesText(ballast)
	if free := number("free_bytes"); free > 0 {
		use.Free = bytesText(max(free-ballast, 0)) // the metric includes the ballast
	}
	return use
}

// valueOf returns the first value of a metric.
func valueOf(groups []admin.Group, metric string) (v admin.Value, ok bool) {
	for _, g := range groups {
		for _, f := range g.Facts {
			if f.Metric == metric && len(f.Values) > 0 {
				return f.Values[0], true
			}
		}
	}
	return v, false
}
