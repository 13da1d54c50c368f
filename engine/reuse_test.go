package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/engine/index"
	"shunt/storage"
)

const reusedTarget = "https://reused.example/"

// toReuse is a draft of an owner that asks for the title of a link, too.
func toReuse(owner uint32, title string) engine.Draft {
	return engine.Draft{
		Owner: owner, Domain: index.DomainOf(owner), Target: reusedTarget, Texts: engine.Texts{Title: title}, Reuse: true,
		Same: func(l engine.Detail) bool { return l.Title == title },
	}
}

// reuse asks for a link to reuse.
func (e *testEngine) reuse(t testing.TB, d engine.Draft) (l engine.Detail, existed bool) {
	t.Helper()
	l, existed, err := e.Create(context.Background(), d)
	expect.OK(t, err)
	return l, existed
}

// tries creates a link.
func (e *testEngine) tries(d engine.Draft) error {
	_, _, err := e.Create(context.Background(), d)
	return err
}

// wantReusable checks the store: it has that many rows of links to reuse, and no fault.
func (e *testEngine) wantReusable(t testing.TB, want uint64) {
	t.Helper()
	v, faults := e.gate.Inspect(), new(engine.Faults)
	report, err := v.Check(context.Background(), storage.CheckOptions{Faults: faults})
	expect.OK(t, errors.Join(err, v.Close()))
	first, total := faults.Found()
	expect.That(t, total == 0 && report.Reuse == want, "got %d rows of links to reuse, want %d, and faults %+v", report.Reuse, want, first)
}

func TestConcurrentCreatesWithReuseMakeOneLink(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	var all sync.WaitGroup
	var made atomic.Int64
	var codes sync.Map
	for range 64 {
		all.Go(func() {
			l, existed, err := e.Create(context.Background(), toReuse(1, "one"))
			expect.NoError(t, err)
			codes.Store(l.Code, true)
			if !existed {
				made.Add(1)
			}
		})
	}
	all.Wait()
	n := 0
	codes.Range(func(any, any) bool { n++; return true })
	expect.That(t, made.Load() == 1 && n == 1, "%d made links of %d codes", made.Load(), n)
	e.wantReusable(t, 1)
}

// TestBulksInDifferentOrdersMakeOneLinkOfEachTarget has every bulk name every target twice, and creates between them.
func TestBulksInDifferentOrdersMakeOneLinkOfEachTarget(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	const targets = 8
	var all sync.WaitGroup
	var made atomic.Int64
	item := func(n int) engine.Draft {
		d := toReuse(uint32(1+n%2), "t")
		d.Target = fmt.Sprint(reusedTarget, n)
		return d
	}
	for first := range 16 {
		all.Go(func() {
			var items []engine.BulkItem
			for n := range 2 * targets {
				step := 1 + first%2*2 // rising, or every third
				items = append(items, engine.BulkItem{Draft: item((first + n*step) % targets)})
			}
			results, err := e.CreateBulk(context.Background(), items)
			expect.NoError(t, err)
			for i := range results {
				expect.NoError(t, results[i].Err)
				if !results[i].Existed {
					made.Add(1)
				}
			}
		})
		all.Go(func() {
			_, existed, err := e.Create(context.Background(), item(first%targets))
			expect.NoError(t, err)
			if !existed {
				made.Add(1)
			}
		})
	}
	all.Wait()
	expect.Equal(t, made.Load(), targets, "links that were made")
	e.wantReusable(t, targets)
}

