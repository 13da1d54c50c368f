package engine_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"shunt/engine"
	"shunt/engine/expect"
)

// holdsFor is how long a deleted code stays taken.
const holdsFor = engine.TombstoneDays * 24 * time.Hour

// deletedCodes is an engine of figures, and a plain map that says which owner may take which code.
type deletedCodes struct {
	*figures
	codes  map[string]*deletedCode // by code: its last link
	purged map[uint64]bool         // ids of deleted links; in the end all of them must have gone
}

type deletedCode struct {
	owner     uint32
	id        uint64
	live      bool
	deletedAt time.Time
}

// TestADeletedCodeIsFreedAndErasedAfter90Days runs creates, deletes and hits of two owners over
// months, with purges, restarts and kills in between. For 90 days a code is taken for everybody
// except its former owner. In the end, when all purges are due, no row of a deleted link is in the
// store.
func TestADeletedCodeIsFreedAndErasedAfter90Days(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		d := &deletedCodes{figures: newFigures(t), codes: map[string]*deletedCode{}, purged: map[uint64]bool{}}
		rt.Repeat(map[string]func(*rapid.T){
			"":              d.check,
			"create":        d.create,
			"delete":        d.delete,
			"reset":         d.reset,
			"restore":       d.restore,
			"hit":           d.hitOne,
			"let time pass": d.passTime,
			"let a code go": d.passToTheEnd,
			"purge":         func(*rapid.T) { d.closeHours() },
			"restart":       func(*rapid.T) { d.close(); d.open() },
			"kill":          func(*rapid.T) { d.kill() },
		})
		d.now = d.now.Add(holdsFor + 2*time.Hour)
		d.closeHours()
		expect.Equal(rt, d.e.Metrics().Tombstones, 0, "tombstones in memory after the last purge")
		d.close()
		_ = os.RemoveAll(d.dir)
		d.wantNoneLeft(rt)
	})
}

// taken is the contract's rule for taken codes.
func (d *deletedCodes) taken(alias string, owner uint32) bool {
	for code, c := range d.codes {
		holds := c.live || c.owner != owner && !d.now.After(c.deletedAt.Add(holdsFor))
		if strings.EqualFold(code, alias) && holds {
			return true
		}
	}
	return false
}

func (d *deletedCodes) create(rt *rapid.T) {
	alias := rapid.StringMatching(`[aAb]{1,2}`).Draw(rt, "alias")
	owner := rapid.SampledFrom(owners).Draw(rt, "owner")
	taken := d.taken(alias, owner)
	got, _, err := d.e.Create(context.Background(), engine.Draft{Alias: alias, Owner: owner, Target: "https://x.example/" + alias})
	switch {
	case taken && !errors.Is(err, engine.ErrTaken):
		rt.Fatalf("create of %s, which is taken: %v", alias, err)
	case !taken && (err != nil || got.Hits != 0):
		rt.Fatalf("create of %s, which is free: %d hits, %v", alias, got.Hits, err)
	case !taken:
		d.codes[alias] = &deletedCode{owner: owner, id: got.ID, live: true}
	}
}

func (d *deletedCodes) pick(rt *rapid.T) (string, *deletedCode) {
	if len(d.codes) == 0 {
		rt.Skip("no codes")
	}
	code := rapid.SampledFrom(slices.Sorted(maps.Keys(d.codes))).Draw(rt, "code")
	return code, d.codes[code]
}

func (d *deletedCodes) delete(rt *rapid.T) {
	code, c := d.pick(rt)
	err := d.e.Delete(context.Background(), keyOf(code), engine.Guard{Owner: c.owner})
	expect.MustEqual(rt, c.live, err == nil, "delete of %s, which is live: %v", code, err)
	if c.live {
		c.live, c.deletedAt = false, d.now
		d.purged[c.id] = true
	}
}

// restore takes a link out of the trash, unless its owner has a variant of its code.
func (d *deletedCodes) restore(rt *rapid.T) {
	code, c := d.pick(rt)
	var want error
	switch {
	case c.live:
		want = engine.ErrTaken
	case d.now.After(c.deletedAt.Add(engine.TrashDays * 24 * time.Hour)):
		want = engine.ErrNotFound
	default:
		for variant, other := range d.codes {
			if variant != code && strings.EqualFold(variant, code) && other.live && other.owner == c.owner {
				want = engine.ErrTaken
			}
		}
	}
	got, err := d.e.Restore(context.Background(), keyOf(code), engine.Guard{Owner: c.owner})
	expect.MustError(rt, err, want, "restoring %s", code)
	if want == nil {
		expect.MustEqual(rt, got.ID, c.id, "id of %s", code)
		c.live = true
		delete(d.purged, c.id)
	}
}

