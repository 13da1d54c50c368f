package engine_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/engine/zone"
	"shunt/storage"
)

// exactTally is a tally without estimates.
type exactTally struct {
	hits, bots, prefetches, heads uint64
	visitors                      map[uint64]bool
	values                        [engine.NumDimensions]map[string]uint64
}

func newExactTally() *exactTally {
	t := &exactTally{visitors: make(map[uint64]bool)}
	for d := range t.values {
		t.values[d] = make(map[string]uint64)
	}
	return t
}

func (t *exactTally) add(u *exactTally) {
	t.hits, t.bots, t.prefetches, t.heads = t.hits+u.hits, t.bots+u.bots, t.prefetches+u.prefetches, t.heads+u.heads
	maps.Copy(t.visitors, u.visitors)
	for d := range t.values {
		for value, hits := range u.values[d] {
			t.values[d][value] += hits
		}
	}
}

// figures is an engine without goroutines on a store in memory, and a model of what it must report:
// an exact tally for each link and hour.
type figures struct {
	t     *testing.T
	fs    *vfs.MemFS
	dir   string
	store *storage.Store
	reads *counting // of the engine; nil: they are not counted
	e     *engine.Engine
	now   time.Time

	keptHours, keptDays int // 0: the engine's default

	days       *zone.Zone
	stopStore  func()
	stopEngine func() // stops the allocation of ids: nothing else runs

	links []figuredLink
	hours map[figuredHour]*exactTally
}

type figuredLink struct {
	code    string
	owner   uint32
	tag     string
	deleted bool
}

type figuredHour struct {
	link   int
	owner  uint32 // at that time
	hour   int64
	target uint8 // the figures of that target alone; 0: of the link
}

// figuredTargets are the numbers that hits of each link have: the first link always has several targets, the last one
// not at first.
var figuredTargets = [][]uint8{{1, 2, 9, 255}, {0}, {0, 3, 4}}

func newFigures(t *testing.T) *figures {
	return newFiguresIn(t, nil, time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC))
}

// newFiguresIn has days of a zone.
func newFiguresIn(t *testing.T, days *zone.Zone, now time.Time) *figures {
	f := &figures{t: t, fs: vfs.NewMem(), dir: inMemory(t), hours: make(map[figuredHour]*exactTally), now: now, days: days}
	f.open()
	for i, owner := range []uint32{1, 1, 2} {
		f.addLink(fmt.Sprintf("link%d", i), owner, []string{"a", "b", "a"}[i])
	}
	return f
}

// shared is the folder that all links with the tags a and t are in, whoever's they are.
const shared = 7

func inFolder(l figuredLink, _ uint32) bool { return l.tag != "b" && !l.deleted }

func (f *figures) addLink(code string, owner uint32, tag string) {
	draft := engine.Draft{Alias: code, Owner: owner, Target: "https://example.com", Tags: []string{tag}}
	if tag != "b" {
		draft.Folder = shared
	}
	_, _, err := f.e.Create(context.Background(), draft)
	expect.OK(f.t, err)
	f.links = append(f.links, figuredLink{code, owner, tag, false})
}

func (f *figures) open() {
	var err error
	f.store, err = storage.Open("data", storage.Options{Create: true, FS: f.fs})
	expect.OK(f.t, err)
	expect.OK(f.t, f.store.FixZone(f.days))
	store := f.store
	f.stopStore = start(func(ctx context.Context) { _ = store.Run(ctx) })
	f.openEngine()
}

func (f *figures) openEngine() {
	var err error
	store := engine.Store(f.store)
	if f.reads != nil {
		f.reads.Store, store = f.store, f.reads
	}
	f.e, err = engine.Open(store, engine.Options{
		JournalDir: filepath.Join(f.dir, "journal"), Rings: 2, RingRecords: 1 << 13,
		Now: func() time.Time { return f.now }, ClockSettles: -1,
		KeptHours: f.keptHours, KeptDays: f.keptDays,
	})
	expect.OK(f.t, err)
	expect.OK(f.t, f.e.Load(context.Background(), nil))
	f.stopEngine = start(f.e.RefillIDs)
}

