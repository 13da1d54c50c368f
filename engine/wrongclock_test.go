package engine_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage"
)

// wrongClock runs an engine over a store, in virtual time, with a wall clock that is set wrong. It
// remembers all hits, and what else is kept for a time, with the time that the store had run by then.
type wrongClock struct {
	t   *testing.T
	fs  *vfs.MemFS
	dir string

	started time.Time
	passed  time.Duration // true time since started
	ran     time.Duration // the part of it in which the engine was open
	wrong   time.Duration // how far the wall clock is ahead
	used    time.Time     // the wall clock, or if that is before all days that are kept, on from where it was

	options engine.Options
	said    strings.Builder // the log
	store   *storage.Store
	e       *engine.Engine
	stop    func()

	links   []string
	hits    map[dayOfLink]*keptHits
	hours   map[dayOfLink]*keptHits // by the hour
	entries []keptThing             // of the audit log
	deleted []keptThing
	answers []keptThing // under a key
	gone    struct{ days, hours, entries, codes, answers int }
}

// dayOfLink is a day, or an hour, of a link.
type dayOfLink struct {
	link int
	when uint32
}

type keptHits struct {
	hits uint64
	last time.Duration // ran at the last one
}

type keptThing struct {
	name string
	ran  time.Duration
	id   uint64
}

func newWrongClock(t *testing.T, o engine.Options) *wrongClock {
	w := &wrongClock{
		t: t, fs: vfs.NewMem(), dir: inMemory(t), started: time.Date(2026, 11, 26, 9, 30, 0, 0, time.UTC),
		hits: map[dayOfLink]*keptHits{}, hours: map[dayOfLink]*keptHits{}, options: o,
	}
	w.options.JournalDir = filepath.Join(w.dir, "journal")
	w.options.Rings, w.options.RingRecords, w.options.FlushInterval = 1, 1<<12, time.Hour
	w.options.Now = w.wall
	w.options.Monotonic = func() time.Time { return w.started.Add(w.passed) }
	w.options.Logger = slog.New(slog.NewTextHandler(&w.said, nil))
	w.open()
	t.Cleanup(w.close)
	for i := range 3 {
		w.create(fmt.Sprintf("link%d", i))
		w.links = append(w.links, fmt.Sprintf("link%d", i))
	}
	return w
}

func (w *wrongClock) wall() time.Time { return w.started.Add(w.passed + w.wrong) }

func (w *wrongClock) open() {
	var err error
	w.store, err = storage.Open("data", storage.Options{Create: true, FS: w.fs})
	expect.OK(w.t, err)
	w.e, err = engine.Open(w.store, w.options)
	expect.OK(w.t, err)
	expect.OK(w.t, w.e.Load(context.Background(), nil))
	store, e := w.store, w.e
	if !w.farBehind() {
		w.used = w.wall()
	}
	stopStore, stopIDs := start(func(ctx context.Context) { _ = store.Run(ctx) }), start(e.RefillIDs)
	w.stop = func() { stopIDs(); stopStore() }
}

func (w *wrongClock) close() {
	w.stop()
	expect.OK(w.t, errors.Join(w.e.Close(), w.store.Close()))
}

// restart ends the engine, by force perhaps, and opens it again after a time.
func (w *wrongClock) restart(kill bool, off time.Duration) {
	if kill {
		w.stop()
		expect.OK(w.t, errors.Join(w.e.Abandon(), w.store.Close()))
	} else {
		w.close()
	}
	w.passed += off
	w.open()
}

// pass lets time pass and does what the engine does meanwhile, once.
func (w *wrongClock) pass(d time.Duration) {
	w.passed += d
	w.ran += d
	if w.used = w.used.Add(d); !w.farBehind() {
		w.used = w.wall()
	}
	w.turn()
}

func (w *wrongClock) farBehind() bool {
	_, firstDay := w.store.Kept()
	return w.wall().Unix()/(24*3600) < int64(firstDay)
}

func (w *wrongClock) turn() {
	expect.OK(w.t, w.e.Flush())
	expect.OK(w.t, w.e.CloseHours(context.Background()))
}

// run lets time pass in turns of some minutes, as long as the clock needs to settle.
func (w *wrongClock) run(d time.Duration) {
	for ; d > 0; d -= 4 * time.Minute {
		w.pass(min(d, 4*time.Minute))
	}
}