func TestALinkIsReusedOnlyAsLongAsItIsWhatIsAskedFor(t *testing.T) {
	ctx := context.Background()
	other := index.OwnerIn(3, 1)
	edit := func(change func(*engine.Record)) func(*testing.T, *testEngine, engine.Key) {
		return func(t *testing.T, e *testEngine, k engine.Key) {
			expect.OK(t, expect.Err(e.Update(ctx, k, engine.Guard{Owner: 1}, func(r *engine.Record) error { change(r); return nil })))
		}
	}
	nothing := edit(func(*engine.Record) {})
	for name, c := range map[string]struct {
		then   func(*testing.T, *testEngine, engine.Key)
		ask    engine.Draft
		reused bool
		rows   uint64 // when it was asked for
	}{
		"nothing happened":            {nothing, toReuse(1, "t"), true, 1},
		"another title is asked for":  {nothing, toReuse(1, "u"), false, 2},
		"another owner asks":          {nothing, toReuse(2, "t"), false, 2},
		"the owner asks elsewhere":    {nothing, toReuse(other, "t"), false, 2},
		"its note was edited":         {edit(func(r *engine.Record) { r.Cold.Note = "n" }), toReuse(1, "t"), true, 1},
		"its title was edited":        {edit(func(r *engine.Record) { r.Cold.Title = "u" }), toReuse(1, "t"), false, 2},
		"its target was edited":       {edit(func(r *engine.Record) { r.Hot.Target = "https://b.example/" }), toReuse(1, "t"), false, 2},
		"it was disabled":             {edit(func(r *engine.Record) { r.SetDisabled(true) }), toReuse(1, "t"), false, 2},
		"it expired":                  {edit(func(r *engine.Record) { r.SetExpiry(time.UnixMilli(1)) }), toReuse(1, "t"), false, 2},
		"it has not started":          {edit(func(r *engine.Record) { r.SetStart(time.Now().Add(time.Hour)) }), toReuse(1, "t"), false, 2},
		"an edit tried to make it so": {edit(func(r *engine.Record) { r.Cold.Reuse, r.Cold.Note = false, "n" }), toReuse(1, "t"), true, 1},
		"it has hits left":            {edit(func(r *engine.Record) { r.Hot.MaxHits = 2 }), toReuse(1, "t"), true, 1},
		"it is exhausted": {func(t *testing.T, e *testEngine, k engine.Key) {
			edit(func(r *engine.Record) { r.Hot.MaxHits = 1 })(t, e, k)
			l, _ := e.Resolve(k.View())
			e.Hit(l, engine.Visit{Visitor: 1, NowMs: time.Now().UnixMilli()})
			l.Release()
		}, toReuse(1, "t"), false, 2},
		"it was deleted": {func(t *testing.T, e *testEngine, k engine.Key) {
			expect.OK(t, e.Delete(ctx, k, engine.Guard{Owner: 1}))
		}, toReuse(1, "t"), false, 1},
		"its figures were reset": {func(t *testing.T, e *testEngine, k engine.Key) {
			expect.OK(t, expect.Err(e.Reset(ctx, k, engine.Guard{Owner: 1})))
		}, toReuse(1, "t"), true, 1},
		"it was given away": {func(t *testing.T, e *testEngine, k engine.Key) {
			expect.OK(t, expect.Err(e.Give(ctx, k, engine.Guard{Owner: 1}, 2, func(*engine.Record) error { return nil })))
		}, toReuse(1, "t"), false, 2},
		"the new owner asks": {func(t *testing.T, e *testEngine, k engine.Key) {
			expect.OK(t, expect.Err(e.MoveLinks(ctx, 1, 2, nil)))
		}, toReuse(2, "t"), true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			e := newTestEngine(t, engine.Options{})
			plain := toReuse(1, "t")
			plain.Reuse = false
			e.reuse(t, plain) // is never reused
			l, existed := e.reuse(t, toReuse(1, "t"))
			expect.MustThat(t, !existed, "a link that was not made to be reused is")
			c.then(t, e, l.Key)
			got, existed := e.reuse(t, c.ask)
			expect.That(t, existed == c.reused && (got.Code == l.Code) == c.reused, "got %q, existed %v, after %q", got.Code, existed, l.Code)
			e.wantReusable(t, c.rows)
			again, existed := e.reuse(t, c.ask)
			expect.That(t, existed && again.Code == got.Code, "a repeat got %q, existed %v, want %q", again.Code, existed, got.Code)
		})
	}
}

func TestALinkIsReusedForTheTargetThatItHasByNow(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	moved, _ := e.reuse(t, toReuse(1, "t"))
	expect.OK(t, expect.Err(e.Update(context.Background(), moved.Key, engine.Guard{Owner: 1}, func(r *engine.Record) error {
		r.Hot.Target = "https://b.example/"
		return nil
	})))
	d := toReuse(1, "t")
	d.Target = "https://b.example/"
	l, existed := e.reuse(t, d)
	expect.That(t, existed && l.Code == moved.Code, "got %q, existed %v, want %q", l.Code, existed, moved.Code)
	e.wantReusable(t, 1)
}