// start runs f in a goroutine; stop ends and joins it.
func start(f func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		f(ctx)
		close(done)
	}()
	return func() {
		cancel()
		<-done
	}
}

func (f *figures) close() {
	f.stopEngine()
	err := f.e.Close()
	f.stopStore()
	expect.NoError(f.t, errors.Join(err, f.store.Close()))
}

func (f *figures) kill() {
	f.stopEngine()
	expect.OK(f.t, f.e.Abandon())
	f.openEngine()
}

// closeHours rolls up the hours that are over.
func (f *figures) closeHours() {
	expect.OK(f.t, f.e.CloseHours(context.Background()))
}

var figuredHosts = []string{"", "news.example", "a.example", "search.example"}

// hit does one redirect now.
func (f *figures) hit(link int, class engine.Class, visitor uint64) {
	l, ok := f.e.Resolve(keyOf(f.links[link].code).View())
	expect.MustThat(f.t, ok, "%s is gone", f.links[link].code)
	host, numbers := figuredHosts[visitor%4], figuredTargets[min(link, 2)]
	target := numbers[visitor%uint64(len(numbers))]
	v := engine.Visit{
		Visitor: hashed(visitor), NowMs: f.now.UnixMilli(), Kind: engine.KindOf(class, target), Values: engine.Values{
			Agent: engine.AgentOf(engine.Device(visitor%3), engine.Browser(visitor%7)), Country: engine.Country(visitor % 200),
			Referrer: f.e.Referrer([]byte(host)),
		},
	}
	expect.MustThat(f.t, f.e.Hit(l, v), "no redirect")
	l.Release()
	key := figuredHour{link: link, owner: f.links[link].owner, hour: f.now.Unix() / 3600}
	f.tally(key).hit(class, visitor, host, v)
	if key.target = target; target != 0 && class == engine.ClassHit {
		f.tally(key).hit(class, visitor, host, v)
	}
}

// tally returns the tally with a key.
func (f *figures) tally(key figuredHour) *exactTally {
	if f.hours[key] == nil {
		f.hours[key] = newExactTally()
	}
	return f.hours[key]
}

func (t *exactTally) hit(class engine.Class, visitor uint64, host string, v engine.Visit) {
	switch class {
	case engine.ClassBot:
		t.bots++
	case engine.ClassPrefetch:
		t.prefetches++
	case engine.ClassHead:
		t.heads++
	default:
		t.hits++
		t.visitors[visitor] = true
		t.values[engine.Referrers][host]++
		for d, value := range [engine.NumDimensions]byte{
			engine.Devices: byte(v.Agent.Device()), engine.Browsers: byte(v.Agent.Browser()), engine.Countries: byte(v.Country),
		} {
			if value != 0 {
				t.values[d][string([]byte{value})]++
			}
		}
	}
}

// want adds up the tallies that pass accepts, by their link and the owner at that time, in the hours from … to.
func (f *figures) want(pass func(l figuredLink, owner uint32) bool, from, to time.Time) *exactTally {
	return f.wantOf(0, pass, from, to)
}

// wantOf is want for one target of each link; 0: for the links.
func (f *figures) wantOf(target uint8, pass func(l figuredLink, owner uint32) bool, from, to time.Time) *exactTally {
	total := newExactTally()
	for key, t := range f.hours {
		hour := time.Unix(key.hour*3600, 0)
		if key.target == target && pass(f.links[key.link], key.owner) && !hour.Before(from) && hour.Before(to) {
			total.add(t)
		}
	}
	return total
}

