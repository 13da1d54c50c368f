package chart

import "time"

// yAxis has a tick at 0, step, 2*step and so on to ticks*step, which no value exceeds.
type yAxis struct {
	step  uint64
	ticks int // from 2 to 4, without the one at 0
}

// axisFor returns the axis with the smallest step of 1, 2 or 5 times a power of ten that reaches
// limit in 4 steps. The next smaller one is at least 0.4 times as large and does not reach, so 2
// steps or more are needed, except for a limit of 1.
func axisFor(limit uint64) yAxis {
	for power := uint64(1); ; power *= 10 {
		for _, factor := range []uint64{1, 2, 5} {
			if step := factor * power; limit <= 4*step {
				return yAxis{step, max(2, int((limit+step-1)/step))}
			}
		}
	}
}

func (a yAxis) top() uint64 { return a.step * uint64(a.ticks) }

// Sizes of texts, in pixels of the drawing.
const (
	charWidth    = 7.4 // of the widest common fonts at 12 px
	labelGap     = 10  // least room between two labels
	hourChars    = 6   // what the script may make of an hour: 11:00, 11 PM
	narrowPixels = 240 // the narrowest drawing: a screen of 360 px, without the y axis and margins
	widePixels   = 560 // the narrowest drawing for which the style shows the dense labels
	roomLeft     = 30  // how far labels may reach out of the drawing, into the margin of the y axis
	roomRight    = 10  // and into that of the page
)

// A label stands below the x axis. context is what is said once for several labels: the day of
// hours, the year of days.
type label struct {
	bucket        int
	center        float64 // from 0 to 1, of the width of the drawing
	text, context string
	chars         int // room for that many characters is kept
}

// An xStep is a distance of labels.
type xStep struct {
	at            func(time.Time) bool // whether the bucket that begins then has a label
	text, context string               // formats of time
}

const (
	hourFormat  = "15:04"
	dayFormat   = "2 Jan"
	monthFormat = "Jan"
	yearFormat  = "2006"
)

func everyHours(n int) xStep {
	return xStep{func(t time.Time) bool { return t.Hour()%n == 0 }, hourFormat, dayFormat}
}

// everyDays counts from a Monday, so that seven days are weeks.
func everyDays(n int64) xStep {
	const monday = 4 // 5 January 1970
	return xStep{func(t time.Time) bool {
		return t.Hour() == 0 && (t.Unix()/86400-monday)%n == 0
	}, dayFormat, yearFormat}
}

func everyMonths(n int) xStep {
	return xStep{func(t time.Time) bool {
		return t.Hour() == 0 && t.Day() == 1 && (int(t.Month())-1)%n == 0
	}, monthFormat, yearFormat}
}

func everyYears(n int) xStep {
	return xStep{func(t time.Time) bool {
		return t.Hour() == 0 && t.YearDay() == 1 && t.Year()%n == 0
	}, yearFormat, ""}
}

// xSteps are from close to far.
var xSteps = []xStep{
	everyHours(1), everyHours(2), everyHours(3), everyHours(4), everyHours(6), everyHours(12),
	everyDays(1), everyDays(2), everyDays(7), everyDays(14),
	everyMonths(1), everyMonths(2), everyMonths(3), everyMonths(6),
	everyYears(1), everyYears(2), everyYears(5), everyYears(10),
}

// xLabels returns as many labels as find room in a drawing of this width, evenly spaced in time.
// Those at its ends that would reach out of it are left out.
func (c Chart) xLabels(width float64) []label {
	for _, step := range xSteps {
		if step.text == hourFormat && c.Interval == Day {
			continue
		}
		if labels := c.labelsAt(step, width); len(labels) > 0 && roomy(labels, width) {
			return labels
		}
	}
	return c.firstLabel()
}

// firstLabel is for charts in which no even spacing has a label that fits.
func (c Chart) firstLabel() []label {
	step := everyHours(1)
	if c.Interval == Day {
		step = everyDays(1)
	}
	return []label{c.labelOf(0, step)}
}

func (c Chart) labelsAt(step xStep, width float64) (labels []label) {
	context := ""
	for i := range c.Buckets {
		if !step.at(c.local(c.Buckets[i].From)) {
			continue
		}
		l := c.labelOf(i, step)
		if l.anchor(width) != "middle" {
			continue
		}
		if l.context == context {
			l.context = ""
			l.chars = l.room(step)
		} else {
			context = l.context
		}
		labels = append(labels, l)
	}
	return labels
}

// labelOf returns the label of a bucket, with its context.
func (c Chart) labelOf(bucket int, step xStep) label {
	t := c.local(c.Buckets[bucket].From)
	l := label{
		bucket: bucket, center: (float64(bucket) + 0.5) / float64(len(c.Buckets)),
		text: t.Format(step.text), context: t.Format(step.context),
	}
	l.chars = l.room(step)
	return l
}

func (l label) room(step xStep) int {
	chars := max(len(l.text), len(l.context))
	if step.text == hourFormat {
		chars = max(chars, hourChars)
	}
	return chars
}

// roomy reports whether no two labels touch in a drawing of this width.
func roomy(labels []label, width float64) bool {
	end := -width // of the label before
	for _, l := range labels {
		from, to := l.extent(width)
		if from < end {
			return false
		}
		end = to + labelGap
	}
	return true
}

// extent returns where the label begins and ends, in pixels of a drawing of this width.
func (l label) extent(width float64) (from, to float64) {
	size := charWidth * float64(l.chars)
	switch at := l.center * width; l.anchor(width) {
	case "start":
		return at, at + size
	case "end":
		return at - size, at
	default:
		return at - size/2, at + size/2
	}
}

// anchor returns the text-anchor with which the whole label is inside a drawing of this width: the
// label is centred below its bucket, or begins or ends there.
func (l label) anchor(width float64) string {
	half := charWidth * float64(l.chars) / 2
	switch {
	case l.center*width+roomLeft < half:
		return "start"
	case (1-l.center)*width+roomRight < half:
		return "end"
	default:
		return "middle"
	}
}