// reset gives a link another id; the rows of the former one are purged as those of a deleted link.
func (d *deletedCodes) reset(rt *rapid.T) {
	code, c := d.pick(rt)
	got, err := d.e.Reset(context.Background(), keyOf(code), engine.Guard{Owner: c.owner})
	expect.MustEqual(rt, c.live, err == nil, "reset of %s, which is live: %v", code, err)
	if c.live {
		d.purged[c.id] = true
		c.id = got.ID
	}
}

func (d *deletedCodes) hitOne(rt *rapid.T) {
	code, c := d.pick(rt)
	l, ok := d.e.Resolve(keyOf(code).View())
	expect.MustEqual(rt, ok, c.live, "%s resolves", code)
	if ok {
		d.e.Hit(l, engine.Visit{Visitor: hashed(c.id), NowMs: d.now.UnixMilli(), Kind: engine.KindOf(engine.ClassHit, uint8(c.id%3))})
		l.Release()
	}
}

func (d *deletedCodes) passTime(rt *rapid.T) {
	hours := rapid.SampledFrom([]int{1, 30, 24 * 29, 24 * 31, 24 * 89, 24 * 91}).Draw(rt, "hours")
	d.now = d.now.Add(time.Duration(hours)*time.Hour + time.Duration(rapid.IntRange(0, 3600_000).Draw(rt, "ms"))*time.Millisecond)
}

// passToTheEnd sets the clock to about the last moment at which a code is taken.
func (d *deletedCodes) passToTheEnd(rt *rapid.T) {
	_, c := d.pick(rt)
	end := c.deletedAt.Add(holdsFor + time.Duration(rapid.IntRange(-1, 1).Draw(rt, "ms"))*time.Millisecond)
	if c.live || end.Before(d.now) {
		rt.Skip("it is free")
	}
	d.now = end
}

func (d *deletedCodes) check(rt *rapid.T) {
	for code, c := range d.codes {
		l, ok := d.e.Resolve(keyOf(code).View())
		if ok != c.live || ok && l.ID() != c.id {
			rt.Fatalf("%s resolves: %v, want %v", code, ok, c.live)
		}
		if ok {
			l.Release()
		}
		got, err := d.e.Read(keyOf(code))
		if c.live && (err != nil || got.ID != c.id) || !c.live && !errors.Is(err, engine.ErrNotFound) {
			rt.Fatalf("reading %s, which is live: %v: %+v, %v", code, c.live, got, err)
		}
	}
}

// wantNoneLeft looks for a deleted link in every table with ids, of the closed store.
func (d *deletedCodes) wantNoneLeft(rt *rapid.T) {
	left := map[uint64]bool{}
	for _, key := range storedKeys(d.t, d.fs) {
		if id, ok := idOf(key); ok {
			left[id] = true
			expect.That(rt, !d.purged[id], "row %x of deleted link %d is left", key, id)
		}
	}
	for code, c := range d.codes {
		expect.That(rt, !c.live || left[c.id], "link %s has no row", code)
	}
}

// storedKeys returns every key of a closed store. It does not read values, so the merger need not
// be the store's own.
func storedKeys(t *testing.T, fs vfs.FS) (keys [][]byte) {
	t.Helper()
	merger := *pebble.DefaultMerger
	merger.Name = "shunt.tally.v1"
	db, err := pebble.Open("data/db", &pebble.Options{FS: fs, ReadOnly: true, Merger: &merger, Logger: quietPebble{}})
	expect.OK(t, err)
	it, err := db.NewIter(nil)
	expect.OK(t, err)
	for valid := it.First(); valid; valid = it.Next() {
		keys = append(keys, slices.Clone(it.Key()))
	}
	expect.OK(t, errors.Join(it.Close(), db.Close()))
	return keys
}

type quietPebble struct{}

func (quietPebble) Infof(string, ...any)              {}
func (quietPebble) Errorf(string, ...any)             {}
func (quietPebble) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// idOf returns the link id in a key, also that of a target, as storage/row/keys.go draws it. It knows hour rows only of
// hours that are kept 31 days at most, as all are by the end of the test.
func idOf(key []byte) (id uint64, ok bool) {
	switch key[0] {
	case 0x21, 0x32, 0x33: // cold, link days, link lives
		id, _ = engine.SplitID(binary.BigEndian.Uint64(key[1:]))
		return id, true
	case 0x24, 0x28, 0x30: // by deletion, leaving, link hours
		id, _ = engine.SplitID(binary.BigEndian.Uint64(key[5:]))
		return id, true
	case 0x22, 0x23, 0x26, 0x27: // by owner, by tag, to reuse, trash
		return ^binary.BigEndian.Uint64(key[len(key)-8:]), true
	}
	return 0, false
}