// farBehind reports whether r is of hours that are not kept any more, because the clock is far behind: then
// they are shown as empty.
func (f *figures) farBehind(r *engine.Report) bool {
	firstHour, firstDay := f.store.Kept()
	by := time.Hour
	if len(r.Series) > 1 {
		by = r.Series[1].From.Sub(r.Series[0].From)
	} else if len(r.Series) == 1 {
		by = r.To.Sub(r.From)
	}
	return r.From.Unix()/3600 < int64(f.days.Begin(firstDay)) || r.Series != nil && by == time.Hour && r.From.Unix()/3600 < int64(firstHour)
}

// end returns the end of a report's window: of one up to now, all of today counts, also what came before the clock was
// set back, unless the window begins within today or its days are not those of the store. A window that begins before
// the hours that are kept is in days; those hours are in the future if the clock is far behind.
func (f *figures) end(r *engine.Report) time.Time {
	hours, _ := f.e.KeptSince()
	firstHour, _ := f.store.Kept()
	inDays := r.From.Before(hours) || r.From.Unix()/3600 < int64(firstHour)
	from, to := uint32(r.From.Unix()/3600), f.days.Ceil(uint32(r.To.Unix()/3600))
	inDays = inDays || r.Zone == f.days.Name() && f.days.Ceil(from) < to
	if r.Series == nil && r.To.After(f.now) && inDays {
		return time.Unix(int64(to)*3600, 0)
	}
	return r.To
}

// compare compares a report with the model.
func (f *figures) compare(rt fatal, what string, r *engine.Report, pass func(l figuredLink, owner uint32) bool) {
	f.compareOf(rt, what, 0, r, pass)
}

// compareOf is compare for one target of each link; 0: for the links.
func (f *figures) compareOf(rt fatal, what string, target uint8, r *engine.Report, pass func(l figuredLink, owner uint32) bool) {
	want := f.wantOf(target, pass, r.From, f.end(r))
	wantStats := engine.Stats{
		Hits: want.hits, Unique: uint64(len(want.visitors)), Bots: want.bots, Prefetches: want.prefetches, Heads: want.heads,
	}
	if r.Stats != wantStats {
		rt.Fatalf("%s from %v to %v: got %+v, want %+v", what, r.From, r.To, r.Stats, wantStats)
	}
	for d := range want.values {
		var wanted engine.Breakdown
		for value, hits := range want.values[d] {
			wanted = append(wanted, engine.ValueHits{Value: value, Hits: hits})
		}
		slices.SortFunc(wanted, func(a, b engine.ValueHits) int { return cmp.Compare(a.Value, b.Value) })
		if !slices.Equal(r.Dimensions[d], wanted) {
			rt.Fatalf("%s, dimension %d: got %v, want %v", what, d, r.Dimensions[d], wanted)
		}
	}
	sum := uint64(0)
	for i, b := range r.Series {
		end := r.To
		if i+1 < len(r.Series) {
			end = r.Series[i+1].From
		}
		in := f.wantOf(target, pass, b.From, end)
		if sum += b.Hits; b.Hits != in.hits || b.Unique != uint64(len(in.visitors)) {
			rt.Fatalf("%s, bucket %v: %d hits, %d unique, want %d, %d", what, b.From, b.Hits, b.Unique, in.hits, len(in.visitors))
		}
	}
	if r.Series != nil && sum != r.Hits {
		rt.Fatalf("%s: the buckets have %d hits, the window %d", what, sum, r.Hits)
	}
}

type fatal interface{ Fatalf(string, ...any) }

const allParts = engine.Visitors | engine.Breakdowns

