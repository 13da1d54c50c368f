package engine_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
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
	reports, err := f.e.OwnerReports(context.Background(), []uint32{1}, engine.Subset{Tag: "t"}, f.tagWindows())
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
	_, err := f.e.OwnerReports(context.Background(), []uint32{1}, engine.Subset{Tag: "t"}, windows)
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
	reports, err := f.e.OwnerReports(context.Background(), []uint32{1}, engine.Subset{Tag: "t"}, []engine.Query{q})
	expect.OK(t, err)
	top := func() (found engine.TopLinks, reads int64) {
		before := f.reads.reads.Load()
		found, err := f.e.TopLinks(context.Background(), []uint32{1}, engine.Subset{Tag: "t"}, engine.Query{From: q.From, Ranking: q.Ranking}, 5)
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

// TestFiguresOfAFolderAreThoseOfItsLinks has more links of several owners in a folder than are read at a time.
func TestFiguresOfAFolderAreThoseOfItsLinks(t *testing.T) {
	engine.LimitScans(t, 12)
	f := newTopLinks(t, 60)
	for range 5 {
		f.day()
	}
	f.hitFrom(0)
	f.hitFrom(40)
	ctx, windows := context.Background(), f.tagWindows()
	windows[0].Rank = true
	reports, err := f.e.OwnerReports(ctx, nil, engine.Subset{Folder: shared}, windows)
	expect.OK(t, err)
	for i := range reports {
		f.compare(t, "the folder", &reports[i], inFolder)
	}
	want := f.wantTopOf(windows[0].From, 5, func(_ int, l figuredLink) bool { return inFolder(l, 0) })
	for _, ranking := range []*engine.Ranking{nil, reports[0].Ranking} {
		top, err := f.e.TopLinks(ctx, nil, engine.Subset{Folder: shared}, engine.Query{From: windows[0].From, Ranking: ranking}, 5)
		expect.OK(t, err)
		expect.That(t, top.Beyond == 0 && slices.Equal(top.Links, want), "got %+v, want %+v", top, want)
	}
	for name, of := range map[string]engine.Subset{
		"a folder without links": {Folder: shared + 1},
		"none of its domains":    {Folder: shared, In: func(engine.Domain) bool { return false }},
	} {
		reports, err := f.e.OwnerReports(ctx, []uint32{1}, of, windows[:1])
		expect.OK(t, err)
		expect.Equal(t, reports[0].Hits, 0, "%s", name)
		top, err := f.e.TopLinks(ctx, []uint32{1}, of, engine.Query{From: windows[0].From}, 5)
		expect.OK(t, err)
		expect.Equal(t, len(top.Links), 0, "%s", name)
	}
	r, err := f.e.OwnerReport(ctx, nil, engine.Subset{Folder: shared, In: func(d engine.Domain) bool { return d == engine.DefaultDomain }}, windows[0])
	expect.OK(t, err)
	f.compare(t, "the folder in its domain", &r, inFolder)

	// A link that leaves the folder takes its figures along, and so does one that is deleted.
	code := want[0].Code
	_, err = f.e.Give(ctx, keyOf(code), engine.Guard{AnyOwner: true}, 0, func(rec *engine.Record) error { rec.Cold.Folder = 0; return nil })
	expect.OK(t, err)
	expect.OK(t, f.e.Delete(ctx, want[1].Key, engine.Guard{AnyOwner: true}))
	for i := range f.links {
		f.links[i].deleted = f.links[i].deleted || f.links[i].code == want[1].Code
	}
	r, err = f.e.OwnerReport(ctx, nil, engine.Subset{Folder: shared}, windows[0])
	expect.OK(t, err)
	f.compare(t, "the folder with two links fewer", &r, func(l figuredLink, owner uint32) bool { return l.code != code && inFolder(l, owner) })
}
