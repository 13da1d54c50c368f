package hit

import (
	"slices"
	"strings"
	"testing"

	"shunt/engine/expect"
	"shunt/engine/internal/cores"
	"shunt/engine/tally"
)

// readingOf returns a reading of spans, which are pairs of hours.
func readingOf(q Query, hours ...uint32) *reading {
	r := &reading{query: &q}
	for at := 0; at < len(hours); at += 2 {
		r.window.spans = append(r.window.spans, Span{hours[at], hours[at+1]})
	}
	return r
}

func TestWindowsAreCutWhereOneOfThemBeginsOrEnds(t *testing.T) {
	both := tally.Visitors | tally.Breakdowns
	days := readingOf(Query{Parts: both, Interval: Daily}, 0, 24, 24, 48, 48, 72, 72, 96)
	part, before := readingOf(Query{Parts: tally.Visitors}, 24, 96), readingOf(Query{Parts: tally.Visitors}, 120, 144)
	all := cut([]*reading{days, part, before}, nil)
	expect.MustThat(t, len(all) == 1 && !all[0].each, "got %+v", all)
	expect.Slices(t, all[0].spans, []Span{{0, 24}, {24, 48}, {48, 72}, {72, 96}, {120, 144}}, "spans")
	together := both | tally.WithNext
	expect.Slices(t, all[0].wanted, []tally.Parts{both, together, together, both, tally.Visitors}, "parts")

	days.query.Counted = func(*tally.Dimensions) uint64 { return 0 }
	all = cut([]*reading{days, part}, nil)
	expect.MustThat(t, len(all) == 1 && all[0].each, "counted: got %+v", all)
	expect.That(t, !slices.Contains(all[0].wanted, together), "counted: parts %v", all[0].wanted)
}

// Rows of days have hits that rows of hours have not, so a day of one window is not read from hours because another one
// begins in it, nor hours from a day.
func TestNoWindowIsReadFromOtherRowsBecauseOfAnotherOne(t *testing.T) {
	for name, readings := range map[string][]*reading{
		"a day is cut":              {readingOf(Query{}, 0, 48), readingOf(Query{}, 36, 48)},
		"a day of hours":            {readingOf(Query{}, 12, 60), readingOf(Query{}, 24, 48)},
		"all that is still to come": {readingOf(Query{}, 24, Endless), readingOf(Query{}, 36, Endless)},
	} {
		all := cut(readings, nil)
		expect.MustThat(t, len(all) == len(readings), "%s: %d passes", name, len(all))
		for i := range all {
			expect.Slices(t, all[i].spans, readings[i].window.spans, "%s: window %d", name, i)
		}
	}
	all := cut([]*reading{readingOf(Query{}, 24, Endless), readingOf(Query{}, 48, Endless)}, nil)
	expect.That(t, len(all) == 1, "whole days and all that is still to come: %d passes", len(all))
}

func TestPartsAreEvenAndNeverTooLarge(t *testing.T) {
	for _, most := range []int{1, 3, 32} {
		for n := range 300 {
			size := partSize(n, most)
			expect.MustThat(t, size >= 1 && size <= most, "%d things, %d at the most: parts of %d", n, most, size)
			if parts := (n + size - 1) / size; parts > cores.Usable() {
				expect.That(t, parts*most < n+2*most*cores.Usable(), "%d things, %d at the most: %d parts, more than are needed", n, most, parts)
			}
		}
	}
}

func TestAPanicOfACoreIsAnError(t *testing.T) {
	read := make(chan bool, 1)
	err := atOnce([]func() error{func() error { panic("broken") }, func() error { read <- true; return nil }})
	expect.MustThat(t, err != nil && strings.Contains(err.Error(), "broken"), "got %v", err)
	expect.That(t, <-read, "the other part was not read")
}
