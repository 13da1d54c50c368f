package chart

import (
	"fmt"
	"html/template"
	"strings"
)

// maxPoints is how many points a sparkline has; more values are added up.
const maxPoints = 60

// Sparkline returns the course of values as a small drawing without text. It says nothing to screen
// readers: the sum should stand beside it.
func Sparkline(values []uint64) template.HTML {
	values = addedUp(values)
	top := uint64(1)
	for _, v := range values {
		top = max(top, v)
	}
	heights := make([]int, len(values))
	for i, v := range values {
		heights[i] = barHeight(v, top)
	}
	b := new(strings.Builder)
	fmt.Fprintf(b, `<svg class="chart spark" width="96" height="24" viewBox="0 0 %d %d" preserveAspectRatio="none" aria-hidden="true">`,
		max(1, len(values)), unitHeight)
	writePath(b, "bar hits", outline(heights, 0))
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

// addedUp returns at most maxPoints values, each the sum of as many neighbours; the first may have
// fewer.
func addedUp(values []uint64) []uint64 {
	size := (len(values) + maxPoints - 1) / maxPoints
	if size <= 1 {
		return values
	}
	var sums []uint64
	for end := len(values); end > 0; end -= size {
		sum := uint64(0)
		for _, v := range values[max(0, end-size):end] {
			sum += min(v, MaxFigure)
		}
		sums = append([]uint64{sum}, sums...)
	}
	return sums
}

// A Row is a line of a breakdown.
type Row struct {
	Label string
	Value uint64
	Rest  bool // everything that has no row of its own
}

// Bars returns a breakdown as a list in which each row has its label, its value and its share of
// total, which is also drawn. Labels are escaped, and isolated from the direction of the text
// around them.
func Bars(rows []Row, total uint64) template.HTML {
	b := new(strings.Builder)
	b.WriteString(`<ol class="bars">`)
	for _, r := range rows {
		item := "<li>"
		if r.Rest {
			item = `<li class="rest">`
		}
		fmt.Fprintf(b, item+`<bdi class="label">%s</bdi> <span class="num">%s</span> <span class="share">%s</span>`+
			`<svg class="bar" aria-hidden="true"><rect width="%s%%" height="100%%"/></svg>`, escape(r.Label), Grouped(r.Value), Share(r.Value, total), decimal(percentOf(r.Value, total)))
	}
	b.WriteString("</ol>")
	return template.HTML(b.String())
}
