package engine_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage"
)

// request returns a request of sender 1 under a key.
func request(key string) engine.Request {
	q := engine.Request{RequestKey: engine.RequestKey{Sender: [32]byte{1}}, Body: [16]byte{1}}
	copy(q.Key[:], key)
	return q
}

// once makes a link with a request that may be repeated.
func (e *testEngine) once(key string) (engine.Detail, error) {
	return createOnce(e.Engine, key)
}

func createOnce(e *engine.Engine, key string) (engine.Detail, error) {
	d, _, err := e.CreateOnce(context.Background(), request(key), func() (engine.Draft, error) {
		return engine.Draft{Owner: 1, Target: "https://example.com/" + key}, nil
	})
	return d, err
}

// TestARepeatAfterAnUnknownOutcomeGetsTheLink uses a fake clock.
func TestARepeatAfterAnUnknownOutcomeGetsTheLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTestEngine(t, engine.Options{})
		defer e.stop()
		e.create(t, "before").Release() // has ids allocated
		var held func()
		stall := func(commit func()) { held = commit }
		e.gate.apply.Store(&stall)
		_, err := e.once("key")
		expect.Error(t, err, engine.ErrOutcomeUnknown, "the first")
		start := time.Now()
		if _, err := e.once("key"); !errors.Is(err, engine.ErrOutcomeUnknown) || time.Since(start) != engine.CommitTimeout {
			t.Errorf("a repeat while the first is under way: %v after %v", err, time.Since(start))
		}
		e.gate.apply.Store(nil)
		expect.NoError(t, expect.Err(e.once("another key")), "another request meanwhile")
		links := e.Metrics().Links
		var waiting sync.WaitGroup
		var details [3]engine.Detail
		for i := range details {
			waiting.Go(func() {
				var err error
				if details[i], err = e.once("key"); err != nil {
					t.Errorf("a repeat that waits: %v", err)
				}
			})
		}
		synctest.Wait()
		held()
		waiting.Wait()
		again, err := e.once("key")
		expect.That(t, err == nil && again.Code != "" && details[0].Code == again.Code && details[1].Code == again.Code && details[2].Code == again.Code,
			"repeats got %q, %q, %q and later %q, %v", details[0].Code, details[1].Code, details[2].Code, again.Code, err)
		if l, ok := e.Resolve(keyOf(again.Code).View()); !ok || e.Metrics().Links != links+1 {
			t.Errorf("%d links more, want 1", e.Metrics().Links-links)
		} else {
			l.Release()
		}
	})
}

// failing is a store that refuses mutations while err is set.
type failing struct {
	*storage.Store
	err atomic.Pointer[error]
}

func (f *failing) Apply(m engine.Mutation, done func(error)) {
	if err := f.err.Load(); err != nil {
		done(*err)
		return
	}
	f.Store.Apply(m, done)
}

// A keeper is an engine on a store on disk, which can be opened again, and a clock.
type keeper struct {
	*engine.Engine
	store *failing
	close func()
}

func openKeeper(t *testing.T, dir string, now func() time.Time, maxReceipts int) *keeper {
	t.Helper()
	store, err := storage.Open(filepath.Join(dir, "data"), storage.Options{Create: true})
	expect.OK(t, err)
	k := &keeper{store: &failing{Store: store}}
	k.Engine, err = engine.Open(k.store, engine.Options{
		JournalDir: filepath.Join(dir, "journal"), Rings: 1, RingRecords: 256, Now: now, ClockSettles: -1, MaxReceipts: maxReceipts,
	})
	expect.OK(t, err)
	expect.OK(t, k.Load(context.Background(), nil))
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = store.Run(ctx) })
	running.Go(func() { k.RefillIDs(ctx) }) // no loops: the test decides when to roll up
	k.close = sync.OnceFunc(func() {
		expect.NoError(t, k.Engine.Close())
		cancel()
		running.Wait()
		expect.NoError(t, store.Close())
	})
	t.Cleanup(k.close)
	return k
}

