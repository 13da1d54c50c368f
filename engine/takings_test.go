package engine_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage"
)

// takings is an engine without loops, on a store that says what the engine must know: whose each
// code is or was.
type takings struct {
	fs    *vfs.MemFS
	dir   string
	disk  *storage.Store
	store *counting // on disk
	e     *engine.Engine
	now   time.Time

	stop func() // the allocation of ids, and the store's Run
}

func newTakings(t ender) *takings {
	k := &takings{fs: vfs.NewMem(), dir: inMemory(t), now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)}
	k.open(t)
	t.Cleanup(func() { k.close(t) })
	return k
}

func (k *takings) open(t expect.T) {
	var err error
	k.disk, err = storage.Open("data", storage.Options{Create: true, FS: k.fs})
	expect.OK(t, err)
	k.store = &counting{Store: k.disk, refused: map[string]bool{}}
	k.e, err = engine.Open(k.store, engine.Options{
		JournalDir: filepath.Join(k.dir, "journal"), Rings: 1, RingRecords: 256,
		Now: func() time.Time { return k.now }, ClockSettles: -1,
	})
	expect.OK(t, err)
	expect.OK(t, k.e.Load(context.Background(), nil))
	stopStore, stopIDs := start(func(ctx context.Context) { _ = k.disk.Run(ctx) }), start(k.e.RefillIDs)
	k.stop = func() { stopIDs(); stopStore() }
}

func (k *takings) close(t expect.T) {
	expect.OK(t, k.e.Flush())
	k.stop()
	expect.OK(t, errors.Join(k.e.Close(), k.disk.Close()))
}

var takenCodes = []string{"ab", "aB", "Ab"}

// record returns what the store itself has of a code.
func (k *takings) record(rt *rapid.T, code string) (r engine.Record, ok bool) {
	r, err := k.disk.ReadRecord(keyOf(code))
	expect.MustThat(rt, err == nil || errors.Is(err, engine.ErrNotFound), "%v", err)
	return r, err == nil
}

// mayTake is the contract's rule, by what the store has: whether owner may take code, and which
// version the new link has.
func (k *takings) mayTake(rt *rapid.T, code string, owner uint32, imported bool) (ok bool, version uint64) {
	holds := func(r engine.Record) bool { return k.e.TombstoneHolds(r.Hot.DeletedAtMs) }
	live := func(r engine.Record) bool { return r.Hot.Flags&engine.FlagTombstone == 0 }
	own, there := k.record(rt, code)
	if there && (live(own) || own.Hot.Owner != owner && holds(own)) {
		return false, 0
	}
	version = 1
	if there {
		version = own.Cold.Version + 2
	}
	formerOwner := there && holds(own)
	for _, variant := range takenCodes {
		r, there := k.record(rt, variant)
		if imported || !there || variant == code {
			continue
		}
		if live(r) && r.Hot.Owner == owner || !formerOwner && r.Hot.Owner != owner && (live(r) || holds(r)) {
			return false, 0
		}
	}
	return true, version
}

// TestCreatesKnowAllThatTheStoreHas makes, imports, deletes and purges variants of one code by
// several owners. The clock goes ahead and back in between, purges fail, and the engine restarts.
// Creates that the store would refuse are refused, others are not, and no version comes again.
func TestCreatesKnowAllThatTheStoreHas(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		k := newTakings(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"create":                              k.create,
			"delete":                              k.delete,
			"create, then delete at another time": func(rt *rapid.T) { k.create(rt); k.setClock(rt); k.delete(rt) },
			"clock":                               k.setClock,
			"purge":                               k.purge,
			"restart":                             func(rt *rapid.T) { k.close(rt); k.open(rt) },
		})
	})
}

func (k *takings) create(rt *rapid.T) {
	code := rapid.SampledFrom(takenCodes).Draw(rt, "code")
	d := engine.Draft{Alias: code, Owner: rapid.Uint32Range(1, 2).Draw(rt, "owner"), Target: "https://x.example/"}
	if rapid.Bool().Draw(rt, "imported") {
		d.Import = &engine.Import{CreatedAt: k.now, UpdatedAt: k.now}
	}
	may, version := k.mayTake(rt, code, d.Owner, d.Import != nil)
	got, _, err := k.e.Create(context.Background(), d)
	switch {
	case !may && !errors.Is(err, engine.ErrTaken):
		rt.Fatalf("create of %s by %d, which is taken: %+v, %v", code, d.Owner, got, err)
	case may && (err != nil || got.Version != version):
		rt.Fatalf("create of %s by %d, which is free: version %d, %v, want version %d", code, d.Owner, got.Version, err, version)
	}
}