func TestADeletedCodeIsFreeAfterExactly90Days(t *testing.T) {
	f := newFigures(t)
	defer f.close()
	deleted := f.now
	expect.OK(t, f.e.Delete(context.Background(), keyOf("link0"), engine.Guard{Owner: 1}))
	take := func() error {
		_, _, err := f.e.Create(context.Background(), engine.Draft{Alias: "link0", Owner: 2, Target: "https://x.example"})
		return err
	}
	f.now = deleted.Add(holdsFor)
	for _, when := range []string{"at 90 days", "after a purge", "after a restart"} {
		expect.Error(t, take(), engine.ErrTaken, "%s", when)
		f.closeHours()
		if when == "after a purge" {
			f.close()
			f.open()
		}
	}
	f.now = f.now.Add(time.Millisecond)
	expect.Error(t, take(), nil, "a millisecond later")
}

// atClock runs an engine whose own goroutines only allocate ids, with the test's clock.
func atClock(t *testing.T, settles time.Duration) (e *testEngine, now *atomic.Int64) {
	now = new(atomic.Int64)
	now.Store(time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC).UnixMilli())
	e = newTestEngine(t, engine.Options{
		Now: func() time.Time { return time.UnixMilli(now.Load()) }, FlushInterval: time.Hour, ClockSettles: settles,
	})
	return e, now
}

func (e *testEngine) turn(t *testing.T) {
	t.Helper()
	expect.OK(t, e.RollUp(context.Background()))
}

func (e *testEngine) delete(t *testing.T, code string) {
	t.Helper()
	expect.OK(t, e.Delete(context.Background(), keyOf(code), engine.Guard{AnyOwner: true}))
}

func (e *testEngine) takes(code string, owner uint32) error {
	_, _, err := e.Create(context.Background(), engine.Draft{Alias: code, Owner: owner, Target: "https://x.example/"})
	return err
}

func TestATurnPurgesABoundedNumberOfLinks(t *testing.T) {
	e, now := atClock(t, -1)
	const links = 600
	for i := range links {
		code := fmt.Sprintf("code%d", i)
		e.create(t, code).Release()
		e.delete(t, code)
	}
	now.Add(holdsFor.Milliseconds() + 3600_000)
	for _, want := range []uint64{links - 256, links - 512, 0, 0} {
		e.turn(t)
		m := e.Metrics()
		expect.That(t, m.Tombstones == want && m.Links == 0, "got %d tombstones and %d links, want %d", m.Tombstones, m.Links, want)
	}
}

// TestATemporarilyWrongClockFreesNoCodeForGood has a clock that is 91 days ahead: meanwhile codes
// are free, and after that they are taken again.
func TestATemporarilyWrongClockFreesNoCodeForGood(t *testing.T) {
	e, now := atClock(t, time.Hour)
	e.create(t, "mine").Release()
	e.delete(t, "mine")
	now.Add(91 * 24 * 3600_000)
	for range 3 {
		e.turn(t)
	}
	if err := e.Load(context.Background(), nil); err != nil { // as a start at that time would
		t.Fatal(err)
	}
	now.Add(-91 * 24 * 3600_000)
	e.turn(t)
	expect.Error(t, e.takes("mine", 2), engine.ErrTaken)
	expect.Slices(t, e.trashed(t, engine.TrashQuery{In: engine.AllOwners}), []string{"mine"}, "the trash")
	rec, err := e.gate.ReadRecord(keyOf("mine"))
	expect.That(t, err == nil && rec.Hot.Flags&engine.FlagTombstone != 0, "in the store: got %+v, %v, want a tombstone", rec, err)
}

// TestACreateWaitsForAPurgeOfItsCode holds the purge in the store.
func TestACreateWaitsForAPurgeOfItsCode(t *testing.T) {
	e, now := atClock(t, -1)
	e.create(t, "code").Release()
	e.delete(t, "code")
	now.Add(holdsFor.Milliseconds() + 3600_000)
	purging, goOn := make(chan struct{}), make(chan struct{})
	hold := func(commit func()) {
		close(purging)
		<-goOn
		commit()
	}
	e.gate.apply.Store(&hold)
	var both sync.WaitGroup
	both.Go(func() { e.turn(t) })
	<-purging
	e.gate.apply.Store(nil)
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	for _, code := range []string{"code", "cOde"} {
		_, _, err := e.Create(gone, engine.Draft{Alias: code, Owner: 2, Target: "https://x.example/"})
		expect.Error(t, err, engine.ErrOverloaded, "a create of %s that does not wait", code)
	}
	created := make(chan error, 2)
	both.Go(func() { created <- e.takes("cOde", 2) })
	both.Go(func() { created <- e.takes("code", 2) })
	close(goOn)
	both.Wait()
	a, b := <-created, <-created
	expect.That(t, (a == nil) != (b == nil), "got %v and %v, want one winner", a, b)
	due, err := leftToPurge(e)
	expect.That(t, err == nil && len(due) == 0, "left to purge: %v, %v", due, err)
}

