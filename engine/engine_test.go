package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/engine/index"
	"shunt/storage"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("runtime.runCleanups")) // the runtime's own, while it unmaps memory
}

// An ender can be told what to do at its end.
type ender interface {
	expect.T
	Cleanup(func())
}

// gate is the real store with gates that a test can close.
type gate struct {
	*storage.Store
	failFlush atomic.Pointer[error]               // flushes fail with it
	failAfter atomic.Int64                        // number of flushes that succeed before
	hold      atomic.Pointer[chan struct{}]       // flushes wait until it is closed
	apply     atomic.Pointer[func(commit func())] // is called with the function that hands a mutation to the store
	onView    atomic.Pointer[func()]              // runs before a view is taken
	listings  atomic.Int64                        // that were opened
	listed    atomic.Int64                        // records that listings have read
	tagRows   atomic.Int64                        // rows of tags that listings were asked to read
	flushed   atomic.Uint64                       // flushes that reached the store
	tooLarge  atomic.Int64                        // number of flushes that are refused as too large
	failPurge atomic.Pointer[error]               // purges fail with it
	failBulk  atomic.Pointer[error]               // bulks fail with it
}

func (g *gate) Flush(b engine.FlushBatch) error {
	if c := g.hold.Load(); c != nil {
		<-*c
	}
	if err := g.failFlush.Load(); err != nil && g.failAfter.Add(-1) < 0 {
		return *err
	}
	if g.tooLarge.Load() > 0 {
		g.tooLarge.Add(-1)
		return fmt.Errorf("gate: %w", engine.ErrFlushTooLarge)
	}
	g.flushed.Add(1)
	return g.Store.Flush(b)
}

func (g *gate) View() (engine.View, error) {
	if f := g.onView.Load(); f != nil {
		(*f)()
	}
	return g.Store.View()
}

// readLife returns the tally of a link that the store itself has.
func (g *gate) readLife(id uint64) (engine.Tally, uint64, error) {
	v, err := g.Store.View()
	if err != nil {
		return engine.Tally{}, 0, err
	}
	t, err := v.ReadLife(id, engine.Visitors|engine.Breakdowns)
	return t, v.FlushSeq(), errors.Join(err, v.Close())
}

func (g *gate) Apply(m engine.Mutation, done func(error)) {
	if err := g.failPurge.Load(); err != nil && m.Purge != nil {
		done(*err)
		return
	}
	if f := g.apply.Load(); f != nil {
		(*f)(func() { g.Store.Apply(m, done) })
		return
	}
	g.Store.Apply(m, done)
}

// inMemory returns a folder for journals until t ends, in memory if the system has such a file system: a test of
// random histories makes thousands of them, which a disk would have to sync.
func inMemory(t ender) string {
	dir, err := os.MkdirTemp("/dev/shm", "shunt-")
	if err != nil {
		dir, err = os.MkdirTemp("", "shunt-")
	}
	expect.OK(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// testEngine is a running engine on a real store in memory.
type testEngine struct {
	*engine.Engine
	gate        *gate
	fs          vfs.FS       // of the store
	stopEngine  func()       // ends the engine's Run and joins it
	closeEngine func() error // calls stopEngine and closes the engine
	stop        func()       // calls closeEngine, ends the store's Run and closes it
}

func newTestEngine(t *testing.T, o engine.Options) *testEngine {
	t.Helper()
	fs := vfs.NewMem()
	store, err := storage.Open("data", storage.Options{Create: true, FS: fs})
	expect.OK(t, err)
	g := &gate{Store: store}
	if o.JournalDir == "" {
		o.JournalDir = filepath.Join(inMemory(t), "journal")
	}
	if o.RingRecords == 0 {
		o.Rings, o.RingRecords = 2, 1024
	}
	e, err := engine.Open(g, o)
	expect.OK(t, err)
	expect.OK(t, e.Load(context.Background(), nil))
	ctx, cancelEngine := context.WithCancel(context.Background())
	storeCtx, cancelStore := context.WithCancel(context.Background())
	var engineDone, storeDone sync.WaitGroup
	engineDone.Go(func() { _ = e.Run(ctx) })
	storeDone.Go(func() { _ = store.Run(storeCtx) })
	stopEngine := func() {
		cancelEngine()
		engineDone.Wait()
	}
	closeEngine := sync.OnceValue(func() error {
		stopEngine()
		return e.Close()
	})
	stop := sync.OnceFunc(func() {
		err := closeEngine()
		cancelStore()
		storeDone.Wait()
		expect.NoError(t, errors.Join(err, store.Close()))
	})
	t.Cleanup(stop)
	return &testEngine{Engine: e, gate: g, fs: fs, stopEngine: stopEngine, closeEngine: closeEngine, stop: stop}
}

func (e *testEngine) create(t *testing.T, alias string) index.Link {
	t.Helper()
	_, _, err := e.Create(context.Background(), engine.Draft{Alias: alias, Owner: 1, Target: "https://example.com/" + alias})
	expect.OK(t, err)
	l, ok := e.Resolve(keyOf(alias).View())
	expect.MustThat(t, ok, "%s does not resolve", alias)
	return l
}

func (e *testEngine) stats(t *testing.T, code string) engine.Stats {
	t.Helper()
	s, err := e.Stats(context.Background(), keyOf(code))
	expect.OK(t, err)
	return s
}

// eventually waits until ok returns true because of other goroutines.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for tick := time.Tick(time.Millisecond); !ok(); {
		select {
		case <-tick:
		case <-deadline:
			t.Fatalf("waited 30 s for %s", what)
		}
	}
}