// check compares a window, asked for in every possible way.
func (f *figures) check(rt fatal, q engine.Query) {
	ctx := context.Background()
	q.Parts = allParts
	for i, l := range f.links {
		if l.deleted {
			continue
		}
		this := func(x figuredLink, _ uint32) bool { return x == f.links[i] }
		r, err := f.e.LinkReport(ctx, keyOf(l.code), q)
		if refused(err) || f.farBehind(&r) {
			continue
		} else if err != nil {
			rt.Fatalf("%s: %v", l.code, err)
		}
		f.compare(rt, l.code, &r, this)
		life, err := f.e.LinkReport(ctx, keyOf(l.code), engine.Query{AllTime: true, Parts: allParts})
		if err != nil {
			rt.Fatalf("%s: %v", l.code, err)
		}
		life.To = f.now.AddDate(9, 0, 0)
		f.compare(rt, l.code+" over all time", &life, this)
		f.checkTargets(rt, q, i)
		f.checkTargets(rt, engine.Query{AllTime: true, Parts: allParts}, i)
	}
	r, err := f.e.OwnerReport(ctx, []uint32{1}, engine.Subset{}, q)
	if !refused(err) && !f.farBehind(&r) {
		f.compare(rt, "owner 1", &r, func(_ figuredLink, owner uint32) bool { return owner == 1 })
	}
	if r, err = f.e.OwnerReport(ctx, []uint32{1}, engine.Subset{Tag: "b"}, q); !refused(err) && !f.farBehind(&r) {
		f.compare(rt, "tag b", &r, func(l figuredLink, _ uint32) bool { return l.owner == 1 && l.tag == "b" && !l.deleted })
	}
	if r, err = f.e.OwnerReport(ctx, nil, engine.Subset{Folder: shared}, q); !refused(err) && !f.farBehind(&r) {
		f.compare(rt, "the folder", &r, inFolder)
	}
	f.checkTogether(rt, "tag a", q, []uint32{1}, engine.Subset{Tag: "a"}, func(l figuredLink, _ uint32) bool { return l.owner == 1 && l.tag == "a" && !l.deleted })
	f.checkTogether(rt, "owner 1", q, []uint32{1}, engine.Subset{}, func(_ figuredLink, owner uint32) bool { return owner == 1 })
	f.checkTogether(rt, "all owners", q, []uint32{2, 1, 3}, engine.Subset{}, func(figuredLink, uint32) bool { return true })
	f.checkTop(rt, q)
	f.checkSeries(rt, q)
	for d, value := range map[engine.Dimension]string{engine.Referrers: figuredHosts[1], engine.Devices: "\x02", engine.Countries: "\x01"} {
		f.checkCounted(rt, q, d, value)
	}
}

// checkTogether compares the figures in several windows, which are read together: one, a part of it, the time before,
// and others.
func (f *figures) checkTogether(rt fatal, what string, q engine.Query, owners []uint32, of engine.Subset, in func(figuredLink, uint32) bool) {
	today, before := f.e.Zone().DayOf(f.now, 0), q.From
	if before.IsZero() {
		before = f.now.AddDate(0, 0, -20)
	}
	var windows []engine.Query
	for _, w := range []engine.Query{
		q, {From: q.From, To: today, Parts: engine.Visitors}, {From: before.AddDate(0, 0, -2), To: before}, {From: today, Zone: q.Zone, Parts: allParts},
		{From: today.AddDate(0, 0, -3), Interval: engine.Daily, Parts: engine.Visitors}, {From: f.now.Add(-30 * time.Hour), Interval: engine.Hourly},
	} {
		if r, err := f.e.OwnerReport(context.Background(), owners, of, w); err == nil && !f.farBehind(&r) {
			windows = append(windows, w)
		}
	}
	reports, err := f.e.OwnerReports(context.Background(), owners, of, windows)
	if err != nil || len(reports) != len(windows) {
		rt.Fatalf("%d windows together: %d, %v", len(windows), len(reports), err)
	}
	for i := range reports {
		alone, err := f.e.OwnerReport(context.Background(), owners, of, windows[i])
		if err != nil || !reflect.DeepEqual(reports[i], alone) {
			rt.Fatalf("window %+v with others: %+v, alone: %+v, %v", windows[i], reports[i], alone, err)
		}
		if windows[i].Parts == allParts {
			f.compare(rt, what, &reports[i], in)
		}
	}
}

