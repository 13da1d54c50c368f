package chart

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"
)

// Style has the rules for the classes of this package.
//
//go:embed chart.css
var Style string

// Limits of a Chart. A chart of 1,000 days takes about 16 KB compressed, with its table. Numbers up
// to MaxFigure are exact in the script and in its language.
const (
	MaxBuckets = 1000
	MaxFigure  = 1 << 53
)

// Errors of Chart.HTML.
var (
	ErrNoBuckets = errors.New("chart: there are no buckets")
	ErrTooMany   = fmt.Errorf("chart: more than %d buckets", MaxBuckets)
	ErrUneven    = errors.New("chart: the buckets do not follow each other, or do not begin on the hour (UTC) or day")
	ErrTooLarge  = errors.New("chart: a figure is over 2^53")
)

// An Interval is how long a bucket is.
type Interval int

const (
	Hour Interval = iota
	Day
)

// duration is that of a usual bucket.
func (i Interval) duration() time.Duration {
	if i == Day {
		return 24 * time.Hour
	}
	return time.Hour
}

func (i Interval) String() string {
	if i == Day {
		return "day"
	}
	return "hour"
}

// A Bucket has the figures of an hour or a day.
type Bucket struct {
	From         time.Time
	Hits, Unique uint64
}

// A Chart draws hits and visitors over time.
type Chart struct {
	ID       string // of the figure, unique in its page; its parts have ids that begin with it
	Caption  string // what the chart shows
	Interval Interval
	Zone     *time.Location // of days, and of hours as they are written; nil: UTC, and the script writes hours in its own
	Now      time.Time      // a bucket that has not ended by then is drawn as open; zero: none is
	Height   int            // of the drawing, in pixels; 0: 224; at least 120
	Buckets  []Bucket       // each begins where the one before it ends
	HitsOnly bool           // visitors are not known

	// Day returns the address of the figures of a date; nil: they have none. Of at most maxLinked days.
	Day func(date string) string
}

// HTML returns the chart as a <figure>. Texts are escaped. On an error it returns nothing.
func (c Chart) HTML() (template.HTML, error) {
	if err := c.check(); err != nil {
		return "", err
	}
	if c.Height == 0 {
		c.Height = 224
	}
	c.Height = max(c.Height, 120)
	b := new(strings.Builder)
	peak := c.peak()
	from := c.local(c.Buckets[0].From) // the script counts days as those of UTC
	if c.Interval == Hour {
		from = c.Buckets[0].From
	}
	fmt.Fprintf(b, `<figure class="chart-box" id="%s" data-from="%d" data-step="%d"`, escape(c.ID), from.Unix(), int(c.Interval.duration().Seconds()))
	if c.Interval == Hour && c.Zone != nil {
		fmt.Fprintf(b, ` data-zone="%s"`, escape(c.zone()))
	}
	if c.Buckets[peak].Hits > 0 {
		fmt.Fprintf(b, ` data-peak="%d"`, peak)
	}
	if c.hasOpen() {
		b.WriteString(` data-open`)
	}
	b.WriteString(">")
	c.writeCaption(b)
	c.writeDrawing(b)
	c.writeReadout(b, peak)
	c.writeTable(b)
	b.WriteString("</figure>")
	return template.HTML(b.String()), nil
}

func (c Chart) check() error {
	switch {
	case len(c.Buckets) == 0:
		return ErrNoBuckets
	case len(c.Buckets) > MaxBuckets:
		return fmt.Errorf("%w: %d", ErrTooMany, len(c.Buckets))
	}
	for i, bucket := range c.Buckets {
		if !c.begins(bucket.From) || i > 0 && !bucket.From.Equal(c.end(i-1)) {
			return ErrUneven
		}
		if max(bucket.Hits, bucket.Unique) > MaxFigure {
			return ErrTooLarge
		}
	}
	return nil
}

// local returns a time as labels show it, as if it were one of UTC: an hour, or the beginning of the date, which need
// not be midnight in its zone.
func (c Chart) local(t time.Time) time.Time {
	if c.Zone == nil {
		return t.UTC()
	}
	t = t.In(c.Zone)
	hour := t.Hour()
	if c.Interval == Day {
		hour = 0
	}
	return time.Date(t.Year(), t.Month(), t.Day(), hour, 0, 0, 0, time.UTC)
}

// begins reports whether an hour or a day begins at t.
func (c Chart) begins(t time.Time) bool {
	if c.Interval == Hour {
		return t.Equal(t.Truncate(time.Hour))
	}
	return c.local(t).YearDay() != c.local(t.Add(-time.Nanosecond)).YearDay()
}

