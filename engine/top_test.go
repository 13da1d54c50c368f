package engine_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
)

// topLinks are links of two owners whose hits are known.
type topLinks struct {
	*figures
	rng *rand.Rand
}

// newTopLinks makes links of owner 1 and a few of owner 2, so that a scan of owner 1 is too long.
func newTopLinks(t *testing.T, links int) *topLinks {
	f := &topLinks{figures: newFigures(t), rng: rand.New(rand.NewPCG(1, 2))}
	t.Cleanup(f.close)
	for i := range links {
		f.addLink(fmt.Sprintf("top%d", i), 1+uint32(i%7/6), "t")
	}
	return f
}

// day hits links and lets a day pass.
func (f *topLinks) day() {
	f.hitFrom(3)
	f.now = f.now.Add(24 * time.Hour)
	f.closeHours()
}

// hitFrom hits links whose number is first or later, lower numbers more often.
func (f *topLinks) hitFrom(first int) {
	for i := first; i < len(f.links); i++ {
		for range 40 / (i - first + 1) {
			f.hit(i, engine.ClassHit, f.rng.Uint64N(1000))
		}
	}
}

// wantTop returns the n most-hit links of owner 1 since a time, by the model, of those that pass.
func (f *topLinks) wantTop(from time.Time, n int, pass func(link int) bool) (want []engine.LinkHits) {
	return f.wantTopOf(from, n, func(i int, l figuredLink) bool { return l.owner == 1 && pass(i) })
}

// wantTopOf is wantTop for links of whatever owners.
func (f *topLinks) wantTopOf(from time.Time, n int, pass func(i int, l figuredLink) bool) (want []engine.LinkHits) {
	for i, l := range f.links {
		in := f.want(func(x figuredLink, _ uint32) bool { return x == l && !x.deleted }, from, f.now.Add(time.Hour))
		if in.hits > 0 && pass(i, l) {
			want = append(want, engine.LinkHits{Key: keyOf(l.code), Hits: in.hits, Unique: uint64(len(in.visitors))})
		}
	}
	slices.SortFunc(want, func(a, b engine.LinkHits) int {
		return cmp.Or(cmp.Compare(b.Hits, a.Hits), cmp.Compare(a.Code, b.Code))
	})
	return want[:min(n, len(want))]
}

func (f *topLinks) top(from time.Time, n int) engine.TopLinks {
	top, err := f.e.TopLinks(context.Background(), []uint32{1}, engine.Subset{}, engine.Query{From: from}, n)
	expect.OK(f.t, err)
	return top
}

func anyLink(int) bool { return true }

func TestTheMostHitLinksOfManyAreExact(t *testing.T) {
	engine.LimitScans(t, 12)
	f := newTopLinks(t, 60)
	for range 4 {
		f.day()
	}
	for _, days := range []int{1, 3, 10} {
		from := f.now.AddDate(0, 0, -days).Truncate(24 * time.Hour)
		got, want := f.top(from, 3), f.wantTop(from, 3, anyLink)
		expect.That(t, got.Beyond == 0 && slices.Equal(got.Links, want), "%d days: got %+v, want %v", days, got, want)
	}
}

// TestATopListIsRightAlsoWhenTrafficMoves was wrong as long as only the links with the most hits of all time were
// looked at.
func TestATopListIsRightAlsoWhenTrafficMoves(t *testing.T) {
	engine.LimitScans(t, 12)
	f := newTopLinks(t, 60)
	for range 20 {
		f.day()
	}
	f.hitFrom(3)
	f.hitFrom(40) // links that had few before
	from := f.now.Truncate(24 * time.Hour)
	for _, tag := range []string{"", "t"} {
		got, err := f.e.TopLinks(context.Background(), []uint32{1}, engine.Subset{Tag: tag}, engine.Query{From: from}, 3)
		expect.OK(t, err)
		expect.That(t, got.Beyond == 0 && slices.Equal(got.Links, f.wantTop(from, 3, anyLink)), "tag %q: got %+v, want %+v", tag, got, f.wantTop(from, 3, anyLink))
	}
	got, err := f.e.TopLinks(context.Background(), []uint32{1}, engine.Subset{}, engine.Query{From: from, MaxLinks: 12}, 3)
	expect.OK(t, err)
	expect.That(t, got.Beyond >= f.wantTop(from, 1, anyLink)[0].Hits, "of 12: got %+v, want that another may have more", got)
	life := map[string]uint64{}
	for _, x := range f.wantTop(time.Unix(0, 0), 12, anyLink) {
		life[x.Code] = x.Hits
	}
	expect.Slices(t, got.Links, f.wantTop(from, 3, func(i int) bool { return life[f.links[i].code] > 0 }))
}