// checkTargets compares the figures of the targets of a link, in one list and each.
func (f *figures) checkTargets(rt fatal, q engine.Query, link int) {
	code, this := f.links[link].code, func(x figuredLink, _ uint32) bool { return x == f.links[link] }
	report := func(q engine.Query) engine.Report {
		r, err := f.e.LinkReport(context.Background(), keyOf(code), q)
		if err != nil {
			rt.Fatalf("targets of %s: %v", code, err)
		}
		if q.AllTime {
			r.To = f.now.AddDate(9, 0, 0)
		}
		return r
	}
	q.Targets = true
	r := report(q)
	f.compare(rt, code+" with its targets", &r, this)
	q.Targets = false
	var want []engine.TargetHits
	rest := r.Hits
	for _, n := range []uint8{1, 2, 3, 4, 9, 255} {
		one := f.wantOf(n, this, r.From, f.end(&r))
		if rest -= one.hits; one.hits > 0 {
			want = append(want, engine.TargetHits{Target: n, Hits: one.hits, Unique: uint64(len(one.visitors))})
		}
		q.Target = n
		of := report(q)
		f.compareOf(rt, fmt.Sprintf("target %d of %s", n, code), n, &of, this)
		if of.ImportedHits != 0 || of.DurableHits > of.Hits {
			rt.Fatalf("target %d of %s: %+v", n, code, of)
		}
	}
	if rest > 0 {
		want = slices.Insert(want, 0, engine.TargetHits{Hits: rest})
	}
	if !slices.Equal(r.Targets, want) {
		rt.Fatalf("targets of %s from %v to %v: got %v, want %v", code, r.From, r.To, r.Targets, want)
	}
}

// checkCounted compares the figures of one value of a dimension, of owner 1 and of each of the most-hit links.
func (f *figures) checkCounted(rt fatal, q engine.Query, d engine.Dimension, value string) {
	q.Counted = func(x *engine.Dimensions) (hits uint64) {
		for _, v := range x[d] {
			if v.Value == value {
				hits += v.Hits
			}
		}
		return hits
	}
	r, err := f.e.OwnerReport(context.Background(), []uint32{1}, engine.Subset{}, q)
	top, err2 := f.e.TopLinks(context.Background(), []uint32{1}, engine.Subset{}, q, 5)
	if refused(err) || refused(err2) || f.farBehind(&r) {
		return
	}
	if err := errors.Join(err, err2); err != nil {
		rt.Fatalf("%v", err)
	}
	mine := func(_ figuredLink, owner uint32) bool { return owner == 1 }
	if want := f.want(mine, r.From, f.end(&r)); r.Counted != want.values[d][value] || r.Hits != want.hits {
		rt.Fatalf("dimension %d, %q: got %d of %d hits, want %d of %d", d, value, r.Counted, r.Hits, want.values[d][value], want.hits)
	}
	for i, b := range r.Series {
		end := r.To
		if i+1 < len(r.Series) {
			end = r.Series[i+1].From
		}
		if want := f.want(mine, b.From, end).values[d][value]; b.Hits != want || b.Unique != 0 {
			rt.Fatalf("dimension %d, %q, bucket %v: %d hits, %d unique, want %d, 0", d, value, b.From, b.Hits, b.Unique, want)
		}
	}
	if q.Interval == engine.Daily || q.From.IsZero() {
		q.Interval = engine.NoSeries
	}
	if r, err = f.e.OwnerReport(context.Background(), []uint32{1}, engine.Subset{}, q); err != nil {
		return // without a series the window may be another, and impossible
	}
	for _, l := range top.Links {
		want := f.want(func(x figuredLink, _ uint32) bool { return x.code == l.Code && !x.deleted }, r.From, f.end(&r))
		if l.Counted != want.values[d][value] {
			rt.Fatalf("dimension %d, %q, link %s: got %d, want %d", d, value, l.Code, l.Counted, want.values[d][value])
		}
	}
}