func TestResolveAndHitAllocateNothing(t *testing.T) {
	e := newTestEngine(t, engine.Options{FlushInterval: time.Hour, Rings: 1, RingRecords: 1 << 14})
	e.create(t, "plain")
	_, _, err := e.Create(context.Background(), engine.Draft{
		Alias: "capped", Owner: 1, Target: "https://x.example", MaxHits: 1 << 40, ExpiresAt: time.Now().Add(time.Hour),
	})
	expect.OK(t, err)
	for _, code := range []string{"plain", "capped", "nosuchcode"} {
		code := []byte(code)
		allocs := testing.AllocsPerRun(1000, func() {
			if l, ok := e.Resolve(viewOf(code)); ok && !l.Expired(1) {
				e.Hit(l, engine.Visit{Visitor: 1, NowMs: 1})
				l.Release()
			}
		})
		// The background fold allocates now and then; one allocation in a thousand is not the
		// redirect's.
		if allocs > 0 {
			t.Errorf("a redirect of %s allocates %v times", code, allocs)
		}
	}
}

func TestCallersReadTheirOwnHits(t *testing.T) {
	e := newTestEngine(t, engine.Options{FlushInterval: time.Millisecond})
	l := e.create(t, "own")
	defer l.Release()
	var others sync.WaitGroup
	var stop atomic.Bool
	other := e.create(t, "other")
	others.Go(func() {
		for !stop.Load() {
			e.Hit(other, engine.Visit{Visitor: 5, NowMs: time.Now().UnixMilli()})
		}
	})
	for n := uint64(1); n <= 500 || e.gate.flushed.Load() < 5; n++ {
		e.Hit(l, engine.Visit{Visitor: hashed(n), NowMs: time.Now().UnixMilli()})
		e.Hit(l, engine.Visit{Kind: engine.Kind(engine.ClassBot), NowMs: time.Now().UnixMilli()}) // counted nowhere but in tallies
		expect.MustEqual(t, e.stats(t, "own"), engine.Stats{Hits: n, Unique: n, Bots: n}, "after %d hits by as many visitors, and as many bots, the stats", n)
	}
	stop.Store(true)
	others.Wait()
}

func TestAFailedFlushIsCommittedLaterAndOnce(t *testing.T) {
	e := newTestEngine(t, engine.Options{FlushInterval: time.Millisecond})
	l := e.create(t, "x")
	boom := errors.New("boom")
	e.gate.failFlush.Store(&boom)
	for n := range uint64(100) {
		e.Hit(l, engine.Visit{Visitor: hashed(n), NowMs: time.Now().UnixMilli()})
	}
	eventually(t, "a few failures", func() bool { return e.Metrics().FlushErrors > 3 })
	for n := range uint64(50) {
		e.Hit(l, engine.Visit{Visitor: hashed(1000 + n), NowMs: time.Now().UnixMilli()})
	}
	want := engine.Stats{Hits: 150, Unique: 150}
	expect.Equal(t, e.stats(t, "x"), want, "while flushes fail")
	e.gate.failFlush.Store(nil)
	tally := func() engine.Tally {
		tally, _, err := e.gate.readLife(l.ID())
		expect.OK(t, err)
		return tally
	}
	eventually(t, "everything to be durable", func() bool { return tally().Hits >= 150 })
	expect.Equal(t, e.stats(t, "x"), want, "after flushes go again")
	expect.OK(t, e.closeEngine())
	if got := tally(); got.Hits != 150 || got.Visitors.Count() != 150 {
		t.Errorf("the store has %d hits of %d visitors, want 150 of 150", got.Hits, got.Visitors.Count())
	}
	l.Release()
}