func (w *wrongClock) by() *engine.By {
	return &engine.By{AtMs: w.e.Now().UnixMilli(), User: 1, Name: "admin"}
}

func (w *wrongClock) create(code string) {
	d, _, err := w.e.Create(context.Background(), engine.Draft{Alias: code, Owner: 1, Target: "https://example.com", By: w.by()})
	expect.OK(w.t, err)
	w.entries = append(w.entries, keptThing{code, w.ran, d.ID})
}

func (w *wrongClock) delete(code string) {
	expect.OK(w.t, w.e.Delete(context.Background(), keyOf(code), engine.Guard{AnyOwner: true}))
	w.deleted = append(w.deleted, keptThing{code, w.ran, 0})
}

// hit hits a link n times. The hits count in the hour that the wall clock shows, or, if that is before all days
// that are kept, in that of the time in use.
func (w *wrongClock) hit(link, n int) {
	now := w.wall()
	hour := uint32(now.Unix() / 3600)
	firstHour, firstDay := w.store.Kept()
	if hour/24 < firstDay {
		hour = uint32(w.used.Unix() / 3600)
	}
	l, ok := w.e.Resolve(keyOf(w.links[link]).View())
	expect.MustThat(w.t, ok, "no link")
	for i := range n {
		w.e.Hit(l, engine.Visit{Visitor: hashed(uint64(i)), NowMs: now.UnixMilli()})
	}
	l.Release()
	note := func(kept map[dayOfLink]*keptHits, when uint32) {
		key := dayOfLink{link, when}
		if kept[key] == nil {
			kept[key] = new(keptHits)
		}
		kept[key].hits += uint64(n)
		kept[key].last = w.ran
	}
	note(w.hits, hour/24)
	if hour >= firstHour {
		note(w.hours, hour)
	}
	w.e.Fold()
}

// checkKept compares the store's rows with the hits. Those of the last keep of running are all there; older
// ones are, or were deleted together.
func (w *wrongClock) checkKept(kept map[dayOfLink]*keptHits, width uint32, keep time.Duration) (gone int) {
	w.turn()
	v, err := w.store.View()
	expect.OK(w.t, err)
	defer func() { _ = v.Close() }()
	for key, want := range kept {
		d, err := w.e.Read(keyOf(w.links[key.link]))
		expect.OK(w.t, err)
		hits := uint64(0)
		spans := []engine.Span{{FromHour: key.when * width, ToHour: key.when*width + width}}
		err = v.ReadSpans([]uint64{d.ID}, spans, 0, func(_, _ int, t *engine.Tally) error { hits += t.Hits; return nil })
		age := w.ran - want.last
		switch {
		case err != nil:
			w.t.Fatal(err)
		case hits == 0 && age >= keep:
			delete(kept, key)
			gone++
		case hits != want.hits:
			w.t.Fatalf("after %v, %v ahead: %s, %d hours from %v: got %d hits, want %d, the last of which the store has had for %v of %v",
				w.passed, w.wrong, w.links[key.link], width, time.Unix(int64(key.when*width)*3600, 0).UTC(), hits, want.hits, age, keep)
		}
	}
	return gone
}

// checkAnswers asks for what a visitor of the pages asks for: nothing is refused, and the days of a series have
// the hits that they have.
func (w *wrongClock) checkAnswers() {
	for _, q := range []engine.Query{{}, {Interval: engine.Daily}, {Interval: engine.Hourly}, {AllTime: true}, {From: w.e.Now().Add(-24 * time.Hour)}} {
		for link, code := range w.links {
			r, err := w.e.LinkReport(context.Background(), keyOf(code), q)
			expect.OK(w.t, err, "after %v, %v ahead: %+v of %s", w.passed, w.wrong, q, code)
			for _, b := range r.Series {
				key := dayOfLink{link, uint32(b.From.Unix() / 3600 / 24)}
				want := uint64(0)
				if w.hits[key] != nil {
					want = w.hits[key].hits
				}
				expect.MustThat(w.t, q.Interval != engine.Daily || b.Hits == want,
					"after %v, %v ahead: %s has %d hits on %v, want %d", w.passed, w.wrong, code, b.Hits, b.From, want)
			}
		}
		_, err := w.e.OwnerReport(context.Background(), []uint32{1}, engine.Subset{}, q)
		expect.MustThat(w.t, err == nil || q.AllTime, "after %v, %v ahead: %+v of the owner: %v", w.passed, w.wrong, q, err)
	}
}