// checkSeries compares the series of all live links, asked for together.
func (f *figures) checkSeries(rt fatal, q engine.Query) {
	if q.Interval == engine.NoSeries {
		return
	}
	var live []figuredLink
	var ids []uint64
	for _, l := range f.links {
		if l.deleted {
			continue
		}
		id, _, err := f.e.Made(keyOf(l.code))
		if err != nil {
			rt.Fatalf("%s: %v", l.code, err)
		}
		live, ids = append(live, l), append(ids, id)
	}
	each, err := f.e.SeriesOf(context.Background(), ids, q)
	r, err2 := f.e.OwnerReport(context.Background(), []uint32{1}, engine.Subset{}, q) // has the same window
	if refused(err) && refused(err2) || err == nil && f.farBehind(&r) {
		return
	}
	if err := errors.Join(err, err2); err != nil || len(each) != len(live) {
		rt.Fatalf("%d series of %d links: %v", len(each), len(live), err)
	}
	for i, l := range live {
		if len(each[i]) != len(r.Series) {
			rt.Fatalf("%s has %d buckets, want %d", l.code, len(each[i]), len(r.Series))
		}
		for j, b := range each[i] {
			end := r.To
			if j+1 < len(r.Series) {
				end = r.Series[j+1].From
			}
			want := f.want(func(x figuredLink, _ uint32) bool { return x == l }, b.From, end)
			if !b.From.Equal(r.Series[j].From) || b.Hits != want.hits || b.Unique != 0 {
				rt.Fatalf("%s, bucket %v: got %+v, want %d hits", l.code, r.Series[j].From, b, want.hits)
			}
		}
	}
}

func (f *figures) checkTop(rt fatal, q engine.Query) {
	ctx := context.Background()
	top, err := f.e.TopLinks(ctx, []uint32{1}, engine.Subset{}, q, 5)
	if q.Interval == engine.Daily || q.From.IsZero() {
		q.Interval = engine.NoSeries
	}
	r, err2 := f.e.OwnerReport(ctx, []uint32{1}, engine.Subset{}, q)
	if refused(err) || refused(err2) || f.farBehind(&r) {
		return
	}
	if err := errors.Join(err, err2); err != nil {
		rt.Fatalf("%v", err)
	}
	var want []engine.LinkHits
	for _, l := range f.links {
		in := f.want(func(x figuredLink, _ uint32) bool { return x == l && x.owner == 1 && !x.deleted }, r.From, f.end(&r))
		if in.hits > 0 {
			want = append(want, engine.LinkHits{Key: keyOf(l.code), Hits: in.hits, Unique: uint64(len(in.visitors))})
		}
	}
	slices.SortFunc(want, func(a, b engine.LinkHits) int {
		return cmp.Or(cmp.Compare(b.Hits, a.Hits), cmp.Compare(a.Code, b.Code))
	})
	if top.Beyond != 0 || !slices.Equal(top.Links, want) {
		rt.Fatalf("top links: got %v, want %v", top, want)
	}
}

// refused reports whether the window is impossible: hit/query_test.go has the rules.
func refused(err error) bool { return errors.As(err, new(engine.InvalidError)) }