func TestTheNewestOfTheLinksIsReusedAndOnlySomeAreCompared(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	first, _ := e.reuse(t, toReuse(1, "first"))
	var items []engine.BulkItem
	for i := range 99 {
		items = append(items, engine.BulkItem{Draft: toReuse(1, fmt.Sprint(i))})
	}
	expect.OK(t, expect.Err(e.CreateBulk(context.Background(), items)))
	l, existed := e.reuse(t, toReuse(1, "first"))
	expect.That(t, existed && l.Code == first.Code, "among 100: existed %v", existed)
	whatever := toReuse(1, "")
	whatever.Same = func(engine.Detail) bool { return true }
	l, existed = e.reuse(t, whatever)
	expect.That(t, existed && l.Title == "98", "any: got %q, existed %v", l.Title, existed)
	e.reuse(t, toReuse(1, "one more"))
	_, existed = e.reuse(t, toReuse(1, "first"))
	expect.That(t, !existed, "the 101st was compared")
}

// TestABulkReadsAFixedNumberOfLinksToReuse counts the records that bulks read to find links: 1,000 items of one target
// read those of the newest links once, and of many targets each has fewer.
func TestABulkReadsAFixedNumberOfLinksToReuse(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	bulk := func(n int, item func(i int) engine.Draft) ([]engine.BulkResult, int64) {
		t.Helper()
		items, before := make([]engine.BulkItem, n), e.gate.listed.Load()
		for i := range items {
			items[i].Draft = item(i)
		}
		results, err := e.CreateBulk(context.Background(), items)
		expect.OK(t, err)
		return results, e.gate.listed.Load() - before
	}
	e.reuse(t, toReuse(1, "first"))
	_, read := bulk(99, func(i int) engine.Draft { return toReuse(1, fmt.Sprint("old ", i)) })
	expect.Equal(t, read, 1, "records that were read while there was one")
	titled := func(i int) engine.Draft { return toReuse(1, fmt.Sprint("new ", i)) }
	results, read := bulk(1000, titled)
	expect.That(t, read == 100 && !results[999].Existed, "among 100: %d records were read, existed %v", read, results[999].Existed)
	_, read = bulk(1000, titled)
	expect.Equal(t, read, 100, "records that were read again")

	other := func(targets int, title string) func(i int) engine.Draft {
		return func(i int) engine.Draft {
			d := toReuse(2, title)
			d.Target = fmt.Sprint(reusedTarget, i%targets)
			return d
		}
	}
	first, _ := e.reuse(t, other(1, "first")(0))
	for i := range 10 {
		e.reuse(t, other(1, fmt.Sprint(i))(0))
	}
	results, read = bulk(100, other(100, "first"))
	expect.That(t, read == 11 && results[0].Detail.Code == first.Code, "of 100 targets: %d records were read", read)
	results, read = bulk(1000, other(1000, "first"))
	expect.That(t, read == 10+99 && !results[0].Existed && results[99].Existed, "of 1000 targets: %d records were read, existed %v", read, results[0].Existed)
}

func TestEqualItemsOfABulkGetOneLink(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	before, _ := e.reuse(t, toReuse(1, "before"))
	off := toReuse(1, "off")
	off.Disabled = true
	titles := []engine.Draft{toReuse(1, "a"), toReuse(1, "before"), toReuse(1, "a"), toReuse(1, "b"), off, off, toReuse(2, "a"), toReuse(1, "a")}
	var items []engine.BulkItem
	for _, d := range titles {
		items = append(items, engine.BulkItem{Draft: d})
	}
	alias := toReuse(1, "a")
	alias.Alias = "alias"
	items = append(items, engine.BulkItem{Draft: alias})
	for n, q := range []engine.Request{request("1"), request("2"), request("1")} {
		results, err := e.CreateBulkOnce(context.Background(), q, items, nil)
		expect.OK(t, err)
		code := func(i int) string { return results[i].Detail.Code }
		expect.That(t, code(0) == code(2) && code(0) == code(7) && code(1) == before.Code, "%+v", results)
		expect.That(t, code(3) != code(0) && code(6) != code(0) && code(4) != code(5), "%+v", results)
		for i, made := range []bool{true, false, false, true, true, true, true, false} {
			made = made && (q == request("1") || i == 4 || i == 5)
			expect.That(t, results[i].Err == nil && results[i].Existed == !made, "%q, item %d: existed %v, %v", q.Key[:1], i, results[i].Existed, results[i].Err)
		}
		var wrong engine.InvalidError
		refused := errors.As(results[8].Err, &wrong) && wrong[0].Field == "reuse" || n == 2 && errors.Is(results[8].Err, engine.ErrRefused)
		expect.That(t, refused, "with an alias: %v", results[8].Err)
	}
	e.wantReusable(t, 1+3+2+2)
}