// end returns the end of a bucket: a day has 23 to 25 hours.
func (c Chart) end(i int) time.Time {
	from := c.Buckets[i].From
	if c.Interval == Hour {
		return from.Add(time.Hour)
	}
	for end := from.Add(23 * time.Hour); ; end = end.Add(time.Hour) {
		if c.begins(end) || end.Sub(from) > 25*time.Hour {
			return end
		}
	}
}

// peak returns the first bucket with the most hits.
func (c Chart) peak() int {
	highest := slices.MaxFunc(c.Buckets, func(a, b Bucket) int { return cmp.Compare(a.Hits, b.Hits) }).Hits
	return slices.IndexFunc(c.Buckets, func(b Bucket) bool { return b.Hits == highest })
}

// most returns the largest figure.
func (c Chart) most() (most uint64) {
	for _, bucket := range c.Buckets {
		most = max(most, bucket.Hits, bucket.Unique)
	}
	return most
}

// open reports whether a bucket has begun and not ended.
func (c Chart) open(i int) bool {
	from := c.Buckets[i].From
	return !c.Now.IsZero() && !from.After(c.Now) && c.end(i).After(c.Now)
}

// hasOpen reports whether the last bucket is open.
func (c Chart) hasOpen() bool { return c.open(len(c.Buckets) - 1) }

// name returns the time of a bucket.
func (c Chart) name(i int) string {
	if c.Interval == Day {
		return c.local(c.Buckets[i].From).Format("2006-01-02")
	}
	return c.local(c.Buckets[i].From).Format("2006-01-02 15:04")
}

// maxLinked is how many days lead to their figures: of 400, the addresses would take 2.5 KB compressed, as much as the
// table without them.
const maxLinked = 100

// linkedName returns the time of a bucket, which leads to its figures if they have an address.
func (c Chart) linkedName(i int) string {
	name := c.name(i)
	if c.Day == nil || c.Interval != Day || len(c.Buckets) > maxLinked {
		return name
	}
	return `<a href="` + escape(c.Day(name)) + `">` + name + "</a>"
}

// zone names the zone of what name returns.
func (c Chart) zone() string {
	if c.Zone == nil {
		return "UTC"
	}
	return c.Zone.String()
}

func (c Chart) writeCaption(b *strings.Builder) {
	fmt.Fprintf(b, `<figcaption><span><span id="%s-caption">%s</span> <span class="chart-zone">(%s)</span></span>`, escape(c.ID), escape(c.Caption), escape(c.zone()))
	b.WriteString(`<span class="legend"><span class="key hits">Hits</span>`)
	if !c.HitsOnly {
		b.WriteString(` <span class="key visitors">Visitors</span>`)
	}
	if c.hasOpen() && c.most() > 0 {
		fmt.Fprintf(b, ` <span class="key hits open">This %s, so far</span>`, c.Interval)
	}
	b.WriteString("</span></figcaption>")
}

// writeReadout writes the line in which the script says what is pointed at.
func (c Chart) writeReadout(b *strings.Builder, peak int) {
	if p := c.Buckets[peak]; p.Hits > 0 {
		figures := counted(p.Hits, "hit")
		if !c.HitsOnly {
			figures += ", " + counted(p.Unique, "visitor")
		}
		fmt.Fprintf(b, `<p class="chart-readout" role="status">%s: %s (most hits)</p>`, c.name(peak), figures)
		return
	}
	b.WriteString(`<p class="chart-readout" role="status">No hits in this time</p>`)
}

func counted(n uint64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return Grouped(n) + " " + noun
}

// writeTable leaves out the tags that HTML does not need: they are most of a long table.
func (c Chart) writeTable(b *strings.Builder) {
	unit := "Day"
	if c.Interval == Hour {
		unit = "Hour"
	}
	fmt.Fprintf(b, `<details><summary>Figures as a table</summary>`+
		`<div class="scroll" tabindex="0" role="region" aria-labelledby="%s-table"><table><caption id="%[1]s-table">%s <span class="chart-zone">(%s)</span></caption>`+
		"<thead><tr><th scope=col>%s<th scope=col>Hits", escape(c.ID), escape(c.Caption), escape(c.zone()), unit)
	if !c.HitsOnly {
		b.WriteString("<th scope=col>Visitors")
	}
	b.WriteString("<tbody>")
	for i, bucket := range c.Buckets {
		fmt.Fprintf(b, "\n<tr><th scope=row>%s", c.linkedName(i))
		if c.open(i) {
			b.WriteString(" (so far)")
		}
		fmt.Fprintf(b, "<td>%s", Grouped(bucket.Hits))
		if !c.HitsOnly {
			fmt.Fprintf(b, "<td>%s", Grouped(bucket.Unique))
		}
	}
	b.WriteString("</table></div></details>")
}

// escape makes text safe within elements and quoted attributes.
func escape(text string) string {
	return template.HTMLEscapeString(strings.ToValidUTF8(text, "\uFFFD"))
}