// TestEveryWindowHasItsHitsAndVisitors hits links at random times, with clocks that jump, and asks
// for random windows, before and after hours are rolled up and the server is killed or restarted.
func TestEveryWindowHasItsHitsAndVisitors(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		f := newFiguresIn(t, drawZone(rt, "days of"), rapid.SampledFrom(daysBeforeChanges).Draw(rt, "now"))
		defer func() { f.close(); _ = os.RemoveAll(f.dir) }()
		rt.Repeat(map[string]func(*rapid.T){
			"hit":           f.drawHits,
			"hit again":     f.drawHits,
			"let time pass": f.passTime,
			"clock set back": func(rt *rapid.T) {
				f.now = f.now.Add(-time.Duration(rapid.IntRange(1, 150).Draw(rt, "minutes back")) * time.Minute)
			},
			"clock jumps": func(rt *rapid.T) {
				f.now = f.now.AddDate(0, 0, rapid.SampledFrom([]int{-40, -3, 40}).Draw(rt, "days"))
			},
			"close hours": func(*rapid.T) { f.closeHours() },
			"flush": func(*rapid.T) {
				expect.OK(rt, f.e.Flush())
			},
			"kill or restart": func(rt *rapid.T) {
				if rapid.Bool().Draw(rt, "kill") {
					f.kill()
					return
				}
				f.close()
				f.open()
			},
			"delete": func(rt *rapid.T) {
				if l := &f.links[1]; !l.deleted && rapid.IntRange(0, 3).Draw(rt, "really") == 0 {
					l.deleted = true
					expect.OK(rt, f.e.Delete(context.Background(), keyOf(l.code), engine.Guard{AnyOwner: true}))
				}
			},
			"reset": f.reset,
			"give":  f.give,
			"":      func(rt *rapid.T) { f.check(rt, f.drawQuery(rt)) },
		})
	})
}

// daysBeforeChanges are some days before a zone of drawZone changes its offset; Apia then skips a day.
var daysBeforeChanges = []time.Time{
	time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), time.Date(2026, 3, 28, 20, 6, 7, 0, time.UTC), time.Date(2026, 10, 22, 5, 6, 7, 0, time.UTC),
	time.Date(2011, 12, 28, 5, 6, 7, 0, time.UTC),
}

func drawZone(rt *rapid.T, what string) *zone.Zone {
	name := rapid.SampledFrom([]string{"", "UTC", "Europe/Berlin", "America/New_York", "Australia/Sydney", "Pacific/Apia"}).Draw(rt, what)
	if name == "" {
		return nil
	}
	z, err := zone.Load(name)
	expect.OK(rt, err)
	return z
}

// drawLive draws a link, rarely.
func (f *figures) drawLive(rt *rapid.T) *figuredLink {
	l := &f.links[rapid.IntRange(0, 2).Draw(rt, "link")]
	if l.deleted || rapid.IntRange(0, 3).Draw(rt, "really") > 0 {
		rt.Skip("not this one")
	}
	return l
}

// reset resets the figures of a link. What was counted is that of a link that nobody can ask for.
func (f *figures) reset(rt *rapid.T) {
	l := f.drawLive(rt)
	code := l.code
	link := slices.IndexFunc(f.links, func(x figuredLink) bool { return x == *l })
	before := *l
	before.code, before.deleted = fmt.Sprintf("%s before %d", code, len(f.links)), true
	d, err := f.e.Reset(context.Background(), keyOf(code), engine.Guard{Owner: l.owner})
	expect.MustThat(rt, err == nil && d.Hits == 0, "reset of %s: %+v, %v", code, d, err)
	f.links = append(f.links, before)
	moved := make(map[figuredHour]*exactTally, len(f.hours))
	for key, t := range f.hours {
		if key.link == link {
			key.link = len(f.links) - 1
		}
		moved[key] = t
	}
	f.hours = moved
}

// give gives a link to another owner, who gets its figures and what is counted from now on.
func (f *figures) give(rt *rapid.T) {
	l := f.drawLive(rt)
	to := 3 - l.owner
	d, err := f.e.Give(context.Background(), keyOf(l.code), engine.Guard{Owner: l.owner}, to, func(*engine.Record) error { return nil })
	expect.MustThat(rt, err == nil && d.Owner == to, "giving %s away: %+v, %v", l.code, d, err)
	l.owner = to
}

func (f *figures) drawHits(rt *rapid.T) {
	link := rapid.IntRange(0, 2).Draw(rt, "link")
	if f.links[link].deleted {
		return
	}
	class := rapid.SampledFrom([]engine.Class{0, 0, 0, 1, 2, 3}).Draw(rt, "class")
	first := rapid.Uint64Range(1, 400).Draw(rt, "first visitor")
	for i := range rapid.SampledFrom([]uint64{1, 2, 30, 400}).Draw(rt, "hits") {
		f.hit(link, class, first+i)
	}
}

