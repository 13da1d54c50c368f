package glance

import (
	"html/template"
	"slices"
	"strconv"
)

// The drawing of a line, in units of its viewBox. Its middle is where a line without a slope is sharp.
const (
	lineHeight = 16
	lineStep   = 4 // from a value to the next
	lineTop    = 1 // room for half of the stroke, and as much below
)

// Line draws values as a line, each line on a scale of its own from zero up. Values that are all zero have none.
func Line(values []uint64) template.HTML {
	if len(values) < 2 || slices.Max(values) == 0 {
		return ""
	}
	most := slices.Max(values)
	y := func(v uint64) int {
		return lineHeight - lineTop - int(float64(v)/float64(most)*(lineHeight-2*lineTop)+.5)
	}
	d := []byte("M0 ")
	d = strconv.AppendInt(d, int64(y(values[0])), 10)
	for i := 1; i < len(values); {
		run := i
		for run < len(values) && y(values[run]) == y(values[i-1]) {
			run++
		}
		if run > i {
			d = strconv.AppendInt(append(d, 'h'), int64(lineStep*(run-i)), 10)
			i = run
			continue
		}
		d = strconv.AppendInt(append(d, 'l'), lineStep, 10)
		by := y(values[i]) - y(values[i-1])
		if by > 0 {
			d = append(d, ' ')
		}
		d = strconv.AppendInt(d, int64(by), 10)
		i++
	}
	width := strconv.Itoa(lineStep * (len(values) - 1))
	return template.HTML(`<svg class="spark" viewBox="0 0 ` + width + ` ` + strconv.Itoa(lineHeight) + `" aria-hidden="true"><path d="` + string(d) + `"/></svg>`)
}