func TestReuseUnderAKeyGetsItsFirstAnswer(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	ask := func(key string) (engine.Detail, bool) {
		t.Helper()
		l, existed, err := e.CreateOnce(context.Background(), request(key), func() (engine.Draft, error) { return toReuse(1, "t"), nil })
		expect.OK(t, err)
		return l, existed
	}
	made, _ := ask("a")
	again, existed := ask("a")
	expect.That(t, !existed && again.Code == made.Code, "a repeat of the first: %q, existed %v", again.Code, existed)
	reused, existed := ask("b")
	expect.That(t, existed && reused.Code == made.Code, "another key: %q, existed %v", reused.Code, existed)
	e.delete(t, made.Code)
	for key, existed := range map[string]bool{"a": false, "b": true} {
		got, ok := ask(key)
		expect.That(t, ok == existed && got.Code == made.Code, "after its deletion, key %s: %q, existed %v", key, got.Code, ok)
	}
	after, existed := ask("c")
	expect.That(t, !existed && after.Code != made.Code, "a third key: %q, existed %v", after.Code, existed)
	e.wantReusable(t, 1)
}

// TestAStalledCommitLetsNoSecondLinkThrough uses a fake clock.
func TestAStalledCommitLetsNoSecondLinkThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTestEngine(t, engine.Options{})
		defer e.stop()
		e.create(t, "before").Release() // has ids allocated
		var held func()
		stall := func(commit func()) { held = commit }
		e.gate.apply.Store(&stall)
		create := func() (engine.Detail, bool, error) { return e.Create(context.Background(), toReuse(1, "t")) }
		_, _, err := create()
		expect.Error(t, err, engine.ErrOutcomeUnknown, "the first")
		e.gate.apply.Store(nil)
		_, _, err = create()
		expect.Error(t, err, engine.ErrOverloaded, "the second")
		_, err = e.CreateBulk(context.Background(), []engine.BulkItem{{Draft: toReuse(2, "t")}, {Draft: toReuse(1, "t")}})
		expect.Error(t, err, engine.ErrOverloaded, "a bulk")
		_, existed, err := e.Create(context.Background(), toReuse(2, "t"))
		expect.That(t, err == nil && !existed, "another owner: existed %v, %v", existed, err)
		links := e.Metrics().Links
		var waiting sync.WaitGroup
		for range 3 {
			waiting.Go(func() {
				_, existed, err := create()
				expect.That(t, err == nil && existed, "one that waits: existed %v, %v", existed, err)
			})
		}
		synctest.Wait()
		held()
		waiting.Wait()
		expect.Equal(t, e.Metrics().Links, links+1, "links")
		e.wantReusable(t, 2)
	})
}

// TestARefusedCommitLeavesNoLock uses a fake clock, which moves only if somebody waits.
func TestARefusedCommitLeavesNoLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTestEngine(t, engine.Options{})
		defer e.stop()
		e.create(t, "before").Release()
		boom := errors.New("boom")
		e.gate.failBulk.Store(&boom)
		start := time.Now()
		for range 2 {
			_, err := e.CreateBulk(context.Background(), []engine.BulkItem{{Draft: toReuse(2, "t")}, {Draft: toReuse(1, "t")}})
			expect.Error(t, err, boom)
		}
		for range 2 {
			long := toReuse(1, string(make([]byte, 9000)))
			var wrong engine.InvalidError
			expect.That(t, errors.As(e.tries(long), &wrong), "an invalid draft was taken")
		}
		_, existed := e.reuse(t, toReuse(1, "t"))
		expect.That(t, !existed && time.Since(start) == 0, "existed %v after %v", existed, time.Since(start))
	})
}

func TestLinksAreReusedAfterARestart(t *testing.T) {
	dir := t.TempDir()
	k := openKeeper(t, dir, time.Now, 3)
	made, _, err := k.Create(context.Background(), toReuse(1, "t"))
	expect.OK(t, err)
	k.close()
	k = openKeeper(t, dir, time.Now, 3)
	again, existed, err := k.Create(context.Background(), toReuse(1, "t"))
	expect.That(t, err == nil && existed && again.Code == made.Code, "got %q, existed %v, %v, want %q", again.Code, existed, err, made.Code)
}