func TestReceiptsOutliveARestartAndStillCount(t *testing.T) {
	dir := t.TempDir()
	k := openKeeper(t, dir, time.Now, 3)
	var first [3]engine.Detail
	for i := range first {
		var err error
		first[i], err = createOnce(k.Engine, fmt.Sprint(i))
		expect.OK(t, err)
	}
	k.close()
	k = openKeeper(t, dir, time.Now, 3)
	for i := range first {
		d, err := createOnce(k.Engine, fmt.Sprint(i))
		expect.That(t, err == nil && d.Code == first[i].Code && d.Version == 1, "after a restart: got %+v, %v, want %+v", d, err, first[i])
	}
	_, err := createOnce(k.Engine, "fourth")
	expect.Error(t, err, engine.ErrTooManyReceipts, "a fourth key")
	expect.Equal(t, k.Metrics().Links, 3, "links")
}

func TestExpiredReceiptsAreSweptAndMakeRoom(t *testing.T) {
	var nowMs atomic.Int64
	nowMs.Store(time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC).UnixMilli())
	pass := func(d time.Duration) { nowMs.Add(d.Milliseconds()) }
	k := openKeeper(t, t.TempDir(), func() time.Time { return time.UnixMilli(nowMs.Load()) }, 2)
	turn := func() {
		expect.OK(t, k.RollUp(context.Background()))
	}
	room := func(key string) bool {
		_, err := createOnce(k.Engine, key)
		expect.MustThat(t, err == nil || errors.Is(err, engine.ErrTooManyReceipts), "%v", err)
		return err == nil
	}
	turn()
	expect.MustThat(t, room("a"), "no room for the first")
	pass(time.Hour)
	expect.MustThat(t, room("b") && !room("c"), "there is not room for two")
	pass(engine.ReceiptLife - time.Hour)
	turn() // a is a day old to the millisecond, and expired; the sweep deletes only older ones
	expect.That(t, !room("c"), "there is room before a sweep has found the first too old")
	pass(engine.ReceiptSweepInterval - time.Millisecond)
	turn()
	expect.That(t, !room("c"), "the next sweep is early")
	pass(time.Millisecond)
	turn()
	expect.That(t, room("c") && !room("d"), "a sweep does not make room for one")
	_, err := k.store.ReadReceipt(request("a").RequestKey)
	expect.Error(t, err, engine.ErrNotFound, "the first receipt")
	expect.Equal(t, k.Metrics().Links, 3, "links")
}

func TestAFailedRequestLeavesItsKeyFree(t *testing.T) {
	k := openKeeper(t, t.TempDir(), time.Now, 1)
	for i, refused := range []error{engine.ErrOverloaded, engine.ErrClosed, errors.New("disk")} {
		k.store.err.Store(&refused)
		_, err := createOnce(k.Engine, fmt.Sprint(i))
		expect.Error(t, err, refused, "the error")
	}
	k.store.err.Store(nil)
	badDraft := errors.New("bad draft")
	_, _, err := k.CreateOnce(context.Background(), request("x"), func() (engine.Draft, error) { return engine.Draft{}, badDraft })
	expect.Error(t, err, badDraft, "the error")
	func() {
		defer func() { _ = recover() }()
		_, _, _ = k.CreateOnce(context.Background(), request("x"), func() (engine.Draft, error) { panic("in a draft") })
	}()
	expect.NoError(t, expect.Err(createOnce(k.Engine, "x")), "after failures")
}