func (w *wrongClock) checkTotals(want [3]uint64) {
	for i, code := range w.links {
		s, err := w.e.Stats(context.Background(), keyOf(code))
		expect.MustThat(w.t, err == nil && s.Hits == want[i], "after %v: %s has %d hits, %v, want %d", w.passed, code, s.Hits, err, want[i])
	}
}

// checkEntries looks for the entries of the audit log that were kept for less than keep.
func (w *wrongClock) checkEntries(keep time.Duration) {
	found := map[uint64]bool{}
	err := w.e.Audit(0, 1<<63, func(e *engine.AuditEntry) bool {
		if e.Action == engine.LinkCreated {
			found[e.After.Hot.ID] = true
		}
		return true
	})
	expect.OK(w.t, err)
	left := w.entries[:0]
	for _, x := range w.entries {
		switch {
		case found[x.id]:
			left = append(left, x)
		case w.ran-x.ran < keep:
			w.t.Fatalf("after %v: the entry about %s is gone after %v of %v", w.passed, x.name, w.ran-x.ran, keep)
		default:
			w.gone.entries++
		}
	}
	w.entries = left
}

// checkDeleted asks for deleted codes for somebody else, who gets none before its time.
func (w *wrongClock) checkDeleted() {
	left := w.deleted[:0]
	for _, x := range w.deleted {
		_, _, err := w.e.Create(context.Background(), engine.Draft{Alias: x.name, Owner: 2, Target: "https://example.com"})
		switch age := w.ran - x.ran; {
		case errors.Is(err, engine.ErrTaken):
			left = append(left, x)
		case err != nil:
			w.t.Fatal(err)
		case age < holdsFor:
			w.t.Fatalf("after %v, %v ahead: %s went to somebody else after %v of %v", w.passed, w.wrong, x.name, age, holdsFor)
		default:
			w.gone.codes++
		}
	}
	w.deleted = left
}

func (w *wrongClock) createOnce(key string) engine.Detail {
	d, _, err := w.e.CreateOnce(context.Background(), engine.Request{RequestKey: engine.RequestKey{Sender: [32]byte{1}, Key: sha256.Sum256([]byte(key))}},
		func() (engine.Draft, error) { return engine.Draft{Owner: 1, Target: "https://example.com"}, nil })
	expect.OK(w.t, err)
	return d
}

// checkReceipts repeats requests, each of which makes no second link within a day of running.
func (w *wrongClock) checkReceipts() {
	left := w.answers[:0]
	for _, x := range w.answers {
		switch d := w.createOnce(x.name); {
		case d.ID == x.id:
			left = append(left, x)
		case w.ran-x.ran < engine.ReceiptLife:
			w.t.Fatalf("after %v, %v ahead: request %s made a second link after %v", w.passed, w.wrong, x.name, w.ran-x.ran)
		default:
			w.gone.answers++
		}
	}
	w.answers = left
}

// TestNoWrongClockErasesHistory runs a store for a year of virtual hours. The clock is set wrong by an hour,
// 40 days or three years, to either side, for a minute to a week, and the server restarts meanwhile and after it.
func TestNoWrongClockErasesHistory(t *testing.T) {
	expect.Long(t)
	t.Parallel()
	for seed := range uint64(2) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) { t.Parallel(); aYearOfWrongClocks(t, seed) })
	}
}

