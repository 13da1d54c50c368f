package engine_test

import (
	"context"
	"testing"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
)

// tagWindows are what a page of figures asks for: days up to now, those that are over, and as many before.
func (f *topLinks) tagWindows() []engine.Query {
	day := func(n int) time.Time { return f.e.Zone().DayOf(f.now, n) }
	return []engine.Query{
		{From: day(-2), Interval: engine.Daily, Parts: allParts},
		{From: day(-2), To: day(0), Parts: allParts},
		{From: day(-4), To: day(-2), Parts: allParts},
	}
}

// readTag returns the figures of the links of owner 1 with tag t in tagWindows, which must be right.
func (f *topLinks) readTag() []engine.Report {
	f.t.Helper()
	reports, err := f.e.OwnerReports(context.Background(), []uint32{1}, "t", f.tagWindows())
	expect.OK(f.t, err)
	for i := range reports {
		f.compare(f.t, "tag t", &reports[i], func(l figuredLink, owner uint32) bool { return owner == 1 && l.tag == "t" && !l.deleted })
	}
	return reports
}

// With several windows the store is asked as often as with one: for imports, for the list, and for a view of each part
// of the links. No link is looked up as long as none was imported since.
func TestFiguresOfATagReadEachLinkOnceForAllWindows(t *testing.T) {
	engine.LimitScans(t, 12)
	f := newTopLinks(t, 60)
	for range 5 {
		f.day()
	}
	f.hitFrom(10) // these are not flushed
	f.reads = new(counting)
	f.kill()
	links := 0
	for _, l := range f.links {
		if l.owner == 1 && l.tag == "t" {
			links++
		}
	}
	before := f.reads.reads.Load()
	f.readTag()
	expect.Equal(t, f.reads.reads.Load()-before, int64(1+1+(links+11)/12), "reads of the store for %d links", links)
}

func TestFiguresOfATagSayHowManyHitsItsLinksBroughtAlong(t *testing.T) {
	f := newTopLinks(t, 20)
	for range 5 {
		f.day()
	}
	for _, r := range f.readTag() {
		expect.Equal(t, r.ImportedHits, 0)
	}
	_, _, err := f.e.Create(context.Background(), engine.Draft{
		Alias: "old", Owner: 1, Target: "https://example.com", Tags: []string{"t"}, Import: &engine.Import{CreatedAt: f.now, UpdatedAt: f.now, Hits: 7},
	})
	expect.OK(t, err)
	f.links = append(f.links, figuredLink{"old", 1, "t", false})
	f.day()
	for i, r := range f.readTag() {
		expect.Equal(t, r.ImportedHits, 7, "window %d begins before the import", i)
	}
	for range 4 {
		f.day()
	}
	for i, r := range f.readTag() {
		expect.Equal(t, r.ImportedHits, 0, "window %d begins after the import", i)
	}
}