func (k *takings) delete(rt *rapid.T) {
	code := rapid.SampledFrom(takenCodes).Draw(rt, "code")
	err := k.e.Delete(context.Background(), keyOf(code), engine.Guard{AnyOwner: true})
	expect.MustThat(rt, err == nil || errors.Is(err, engine.ErrNotFound), "%v", err)
}

func (k *takings) setClock(rt *rapid.T) {
	days := rapid.SampledFrom([]int{-91, -40, 40, 91}).Draw(rt, "days")
	k.now = k.now.Add(time.Duration(days) * 24 * time.Hour)
}

// purge purges what is due, except some codes.
func (k *takings) purge(rt *rapid.T) {
	clear(k.store.refused)
	for _, code := range rapid.SliceOfN(rapid.SampledFrom(takenCodes), 0, 3).Draw(rt, "refused") {
		k.store.refused[code] = true
	}
	for range 2 {
		expect.OK(rt, k.e.RollUp(context.Background()))
	}
}

func TestACreateAsksTheStoreNothingAboutACodeThatNeverWas(t *testing.T) {
	k := newTakings(t)
	create := func(d engine.Draft, want int64) {
		t.Helper()
		k.store.reads.Store(0)
		d.Owner, d.Target = 1, "https://x.example/"
		_, _, err := k.e.Create(t.Context(), d)
		expect.OK(t, err)
		expect.Equal(t, k.store.reads.Load(), want, "%+v: reads of the store", d)
	}
	create(engine.Draft{}, 0)
	create(engine.Draft{Alias: "new"}, 0)
	create(engine.Draft{Alias: "imported", Import: &engine.Import{CreatedAt: k.now, UpdatedAt: k.now}}, 0)
	expect.OK(t, k.e.Delete(t.Context(), keyOf("new"), engine.Guard{AnyOwner: true}))
	create(engine.Draft{Alias: "New"}, 1) // a variant was there
	k.store.reads.Store(0)
	bulk := make([]engine.BulkItem, 20)
	for i := range bulk {
		bulk[i].Draft = engine.Draft{Owner: 1, Target: "https://x.example/"}
		if i%2 == 0 {
			bulk[i].Draft.Alias = fmt.Sprintf("%s%d", strings.Repeat("x", i), i)
		}
	}
	_, err := k.e.CreateBulk(t.Context(), bulk)
	expect.That(t, err == nil && k.store.reads.Load() == 0, "a bulk: %d reads of the store, %v", k.store.reads.Load(), err)
}

// A variant takes the slot of a tombstone, and is deleted when the clock has gone back: so it is
// free before the tombstone is.
func TestATombstoneWithoutSlotStillBlocksVariants(t *testing.T) {
	k := newTakings(t)
	const days = 24 * time.Hour
	make := func(code string, owner uint32) error {
		_, _, err := k.e.Create(t.Context(), engine.Draft{Alias: code, Owner: owner, Target: "https://x.example/"})
		return err
	}
	for _, step := range []struct {
		code  string
		clock time.Duration
	}{{"ab", 91 * days}, {"aB", -91 * days}} {
		expect.OK(t, make(step.code, 1))
		k.now = k.now.Add(step.clock)
		expect.OK(t, k.e.Delete(t.Context(), keyOf(step.code), engine.Guard{Owner: 1}))
	}
	k.now = k.now.Add(91 * days)
	for _, when := range []string{"before a purge", "after it"} {
		for _, code := range takenCodes {
			expect.Error(t, make(code, 2), engine.ErrTaken, "%s: %s for somebody else", when, code)
		}
		expect.OK(t, k.e.RollUp(t.Context()))
	}
	k.now = k.now.Add(91 * days)
	expect.Error(t, make("Ab", 2), nil, "when all are free")
}
