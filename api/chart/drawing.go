package chart

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Heights in the drawing, in pixels: room above the plot for half of a number, and below it for two
// lines of labels.
const (
	roomAbove  = 10
	roomBelow  = 42
	firstLine  = 19 // baselines, from the plot's bottom
	secondLine = 35
	unitHeight = 1000 // of the inner drawing
	leastBar   = 8    // units: what is not nothing can be seen
)

func (c Chart) plotHeight() int { return c.Height - roomAbove - roomBelow }

func (c Chart) writeDrawing(b *strings.Builder) {
	axis := axisFor(c.most())
	fmt.Fprintf(b, `<svg class="chart" width="100%%" height="%d" role="img" aria-labelledby="%s-caption">`, c.Height, escape(c.ID))
	if c.most() > 0 {
		c.writeGrid(b, axis)
		c.writeBars(b, axis)
	} else {
		c.writeEmpty(b)
	}
	c.writeLabels(b, "axis dense", widePixels)
	c.writeLabels(b, "axis sparse", narrowPixels)
	b.WriteString("</svg>")
}

// writeGrid writes a line and a number for each tick. The numbers stand left of the drawing, in the
// margin that the style gives it.
func (c Chart) writeGrid(b *strings.Builder, axis yAxis) {
	b.WriteString(`<g class="grid">`)
	for i := range axis.ticks + 1 {
		y := roomAbove + c.plotHeight()*(axis.ticks-i)/axis.ticks
		fmt.Fprintf(b, `<line x2="100%%" y1="%d.5" y2="%d.5"/><text x="-8" y="%d">%s</text>`, y, y, y+4, Short(axis.step*uint64(i)))
	}
	b.WriteString("</g>")
}

func (c Chart) writeEmpty(b *strings.Builder) {
	bottom := roomAbove + c.plotHeight()
	fmt.Fprintf(b, `<g class="grid"><line x2="100%%" y1="%d.5" y2="%d.5"/></g><text class="chart-empty" x="50%%" y="%d">No hits in this time</text>`,
		bottom, bottom, bottom-c.plotHeight()/2)
}

func (c Chart) writeBars(b *strings.Builder, axis yAxis) {
	fmt.Fprintf(b, `<svg y="%d" width="100%%" height="%d" viewBox="0 0 %d %d" preserveAspectRatio="none">`,
		roomAbove, c.plotHeight(), len(c.Buckets), unitHeight)
	for _, series := range []struct {
		class  string
		open   string // added to the class for the bucket that has not ended: only its hits are marked
		figure func(Bucket) uint64
		part   float64 // of a bar's width
	}{
		{"bar hits", " open", func(b Bucket) uint64 { return b.Hits }, 1},
		{"bar visitors", "", func(b Bucket) uint64 { return b.Unique }, 0.5},
	} {
		heights := make([]int, len(c.Buckets))
		for i, bucket := range c.Buckets {
			heights[i] = barHeight(series.figure(bucket), axis.top())
		}
		closed := len(heights)
		if c.hasOpen() && series.open != "" {
			closed--
		}
		writePath(b, series.class, bars(heights[:closed], 0, len(heights), series.part))
		writePath(b, series.class+series.open, bars(heights[closed:], closed, len(heights), series.part))
	}
	b.WriteString("</svg>")
}

func writePath(b *strings.Builder, class, path string) {
	if path != "" {
		fmt.Fprintf(b, `<path class="%s" d="%s"/>`, class, path)
	}
}

// barHeight returns the height of a figure, in units.
func barHeight(figure, top uint64) int {
	if figure == 0 {
		return 0
	}
	return max(leastBar, int(math.Round(unitHeight*float64(figure)/float64(top))))
}

// joined is how many bars are drawn as one shape: gaps between more would be less than a pixel on a
// phone.
const joined = 90

// bars returns a path of bars for the buckets from first on, of all.
func bars(heights []int, first, all int, part float64) string {
	if all > joined {
		return outline(heights, first)
	}
	width := min(0.78, 0.06*float64(all)) * part // few buckets have slim bars
	side := decimal(width)
	var path strings.Builder
	for i, height := range heights {
		if height > 0 {
			left := float64(first+i) + (1-width)/2
			fmt.Fprintf(&path, "M%s 1000v-%dh%sv%dz", decimal(left), height, side, height)
		}
	}
	return path.String()
}

// outline returns a path along the tops of the bars, "" if there are none.
func outline(heights []int, first int) string {
	if !slices.ContainsFunc(heights, func(height int) bool { return height > 0 }) {
		return ""
	}
	var path strings.Builder
	at, run := 0, 0
	for i, height := range heights {
		if i == 0 {
			path.WriteString("M" + strconv.Itoa(first) + " 1000")
		}
		if height != at {
			writeRun(&path, run)
			fmt.Fprintf(&path, "V%d", unitHeight-height)
			at, run = height, 0
		}
		run++
	}
	writeRun(&path, run)
	path.WriteString("V1000z")
	return path.String()
}

func writeRun(path *strings.Builder, run int) {
	if run > 0 {
		fmt.Fprintf(path, "h%d", run)
	}
}

// writeLabels writes the labels for drawings of at least width pixels. Those of hours name their
// bucket for the script, which puts the visitor's time in unless the chart has a zone.
func (c Chart) writeLabels(b *strings.Builder, class string, width float64) {
	first := roomAbove + c.plotHeight() + firstLine
	second := roomAbove + c.plotHeight() + secondLine
	fmt.Fprintf(b, `<g class="%s">`, class)
	for _, l := range c.xLabels(width) {
		at := decimal(100*l.center) + "%"
		fmt.Fprintf(b, `<text x="%s" y="%d"%s`, at, first, anchorAttribute(l.anchor(width)))
		if c.Interval == Hour {
			fmt.Fprintf(b, ` data-bucket="%d"`, l.bucket)
		}
		fmt.Fprintf(b, `>%s`, l.text)
		if l.context != "" {
			fmt.Fprintf(b, `<tspan x="%s" y="%d">%s</tspan>`, at, second, l.context)
		}
		b.WriteString("</text>")
	}
	b.WriteString("</g>")
}

// anchorAttribute leaves out what the style says.
func anchorAttribute(anchor string) string {
	if anchor == "middle" {
		return ""
	}
	return ` text-anchor="` + anchor + `"`
}