// TestAStalledStoreDoesNotStopRedirects holds a flush while more hits come than the rings have room
// for.
func TestAStalledStoreDoesNotStopRedirects(t *testing.T) {
	e := newTestEngine(t, engine.Options{FlushInterval: time.Millisecond, Rings: 1, RingRecords: 256})
	l := e.create(t, "x")
	hold := make(chan struct{})
	e.gate.hold.Store(&hold)
	const hits = 5000
	for n := range uint64(hits) {
		e.Hit(l, engine.Visit{Visitor: hashed(n % 300), NowMs: time.Now().UnixMilli()})
	}
	expect.That(t, e.Metrics().JournalUnprotected != 0, "nothing says that a crash would lose hits now")
	want := engine.Stats{Hits: hits, Unique: 300}
	expect.Equal(t, e.stats(t, "x"), want, "while the store stalls")
	e.gate.hold.Store(nil)
	close(hold)
	eventually(t, "everything to be durable", func() bool {
		tally, _, err := e.gate.readLife(l.ID())
		return err == nil && tally.Hits == hits
	})
	expect.Equal(t, e.stats(t, "x"), want, "after the stall")
	eventually(t, "the engine to know that", func() bool { return e.Metrics().JournalUnprotected == 0 })
	l.Release()
}

// TestCloseFlushesWhatAFailedFlushLeft stops an engine whose flushes failed for a while, after more
// hits than the rings hold.
func TestCloseFlushesWhatAFailedFlushLeft(t *testing.T) {
	e := newTestEngine(t, engine.Options{FlushInterval: time.Millisecond, Rings: 1, RingRecords: 256})
	l := e.create(t, "x")
	boom := errors.New("boom")
	e.gate.failFlush.Store(&boom)
	const hits = 2000
	for n := range uint64(hits) {
		e.Hit(l, engine.Visit{Visitor: hashed(n % 300), NowMs: time.Now().UnixMilli()})
	}
	eventually(t, "a failure", func() bool { return e.Metrics().FlushErrors > 0 })
	e.stopEngine()
	e.gate.failFlush.Store(nil)
	expect.OK(t, e.closeEngine())
	if tally, _, err := e.gate.readLife(l.ID()); err != nil || tally.Hits != hits || tally.Visitors.Count() != 300 {
		t.Errorf("the store has %d hits of %d visitors, %v; want %d of 300", tally.Hits, tally.Visitors.Count(), err, hits)
	}
	l.Release()
}

// TestStatsOutliveARewriteOfTheirShard edits the link while its tally is read: that rewrites its
// shard and unmaps the old arena.
func TestStatsOutliveARewriteOfTheirShard(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	e.create(t, "x").Release()
	long := "https://example.com/" + strings.Repeat("x", 8000)
	reads := 0
	onRead := func() {
		reads++
		for i := range 40 {
			_, err := e.Update(context.Background(), keyOf("x"), engine.Guard{AnyOwner: true}, func(r *engine.Record) error {
				r.Hot.Target = fmt.Sprintf("%s%d", long, i)
				return nil
			})
			expect.NoError(t, err)
		}
		for range 3 {
			runtime.GC()
		}
	}
	e.gate.onView.Store(&onRead)
	s := e.stats(t, "x")
	expect.That(t, s == (engine.Stats{}) && reads == 1, "stats %+v after %d reads of the store", s, reads)
}

// TestACreateThatTheStoreDoesNotAnswerIsUnknown uses a fake clock.
func TestACreateThatTheStoreDoesNotAnswerIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTestEngine(t, engine.Options{})
		defer e.stop()
		e.create(t, "before") // has ids allocated
		var held func()
		stall := func(commit func()) { held = commit }
		e.gate.apply.Store(&stall)
		ctx, draft := context.Background(), engine.Draft{Alias: "x", Owner: 1, Target: "https://example.com/x"}

		start := time.Now()
		_, _, err := e.Create(ctx, draft)
		expect.Error(t, err, engine.ErrOutcomeUnknown, "first create")
		expect.Equal(t, time.Since(start), engine.CommitTimeout, "it took")
		_, ok := e.Resolve(keyOf("x").View())
		expect.That(t, !ok, "it is visible before it is durable")
		_, _, err = e.Create(ctx, draft)
		expect.Error(t, err, engine.ErrOverloaded, "another create of the same alias while the first is under way")
		e.gate.apply.Store(nil)
		held()
		synctest.Wait()
		if _, ok := e.Resolve(keyOf("x").View()); !ok {
			t.Error("it is durable and not visible")
		}
		_, _, err = e.Create(ctx, draft)
		expect.Error(t, err, engine.ErrTaken, "another create after it")
	})
}

