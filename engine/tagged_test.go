package engine_test

import (
	"context"
	"errors"
	"reflect"
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

	broken, pauses := errors.New("no further turn"), 0
	windows := f.tagWindows()
	windows[0].Pause = func() error {
		if pauses++; pauses == 3 {
			return broken
		}
		return nil
	}
	_, err := f.e.OwnerReports(context.Background(), []uint32{1}, "t", windows)
	expect.That(t, errors.Is(err, broken) && pauses == 3, "got %v after %d pauses, want the error of the third", err, pauses)
}

// A page that has the figures of a tag ranks its links beside, and lists them no second time.
func TestLinksWithATagAreListedOnceForFiguresAndForTheMostHit(t *testing.T) {
	engine.LimitScans(t, 12)
	f := newTopLinks(t, 60)
	for range 4 {
		f.day()
	}
	f.reads = new(counting)
	f.kill()
	q := f.tagWindows()[0]
	q.Rank = true
	reports, err := f.e.OwnerReports(context.Background(), []uint32{1}, "t", []engine.Query{q})
	expect.OK(t, err)
	top := func() (found engine.TopLinks, reads int64) {
		before := f.reads.reads.Load()
		found, err := f.e.TopLinks(context.Background(), []uint32{1}, "t", engine.Query{From: q.From, Ranking: q.Ranking}, 5)
		expect.OK(t, err)
		return found, f.reads.reads.Load() - before
	}
	want, listed := top()
	q.Ranking = reports[0].Ranking
	got, reads := top()
	expect.That(t, len(got.Links) == 5 && reflect.DeepEqual(got, want), "got %+v, want %+v", got, want)
	expect.Equal(t, reads, listed-1)
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