// TestASweepSkipsTheKeyOfACreateUnderWay sweeps while the store has a request whose last receipt is
// expired.
func TestASweepSkipsTheKeyOfACreateUnderWay(t *testing.T) {
	var passed atomic.Int64
	e := newTestEngine(t, engine.Options{
		Now:          func() time.Time { return time.Now().Add(time.Duration(passed.Load())) },
		ClockSettles: -1, FlushInterval: time.Hour, MaxReceipts: 1,
	})
	_, err := e.once("key")
	expect.OK(t, err)
	passed.Store(int64(engine.ReceiptLife + time.Hour))
	inStore := make(chan func(), 1)
	stall := func(commit func()) { inStore <- commit }
	e.gate.apply.Store(&stall)
	var made engine.Detail
	var making sync.WaitGroup
	making.Go(func() {
		var err error
		made, err = e.once("key")
		expect.NoError(t, err)
	})
	commit := <-inStore
	expect.OK(t, e.RollUp(context.Background()))
	expect.NoError(t, expect.Err(e.gate.ReadReceipt(request("key").RequestKey)), "the old receipt was swept")
	e.gate.apply.Store(nil)
	commit()
	making.Wait()
	d, err := e.once("key")
	expect.That(t, err == nil && d.Code == made.Code, "a repeat got %q, %v, want %q", d.Code, err, made.Code)
	_, err = e.once("another")
	expect.Error(t, err, engine.ErrTooManyReceipts, "a second key")
}

// TestASweepKeepsReceiptsThatAreWrittenAgain repeats requests with expired receipts while these are
// swept.
func TestASweepKeepsReceiptsThatAreWrittenAgain(t *testing.T) {
	var nowMs atomic.Int64
	nowMs.Store(time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC).UnixMilli())
	const keys = 50
	k := openKeeper(t, t.TempDir(), func() time.Time { return time.UnixMilli(nowMs.Load()) }, keys)
	for range 10 {
		nowMs.Add((engine.ReceiptLife + engine.ReceiptSweepInterval).Milliseconds())
		var made [keys]engine.Detail
		var racing sync.WaitGroup
		for i := range keys {
			racing.Go(func() {
				var err error
				made[i], err = createOnce(k.Engine, fmt.Sprint(i))
				expect.NoError(t, err)
			})
		}
		expect.OK(t, k.RollUp(context.Background()))
		racing.Wait()
		for i := range made {
			d, err := createOnce(k.Engine, fmt.Sprint(i))
			expect.MustThat(t, err == nil && d.Code == made[i].Code, "request %d: made %q, and its repeat got %q, %v", i, made[i].Code, d.Code, err)
		}
		expect.MustError(t, expect.Err(createOnce(k.Engine, "one more")), engine.ErrTooManyReceipts, "one more than there is room for")
	}
}

// modelReceipt is the model's entry of an answered request.
type modelReceipt struct {
	body [16]byte
	atMs int64
	link engine.Detail
}

// createOnce makes a link with a request of one of three keys; it may be a repeat.
func (m *model) createOnce(rt *rapid.T) {
	q := engine.Request{Body: [16]byte{rapid.ByteMax(1).Draw(rt, "body")}}
	q.Key[0] = rapid.ByteMax(2).Draw(rt, "key")
	old, asked := m.receipts[q.RequestKey], false
	if old != nil && m.nowMs.Load()-old.atMs >= engine.ReceiptLife.Milliseconds() {
		old = nil
	}
	d := m.drawDraft(rt)
	got, existed, err := m.e.CreateOnce(context.Background(), q, func() (engine.Draft, error) {
		asked = true
		return d, nil
	})
	expect.MustThat(rt, asked == (old == nil) && !existed, "the draft was asked for: %v; existed: %v", asked, existed)
	switch {
	case old != nil && old.body != q.Body:
		expect.MustError(rt, err, engine.ErrMismatch, "another body: %+v", got)
	case err != nil:
		rt.Fatalf("create: %v", err)
	case old != nil:
		got.Hits, got.State = old.link.Hits, old.link.State // these are of now
		expect.MustEqual(rt, fmt.Sprint(got), fmt.Sprint(old.link), "a repeat: %+v, and first %+v", got, old.link)
	default:
		m.mayPublish(got.Code, d.Target)
		m.links[got.Code] = newModelLink(d)
		m.receipts[q.RequestKey] = &modelReceipt{q.Body, m.nowMs.Load(), got}
	}
}