func TestNothingIsServedOrWrittenBeforeLoading(t *testing.T) {
	store, err := storage.Open("data", storage.Options{Create: true, FS: vfs.NewMem()})
	expect.OK(t, err)
	defer store.Close()
	e, err := engine.Open(store, engine.Options{JournalDir: t.TempDir(), Rings: 1, RingRecords: 256})
	expect.OK(t, err)
	ctx := context.Background()
	_, _, createErr := e.Create(ctx, engine.Draft{Target: "https://example.com"})
	_, updateErr := e.Update(ctx, keyOf("x"), engine.Guard{}, nil)
	_, readErr := e.Read(keyOf("x"))
	_, statsErr := e.Stats(ctx, keyOf("x"))
	for what, err := range map[string]error{
		"create": createErr, "update": updateErr, "read": readErr, "stats": statsErr, "delete": e.Delete(ctx, keyOf("x"), engine.Guard{}),
	} {
		expect.Error(t, err, engine.ErrLoading, "%s", what)
	}
	expect.That(t, !e.Ready(), "ready before loading")
	expect.NoError(t, e.Close())
}

func TestACodeIsDrawnAgainWhileItIsTaken(t *testing.T) {
	draw := strings.Repeat("\x01", 16)
	draws := strings.NewReader(draw + draw + strings.Repeat("\x0b", 16) + strings.Repeat("\x25", 16) + strings.Repeat("\x02", 16))
	e := newTestEngine(t, engine.Options{Random: draws})
	var codes []string
	for range 3 {
		d, _, err := e.Create(context.Background(), engine.Draft{Owner: 1, Target: "https://example.com"})
		expect.OK(t, err)
		codes = append(codes, d.Code)
	}
	// BBBBBBBB (11) is free, bbbbbbbb (37) differs from it only by case.
	expect.Slices(t, codes, []string{"11111111", "BBBBBBBB", "22222222"}, "drew")
	_, _, err := e.Create(context.Background(), engine.Draft{Owner: 1, Target: "https://example.com"})
	expect.That(t, err != nil, "no error when no randomness is left")
}

func TestImpossibleOptionsAreRefused(t *testing.T) {
	for name, o := range map[string]engine.Options{
		"no journal folder":        {},
		"three rings":              {JournalDir: "x", Rings: 3},
		"too many rings":           {JournalDir: "x", Rings: 128},
		"rings of 1000":            {JournalDir: "x", RingRecords: 1000},
		"tiny rings":               {JournalDir: "x", RingRecords: 64},
		"a flush every nanosecond": {JournalDir: "x", FlushInterval: 1},
		"a flush every day":        {JournalDir: "x", FlushInterval: 24 * time.Hour},
	} {
		expect.That(t, expect.Err(engine.Open(&gate{}, o)) != nil, "%s: no error", name)
	}
}

func TestTooLargeFieldsAreRefused(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	for name, d := range map[string]engine.Draft{
		"no target":           {},
		"a 9,000-byte target": {Target: string(make([]byte, 9000))},
		"a long title":        {Target: "x", Texts: engine.Texts{Title: string(make([]byte, 513))}},
		"many tags":           {Target: "x", Tags: make([]string, 33)},
		"an empty tag":        {Target: "x", Tags: []string{""}},
		"a long tag":          {Target: "x", Tags: []string{string(make([]byte, 65))}},
		"status 303":          {Target: "x", RedirectStatus: 303},
	} {
		var invalid engine.InvalidError
		_, _, err := e.Create(context.Background(), d)
		expect.That(t, errors.As(err, &invalid), "%s: got %v, want an InvalidError", name, err)
	}
	expect.Equal(t, e.Metrics().Links, 0, "links were made")
}

// keyOf returns the key of a code in the default domain.
func keyOf(code string) engine.Key { return engine.Key{Domain: engine.DefaultDomain, Code: code} }

// viewOf returns a view of the same.
func viewOf(code []byte) engine.KeyView {
	return engine.KeyView{Domain: engine.DefaultDomain, Code: code}
}