// TestAPurgePostponesACodeThatIsBeingWritten holds the create in the store.
func TestAPurgePostponesACodeThatIsBeingWritten(t *testing.T) {
	e, now := atClock(t, -1)
	e.create(t, "code").Release()
	e.delete(t, "code")
	now.Add(holdsFor.Milliseconds() + 3600_000)
	creating, goOn := make(chan struct{}), make(chan struct{})
	hold := func(commit func()) {
		close(creating)
		<-goOn
		commit()
	}
	e.gate.apply.Store(&hold)
	created := make(chan error, 1)
	go func() { created <- e.takes("code", 2) }()
	<-creating
	e.gate.apply.Store(nil)
	e.turn(t)
	close(goOn)
	expect.OK(t, <-created)
	e.turn(t)
	due, err := leftToPurge(e)
	expect.That(t, err == nil && len(due) == 0, "left to purge: %v, %v", due, err)
	if d, err := e.Read(keyOf("code")); err != nil || d.Owner != 2 {
		t.Errorf("got %+v, %v, want the link of owner 2", d, err)
	}
}

func TestAPurgeThatTheStoreRefusesIsTriedAgain(t *testing.T) {
	e, now := atClock(t, -1)
	e.create(t, "code").Release()
	e.delete(t, "code")
	now.Add(holdsFor.Milliseconds() + 3600_000)
	for _, refused := range []error{engine.ErrOverloaded, errors.New("broken")} {
		e.gate.failPurge.Store(&refused)
		err := e.RollUp(context.Background())
		expect.Equal(t, errors.Is(err, refused), refused != engine.ErrOverloaded, "got %v of %v", err, refused)
		expect.Equal(t, e.Metrics().Tombstones, 1, "tombstones")
	}
	e.gate.failPurge.Store(nil)
	e.turn(t)
	expect.Equal(t, e.Metrics().Tombstones, 0, "tombstones")
}

// TestCreatesRaceAPurgeOfTheirCode runs all goroutines of the engine, and has many callers ask for
// variants of one code at the moment at which it becomes free.
func TestCreatesRaceAPurgeOfTheirCode(t *testing.T) {
	var now atomic.Int64
	now.Store(time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC).UnixMilli())
	e := newTestEngine(t, engine.Options{
		Now: func() time.Time { return time.UnixMilli(now.Load()) }, FlushInterval: time.Millisecond, ClockSettles: -1,
	})
	variants := []string{"code", "Code", "CODE"}
	for round := range 60 {
		var won atomic.Pointer[engine.Detail]
		var racers sync.WaitGroup
		now.Add(holdsFor.Milliseconds() + 3600_000)
		for i := range uint32(6) {
			racers.Go(func() {
				got, _, err := e.Create(context.Background(), engine.Draft{Alias: variants[i%3], Owner: i, Target: "https://x.example/"})
				if err == nil && !won.CompareAndSwap(nil, &got) {
					t.Error("two writers have won")
				} else if err != nil && !errors.Is(err, engine.ErrTaken) {
					t.Error(err)
				}
			})
		}
		racers.Wait()
		winner := won.Load()
		expect.MustThat(t, winner != nil, "round %d: nobody has won", round)
		got, err := e.Read(keyOf(winner.Code))
		expect.MustThat(t, err == nil && got.ID == winner.ID, "round %d: got %+v, %v, want %+v", round, got, err, winner)
		e.delete(t, winner.Code)
	}
	now.Add(holdsFor.Milliseconds() + 3600_000)
	eventually(t, "the last purge", func() bool {
		due, err := leftToPurge(e)
		return err == nil && len(due) == 0 && e.Metrics().Tombstones == 0
	})
}

// leftToPurge returns the deletions of both stages.
func leftToPurge(e *testEngine) ([]engine.Deletion, error) {
	leaving, err := e.gate.Deletions(true, 0, 0, engine.Endless, 9)
	left, err2 := e.gate.Deletions(false, 0, 0, engine.Endless, 9)
	return append(leaving, left...), errors.Join(err, err2)
}
