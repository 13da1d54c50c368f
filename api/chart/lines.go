package chart

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
)

// MaxLines is how many lines the style can tell apart.
const MaxLines = 5

// A Line is the hits of one link in the buckets of a Lines.
type Line struct {
	Name string
	Hits []uint64
}

// Lines draws the hits of several links over time. The figures of Buckets are not used.
type Lines struct {
	Chart
	Of []Line // at most MaxLines, each with the hits of every bucket
}

// HTML returns the chart as a <figure>. Texts are escaped. On an error it returns nothing.
func (l Lines) HTML() (template.HTML, error) {
	c := l.Chart
	c.Buckets = l.highest()
	if err := c.check(); err != nil {
		return "", err
	}
	if c.Height == 0 {
		c.Height = 224
	}
	c.Height = max(c.Height, 120)
	b := new(strings.Builder)
	fmt.Fprintf(b, `<figure class="chart-box" id="%s"><figcaption><span><span id="%[1]s-caption">%s</span> <span class="chart-zone">(%s)</span></span><span class="legend">`,
		escape(c.ID), escape(c.Caption), escape(c.zone()))
	for i, line := range l.Of {
		fmt.Fprintf(b, `<span>%s %s</span> `, Sample(i), escape(line.Name))
	}
	b.WriteString("</span></figcaption>")
	fmt.Fprintf(b, `<svg class="chart" width="100%%" height="%d" role="img" aria-labelledby="%s-caption">`, c.Height, escape(c.ID))
	if axis := axisFor(c.most()); c.most() > 0 {
		c.writeGrid(b, axis)
		l.write(b, c, axis)
	} else {
		c.writeEmpty(b)
	}
	c.writeLabels(b, "axis dense", widePixels)
	c.writeLabels(b, "axis sparse", narrowPixels)
	b.WriteString("</svg>")
	l.writeTable(b, c)
	b.WriteString("</figure>")
	return template.HTML(b.String()), nil
}

// Sample returns a piece of the line with that index, for legends.
func Sample(line int) template.HTML {
	return template.HTML(`<svg class="sample" width="28" height="8" aria-hidden="true"><line class="line line-` + strconv.Itoa(line+1) + `" x2="28" y1="4" y2="4"/></svg>`)
}

// highest returns the buckets with the most hits of a line in each.
func (l Lines) highest() []Bucket {
	buckets := make([]Bucket, len(l.Buckets))
	for i := range buckets {
		buckets[i].From = l.Buckets[i].From
		for _, line := range l.Of {
			buckets[i].Hits = max(buckets[i].Hits, line.Hits[i])
		}
	}
	return buckets
}

func (l Lines) write(b *strings.Builder, c Chart, axis yAxis) {
	fmt.Fprintf(b, `<svg y="%d" width="100%%" height="%d" viewBox="0 0 %d %d" preserveAspectRatio="none">`,
		roomAbove, c.plotHeight(), len(c.Buckets), unitHeight)
	for n, line := range l.Of {
		var path strings.Builder
		for i, hits := range line.Hits {
			at := strconv.Itoa(unitHeight - barHeight(hits, axis.top()))
			switch {
			case len(line.Hits) == 1: // a point would not be seen
				path.WriteString("M.3 " + at + "H.7")
			case i == 0:
				path.WriteString("M.5 " + at)
			default:
				path.WriteString("L" + strconv.Itoa(i) + ".5 " + at)
			}
		}
		fmt.Fprintf(b, `<path class="line line-%d" d="%s"/>`, n+1, path.String())
	}
	b.WriteString("</svg>")
}

// writeTable leaves out tags as that of a Chart does.
func (l Lines) writeTable(b *strings.Builder, c Chart) {
	unit := "Day"
	if c.Interval == Hour {
		unit = "Hour"
	}
	fmt.Fprintf(b, `<details><summary>Figures as a table</summary><div class="scroll" tabindex="0" role="region" aria-labelledby="%s-table">`+
		`<table><caption id="%[1]s-table">%s <span class="chart-zone">(%s)</span></caption><thead><tr><th scope=col>%s`,
		escape(c.ID), escape(c.Caption), escape(c.zone()), unit)
	for _, line := range l.Of {
		b.WriteString("<th scope=col>" + escape(line.Name))
	}
	b.WriteString("<tbody>")
	for i := range c.Buckets {
		b.WriteString("\n<tr><th scope=row>" + c.name(i))
		if c.open(i) {
			b.WriteString(" (so far)")
		}
		for _, line := range l.Of {
			b.WriteString("<td>" + Grouped(line.Hits[i]))
		}
	}
	b.WriteString("</table></div></details>")
}