func (f *figures) passTime(rt *rapid.T) {
	minutes := rapid.SampledFrom([]int{1, 20, 60, 300, 1440, 3 * 1440, 30 * 1440}).Draw(rt, "minutes")
	f.now = f.now.Add(time.Duration(minutes) * time.Minute)
}

func (f *figures) drawQuery(rt *rapid.T) engine.Query {
	back := func(what string) time.Time {
		switch rapid.IntRange(0, 3).Draw(rt, what) {
		case 0:
			return time.Time{}
		case 1:
			return f.now.Add(-time.Duration(rapid.IntRange(-60, 50*60).Draw(rt, what+" minutes ago")) * time.Minute)
		}
		return f.now.Add(-time.Duration(rapid.IntRange(0, 2000).Draw(rt, what+" hours ago")) * time.Hour)
	}
	return engine.Query{
		From: back("from"), To: back("to"),
		Interval: rapid.SampledFrom([]engine.Interval{engine.NoSeries, engine.Hourly, engine.Daily}).Draw(rt, "interval"),
		Zone:     drawZone(rt, "in days of"),
	}
}

// TestWindowsOfManyVisitorsAreWithinThreeStandardErrors has more visitors than are counted exactly,
// with a fixed seed.
func TestWindowsOfManyVisitorsAreWithinThreeStandardErrors(t *testing.T) {
	f := newFigures(t)
	defer f.close()
	rng := rand.New(rand.NewPCG(3, 4))
	for range 30 { // days
		for range 2 {
			for range 1500 {
				f.hit(rng.IntN(3), engine.ClassHit, rng.Uint64N(12_000))
			}
			f.now = f.now.Add(12 * time.Hour)
			f.closeHours()
		}
	}
	dense := 0
	for days := 1; days <= 31; days += 3 {
		q := engine.Query{From: f.now.AddDate(0, 0, -days), Parts: allParts}
		r, err := f.e.OwnerReport(context.Background(), []uint32{1}, engine.Subset{}, q)
		expect.OK(t, err)
		want := f.want(func(_ figuredLink, owner uint32) bool { return owner == 1 }, r.From, r.To)
		distinct := uint64(len(want.visitors))
		part := 3 * r.UniqueError
		expect.That(t, r.Hits == want.hits && within(r.Unique, distinct, part), "%d days: %d hits, %d unique, want %d, %d", days, r.Hits, r.Unique, want.hits, distinct)
		if distinct > engine.MaxExactVisitors {
			dense++
		}
	}
	expect.That(t, dense >= 8, "only %d windows have an estimate", dense)
}

// TestUniqueIsNeverAboveHits has each visitor come once, so that about half of the estimates are
// too high.
func TestUniqueIsNeverAboveHits(t *testing.T) {
	f := newFigures(t)
	defer f.close()
	clamped, hits := 0, uint64(0)
	for range 60 {
		for range 150 {
			hits++
			f.hit(0, engine.ClassHit, hits)
		}
		s, err := f.e.Stats(context.Background(), keyOf(f.links[0].code))
		r, err2 := f.e.LinkReport(context.Background(), keyOf(f.links[0].code), engine.Query{From: f.now.Add(-time.Hour), Parts: allParts})
		expect.OK(t, errors.Join(err, err2))
		expect.MustThat(t, s.Hits == hits && s.Unique <= hits && r.Hits == hits && r.Unique <= hits, "%d visitors: %+v, and in the window %+v", hits, s, r.Stats)
		if hits > engine.MaxExactVisitors && s.Unique == hits {
			clamped++
		}
	}
	expect.That(t, clamped != 0, "no estimate was too high: this shows nothing")
}