// A million old links with more hits than those of today: only those that were hit since are read.
func TestAListOfTodayReadsNoLinkThatWasNotHitSince(t *testing.T) {
	engine.LimitScans(t, 12)
	f := newTopLinks(t, 200)
	old := len(f.links) - 20
	for i := range old { // long ago, 3 hits each
		for range 3 {
			f.hit(i, engine.ClassHit, f.rng.Uint64N(1000))
		}
	}
	f.now = f.now.AddDate(0, 0, 3)
	f.closeHours()
	from := f.now.Truncate(24 * time.Hour)
	for i := old; i < old+10; i++ { // in hours that are over, one of them rolled up
		f.hit(i, engine.ClassHit, 1)
	}
	f.now = f.now.Add(2 * time.Hour)
	f.closeHours()
	f.hit(old+10, engine.ClassHit, 1)
	f.hit(old+10, engine.ClassHit, 2)
	expect.OK(t, f.e.Flush())
	f.hit(old+11, engine.ClassHit, 1) // pending
	for _, tag := range []string{"", "t"} {
		before := f.e.Metrics().LinksRead
		got, err := f.e.TopLinks(context.Background(), []uint32{1}, engine.Subset{Tag: tag}, engine.Query{From: from}, 20)
		expect.OK(t, err)
		expect.That(t, got.Beyond == 0 && slices.Equal(got.Links, f.wantTop(from, 20, anyLink)), "tag %q: got %+v, want %+v", tag, got, f.wantTop(from, 20, anyLink))
		expect.That(t, len(got.Links) >= 10, "tag %q: got %d links", tag, len(got.Links))
		// The first ranking, and those that were hit today, over the day and then over its hours.
		read := f.e.Metrics().LinksRead - before
		expect.That(t, read <= 12+12+12, "tag %q: %d links were read", tag, read)
	}
}

func TestAListSaysWhenItsLinksWereRanked(t *testing.T) {
	engine.LimitScans(t, 12)
	f := newTopLinks(t, 60)
	f.day()
	from := f.now.AddDate(0, 0, -1).Truncate(24 * time.Hour)
	expect.That(t, f.top(from, 3).Ranked.IsZero(), "a ranking for this list")
	made := f.now
	f.now = f.now.Add(time.Minute)
	expect.Equal(t, f.top(from, 3).Ranked, made, "one that was kept")
}

// While flushes fail, hits of hours that are over are in no summary.
func TestAListByVisitorsIsOfTheHourThatIsDurable(t *testing.T) {
	f := newFigures(t)
	t.Cleanup(f.close)
	asOf := func() time.Time {
		page, err := f.e.ListLinks(context.Background(), engine.LinkQuery{ListRange: engine.ListRange{Owners: engine.OneOwner(1)}, Order: engine.ByVisitors, Limit: 10})
		expect.OK(t, err)
		return time.Unix(int64(page.AsOfHour)*3600, 0)
	}
	hour := f.now.Truncate(time.Hour)
	f.hit(0, engine.ClassHit, 1)
	f.e.Fold()
	f.now = f.now.Add(3 * time.Hour)
	expect.Equal(t, asOf().UTC(), hour, "before a flush")
	expect.OK(t, f.e.Flush())
	f.closeHours()
	expect.Equal(t, asOf().UTC(), hour.Add(3*time.Hour), "after the roll-up")
}