func aYearOfWrongClocks(t *testing.T, seed uint64) {
	const keepHours, keepDays, keepAudit = 24, 20, 15
	rng := rand.New(rand.NewPCG(seed, 7))
	w := newWrongClock(t, engine.Options{KeptHours: keepHours, KeptDays: keepDays, KeptAuditDays: keepAudit})
	sizes := []time.Duration{time.Hour, 40 * 24 * time.Hour, 3 * 365 * 24 * time.Hour}
	lasts := []time.Duration{time.Minute, 16 * time.Minute, time.Hour, 20 * time.Hour, 7 * 24 * time.Hour}
	var total [3]uint64
	var right, wrong time.Duration // until when the clock is right, and then wrong
	jumps := 0
	for made := 0; w.passed < 365*24*time.Hour; made++ {
		step := time.Hour
		switch {
		case w.wrong == 0 && w.passed >= right:
			w.wrong = sizes[rng.IntN(len(sizes))] * time.Duration(1-2*rng.IntN(2))
			wrong = w.passed + lasts[rng.IntN(len(lasts))]
			jumps++
		case w.wrong != 0 && w.passed >= wrong:
			w.wrong = 0
			right = w.passed + time.Duration(rng.IntN(15*24))*time.Hour
			w.pass(time.Second)
			w.checkAnswers()
		}
		if until := wrong - w.passed; w.wrong != 0 && until < step {
			step = max(until, time.Second)
		}
		w.pass(step / 2)
		link := rng.IntN(3)
		w.hit(link, 1+link)
		total[link] += uint64(1 + link)
		w.pass(step - step/2)
		if rng.IntN(60) == 0 {
			w.restart(rng.IntN(2) == 0, time.Duration(rng.IntN(90))*time.Minute)
		}
		if made%24 == 0 {
			code := fmt.Sprintf("made%d", made)
			w.create(code)
			w.delete(code)
			w.answers = append(w.answers, keptThing{code, w.ran, w.createOnce(code).ID})
		}
		if rng.IntN(40) == 0 || w.wrong != 0 && rng.IntN(8) == 0 {
			w.gone.days += w.checkKept(w.hits, 24, keepDays*24*time.Hour)
			w.gone.hours += w.checkKept(w.hours, 1, keepHours*time.Hour)
			w.checkEntries(keepAudit * 24 * time.Hour)
			w.checkReceipts()
			w.checkTotals(total)
			w.checkAnswers()
		}
		if rng.IntN(200) == 0 {
			w.checkDeleted()
		}
	}
	w.wrong = 0
	w.run(15 * time.Minute)
	w.checkAnswers()
	w.checkTotals(total)
	w.checkDeleted()
	g := w.gone
	expect.That(t, jumps >= 20 && g.days != 0 && g.hours != 0 && g.entries != 0 && g.codes != 0 && g.answers != 0, "%d jumps; what was deleted in its time: %+v", jumps, g)
	t.Logf("%d jumps, deleted in time: %+v", jumps, w.gone)
}

// hitFor hits a link once an hour for some days.
func (w *wrongClock) hitFor(days int) (total uint64) {
	for range days * 24 {
		w.hit(0, 1)
		w.pass(time.Hour)
		total++
	}
	return total
}

// wantAll wants every hit on its day, every entry of the audit log, and answers to all questions.
func (w *wrongClock) wantAll(total uint64) {
	w.t.Helper()
	w.checkAnswers()
	w.checkTotals([3]uint64{total})
	for what, kept := range map[uint32]map[dayOfLink]*keptHits{24: w.hits} {
		expect.Equal(w.t, w.checkKept(kept, what, 1<<62), 0, "days are gone")
	}
	w.checkEntries(1 << 62)
}

// The clock is 500 days ahead for 16 minutes, which is longer than it takes to settle, and then right again.
func TestAClock500DaysAheadForAQuarterOfAnHourErasesNothing(t *testing.T) {
	w := newWrongClock(t, engine.Options{})
	w.create("before")
	w.delete("before")
	total := w.hitFor(3)
	once := w.createOnce("before").ID
	w.wrong = 500 * 24 * time.Hour
	for range 4 {
		w.run(4 * time.Minute)
		w.hit(0, 1)
		total++
	}
	w.create("ahead")
	w.wrong = 0
	w.create("after")
	for _, when := range []string{"at once", "later", "after a restart", "after a kill"} {
		t.Log(when)
		w.wantAll(total)
		w.checkDeleted()
		id := w.createOnce("before").ID
		expect.That(t, id == once || when != "at once", "a repeated request has made a second link")
		total += w.hitFor(1)
		if when != "at once" {
			w.restart(when == "after a restart", time.Minute)
		}
	}
	for _, text := range []string{"level=WARN", "jumped ahead", "by=12000h0m0s", "jumped back"} {
		expect.That(t, strings.Contains(w.said.String(), text), "the log lacks %q: %s", text, w.said.String())
	}
	if m := w.e.Metrics(); m.ClockJumpBy != -500*24*time.Hour || m.ClockJumpAt.Before(w.started) || m.ClockJumpAt.After(w.wall()) {
		t.Errorf("after the restarts the last jump is by %v, at %v", m.ClockJumpBy, m.ClockJumpAt)
	}
}