// TestACreateWithoutReuseReadsNothing counts all reads of the store: those with reuse look for links.
func TestACreateWithoutReuseReadsNothing(t *testing.T) {
	k := newTakings(t)
	reads := func(drafts ...engine.Draft) int64 {
		t.Helper()
		before := k.store.reads.Load()
		var items []engine.BulkItem
		for _, d := range drafts {
			_, _, err := k.e.Create(context.Background(), d)
			expect.OK(t, err)
			items = append(items, engine.BulkItem{Draft: d})
			items[len(items)-1].Draft.Alias += d.Alias // another one
		}
		expect.OK(t, expect.Err(k.e.CreateBulk(context.Background(), items)))
		return k.store.reads.Load() - before
	}
	plain := engine.Draft{Owner: 1, Target: reusedTarget, Same: func(engine.Detail) bool { return true }}
	named := plain
	named.Alias = "alias"
	expect.Equal(t, reads(toReuse(1, "t")), 2, "with reuse")
	expect.Equal(t, reads(plain, named), 0, "without")
}

// TestOnlyLinksToReuseHaveARowForIt also purges one that had it.
func TestOnlyLinksToReuseHaveARowForIt(t *testing.T) {
	e, now := atClock(t, -1)
	gone, _ := e.reuse(t, toReuse(1, "t"))
	e.wantReusable(t, 1)
	e.delete(t, gone.Code)
	e.wantReusable(t, 0)
	now.Add((engine.TombstoneDays + 1) * 24 * time.Hour.Milliseconds())
	e.turn(t)
	listings := e.gate.listings.Load()
	var items []engine.BulkItem
	for i := range 10 {
		d := engine.Draft{Owner: 1, Target: reusedTarget}
		expect.OK(t, e.tries(d))
		items = append(items, engine.BulkItem{Draft: d})
		d.Alias = fmt.Sprint("alias", i)
		expect.OK(t, e.tries(d))
	}
	expect.OK(t, expect.Err(e.CreateBulk(context.Background(), items)))
	expect.Equal(t, e.gate.listings.Load(), listings, "listings that creates without reuse opened")
	e.stop()
	rows := map[byte]int{}
	for _, key := range storedKeys(t, e.fs) {
		if key[0] != 0x10 { // meta
			rows[key[0]]++
		}
	}
	want := map[byte]int{0x20: 30, 0x21: 30, 0x22: 30} // hot, cold, by owner
	expect.That(t, fmt.Sprint(rows) == fmt.Sprint(want), "rows by table: got %x, want %x", rows, want)
}

// TestAReusableLinkIsFoundWhateverMadeIt: an import or a link with an alias may be found by creates with reuse, looks
// for none itself, and has its row as long as it lives.
func TestAReusableLinkIsFoundWhateverMadeIt(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	moved := engine.Draft{Owner: 1, Alias: "moved", Target: reusedTarget, Reusable: true, Import: &engine.Import{CreatedAt: time.Unix(1, 0), UpdatedAt: time.Unix(1, 0)}}
	items := []engine.BulkItem{{Draft: moved}, {Draft: moved}, {Draft: moved}}
	items[1].Draft.Alias, items[1].Draft.Owner = "foreign", 2
	items[2].Draft.Alias, items[2].Draft.Reusable = "apart", false
	results, err := e.CreateBulk(context.Background(), items)
	expect.That(t, err == nil && !results[0].Existed && !results[2].Existed, "got %+v, %v", results, err)
	e.wantReusable(t, 2)
	l, existed := e.reuse(t, toReuse(1, ""))
	expect.That(t, existed && l.Code == "moved", "got %+v", l)
	_, existed, err = e.Create(context.Background(), engine.Draft{Owner: 1, Alias: "named", Target: reusedTarget, Reusable: true})
	expect.That(t, err == nil && !existed, "a link with an alias: existed %v, %v", existed, err)
	l, existed = e.reuse(t, toReuse(1, ""))
	expect.That(t, existed && l.Code == "named", "the newest: got %+v", l)
	for _, code := range []string{"named", "moved"} {
		expect.OK(t, e.Delete(context.Background(), keyOf(code), engine.Guard{AnyOwner: true}))
	}
	e.wantReusable(t, 1)
	_, existed = e.reuse(t, toReuse(1, ""))
	expect.That(t, !existed, "a deleted link was found")
}