func TestADeletedLinkIsInNoTopList(t *testing.T) {
	engine.LimitScans(t, 12)
	f := newTopLinks(t, 60)
	f.day()
	from := f.now.AddDate(0, 0, -1).Truncate(24 * time.Hour)
	first := f.top(from, 3).Links[0].Code // the ranking is kept for a minute
	expect.OK(t, f.e.Delete(context.Background(), keyOf(first), engine.Guard{AnyOwner: true}))
	i := slices.IndexFunc(f.links, func(l figuredLink) bool { return l.code == first })
	f.links[i].deleted = true
	got, want := f.top(from, 3), f.wantTop(from, 3, anyLink)
	expect.Slices(t, got.Links, want)
}

func TestTheMostHitLinksOfHoursAreExact(t *testing.T) {
	engine.LimitScans(t, 30)
	f := newTopLinks(t, 60)
	for range 3 {
		f.day()
	}
	for hour := range 30 { // other links in every hour, so days and hours differ
		for n := range 20 {
			f.hit(3+(hour*7+n*n)%25, engine.ClassHit, f.rng.Uint64N(1000))
		}
		f.now = f.now.Add(time.Hour)
		if hour%3 == 0 {
			f.closeHours()
		}
	}
	for _, hours := range []time.Duration{1, 3, 7, 23, 29} {
		from := f.now.Truncate(time.Hour).Add(-hours * time.Hour)
		got := f.top(from, 3)
		want := f.wantTop(from, 3, anyLink)
		expect.That(t, (got.Beyond != 0 || slices.Equal(got.Links, want)) && len(got.Links) == len(want), "%d hours: got %+v, want %v", hours, got, want)
		expect.That(t, hours <= 20 || got.Beyond == 0, "%d hours: the list is not certain", hours)
	}
}

func TestARankingIsMadeOnceAndThenRefreshed(t *testing.T) {
	engine.LimitScans(t, 12)
	f := newTopLinks(t, 60)
	f.day()
	from := f.now.AddDate(0, 0, -1).Truncate(24 * time.Hour)
	for range 3 {
		f.top(from, 3)
		f.now = f.now.Add(time.Minute)
	}
	expect.Equal(t, f.e.Metrics().Rankings, 1, "rankings")
	for range 500 {
		f.hit(50, engine.ClassHit, f.rng.Uint64N(1000))
	}
	f.e.Fold()
	f.e.RefreshRankings(context.Background())
	got, want := f.top(from, 3), f.wantTop(from, 3, anyLink)
	expect.Slices(t, got.Links, want, "after a refresh")
	expect.Equal(t, f.e.Metrics().Rankings, 2, "rankings")
	f.now = f.now.Add(25 * time.Hour)
	f.e.RefreshRankings(context.Background())
	expect.Equal(t, f.e.Metrics().Rankings, 2, "unused for a day: rankings")
}

func TestAQueryForFiguresPausesAndEndsWithItsPause(t *testing.T) {
	f := newTopLinks(t, 60)
	for range 5 {
		f.day()
	}
	broken := errors.New("no further turn")
	pauses := 0
	q := engine.Query{From: f.now.AddDate(0, 0, -5), Interval: engine.Daily, Pause: func() error {
		if pauses++; pauses == 3 {
			return broken
		}
		return nil
	}}
	owners := make([]uint32, 100*runtime.GOMAXPROCS(0)) // of few, each core reads a month in one step
	for i := range owners {
		owners[i] = uint32(i + 1)
	}
	for name, read := range map[string]func() error{
		"owners": func() error {
			_, err := f.e.OwnerReport(context.Background(), owners, engine.Subset{}, q)
			return err
		},
		"link": func() error { _, err := f.e.LinkReport(context.Background(), keyOf("top0"), q); return err },
		"top": func() error {
			_, err := f.e.TopLinks(context.Background(), []uint32{1}, engine.Subset{}, q, 3)
			return err
		},
	} {
		pauses = 0
		err := read()
		expect.That(t, errors.Is(err, broken) && pauses == 3, "%s: got %v after %d pauses, want the error of the third", name, err, pauses)
	}
}