// The clock is three years ahead for 90 seconds. Its hits are not those of any later day, until that day comes.
func TestHitsOfAClockThreeYearsAheadStayOnTheirDay(t *testing.T) {
	const years = 3 * 365 * 24 * time.Hour
	w := newWrongClock(t, engine.Options{})
	total := w.hitFor(1)
	w.wrong = years
	w.pass(30 * time.Second)
	w.hit(0, 7)
	w.hit(0, 2)
	w.pass(time.Minute)
	w.wrong = 0
	total += 9
	m := w.e.Metrics()
	expect.Equal(t, m.ClockJumps, 1, "jumps are counted before it is back")
	on := func(when time.Time) uint64 {
		t.Helper()
		r, err := w.e.LinkReport(context.Background(), keyOf(w.links[0]), engine.Query{Interval: engine.Daily, From: when})
		expect.OK(t, err)
		return r.Series[len(r.Series)-1].Hits
	}
	w.pass(time.Minute)
	for range 3 {
		w.run(24 * time.Hour)
		if n := on(w.wall()); n != 0 {
			t.Errorf("%d hits on %v, want none", n, w.wall())
		}
		w.hit(0, 1)
		total++
		w.wantAll(total)
	}
	w.restart(false, years-3*24*time.Hour)
	w.run(15 * time.Minute)
	expect.Equal(t, on(w.wall()), 9, "hits on the day of the wrong clock")
	w.wantAll(total)
}

// While the clock is three years behind, hits count today, and so do questions.
func TestAClockThreeYearsBehindIsNotUsed(t *testing.T) {
	w := newWrongClock(t, engine.Options{KeptDays: 20})
	for range 30 {
		w.hit(1, 1)
		w.run(24 * time.Hour)
	}
	_, first := w.store.Kept()
	expect.MustThat(t, first != 0, "no day was deleted in its time")
	w.wrong = -3 * 365 * 24 * time.Hour
	for _, restart := range []bool{false, true} {
		if restart {
			w.restart(false, time.Minute)
		}
		w.run(time.Hour)
		w.hit(0, 5)
		w.checkAnswers()
		now := w.e.Now()
		expect.That(t, now.Sub(w.started.Add(w.passed)).Abs() <= time.Hour, "the time in use is %v", now)
	}
	w.wrong = 0
	w.run(time.Hour)
	w.checkAnswers()
	r, err := w.e.LinkReport(context.Background(), keyOf(w.links[0]), engine.Query{From: w.wall().Add(-24 * time.Hour)})
	expect.That(t, err == nil && r.Hits == 10, "the last day has %d hits, %v, want 10", r.Hits, err)
}

// futureFloors is a store whose floors a clock that was ahead has moved into the future.
type futureFloors struct {
	*storage.Store
	hour, day uint32 // until they are lowered
}

func (f *futureFloors) Kept() (firstHour, firstDay uint32) {
	firstHour, firstDay = f.Store.Kept()
	return max(firstHour, f.hour), max(firstDay, f.day)
}

func (f *futureFloors) LowerKept(firstHour, firstDay uint32) error {
	f.hour, f.day = min(f.hour, firstHour), min(f.day, firstDay)
	return f.Store.LowerKept(firstHour, firstDay)
}

func TestFloorsOfTheFutureMoveBackAtAStart(t *testing.T) {
	w := newWrongClock(t, engine.Options{})
	w.close()
	today := uint32(w.wall().Unix() / (24 * 3600))
	var err error
	w.store, err = storage.Open("data", storage.Options{FS: w.fs})
	expect.OK(t, err)
	floors := &futureFloors{w.store, (today + 498) * 24, today + 99}
	w.e, err = engine.Open(floors, w.options)
	expect.OK(t, err)
	expect.OK(t, w.e.Load(t.Context(), nil))
	w.stop = start(func(ctx context.Context) { _ = floors.Run(ctx) })
	hour, day := floors.Kept()
	expect.That(t, day == today && hour == uint32(w.wall().Unix()/3600), "hours from %d and days from %d are kept; today is %d", hour, day, today)
	expect.Contains(t, w.said.String(), "those from now on are kept", "the log does not say it")
	w.hit(0, 2)
	w.wantAll(2)
	w.restart(false, 48*time.Hour)
	w.hit(0, 1)
	w.wantAll(3)
	now := w.e.Now()
	expect.That(t, now.Equal(w.wall()), "the time in use is %v, want that of the clock, %v", now, w.wall())
}
