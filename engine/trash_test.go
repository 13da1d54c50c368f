package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage"
)

const trashFor = engine.TrashDays * 24 * time.Hour

func restored(e *testEngine, code string, owner uint32) error {
	return expect.Err(e.Restore(context.Background(), keyOf(code), engine.Guard{Owner: owner}))
}

// atOnce does a step at once.
func atOnce(step func() error) error { return step() }

// wantSound checks the store, whose mutations must all have ended.
func (e *testEngine) wantSound(t *testing.T) {
	t.Helper()
	v, faults := e.gate.Store.Inspect(), new(engine.Faults)
	_, err := v.Check(t.Context(), storage.CheckOptions{Faults: faults})
	first, total := faults.Found()
	expect.That(t, err == nil && total == 0, "check: %v, %d faults: %+v", err, total, first)
	expect.OK(t, v.Close())
}

// trashed returns the codes in the trash of owners, in pages of two.
func (e *testEngine) trashed(t *testing.T, q engine.TrashQuery) (codes []string) {
	t.Helper()
	for q.Limit = 2; ; {
		page, err := e.ListTrash(context.Background(), q, atOnce)
		expect.OK(t, err)
		expect.That(t, len(page.Links) <= 2, "a page of %d", len(page.Links))
		for _, d := range page.Links {
			codes = append(codes, d.Code)
		}
		if q.After = page.Next; q.After == nil {
			return codes
		}
	}
}

// TestADeletedLinkIsInTheTrashForExactly30Days also looks at what is left afterwards.
func TestADeletedLinkIsInTheTrashForExactly30Days(t *testing.T) {
	e, now := atClock(t, -1)
	for _, code := range []string{"back", "gone"} {
		l := e.create(t, code)
		e.Hit(l, engine.Visit{Visitor: 1, NowMs: now.Load()})
		l.Release()
		e.delete(t, code)
	}
	all := engine.TrashQuery{In: engine.AllOwners}
	now.Add(trashFor.Milliseconds())
	e.turn(t)
	expect.Slices(t, e.trashed(t, all), []string{"gone", "back"}, "after 30 days")
	expect.OK(t, restored(e, "back", 1))
	d, err := e.Read(keyOf("back"))
	expect.That(t, err == nil && d.Hits == 1 && d.Unique == 1 && d.Version == 3, "restored at the last moment: %+v, %v", d, err)
	now.Add(1)
	expect.Slices(t, e.trashed(t, all), nil, "a millisecond later")
	expect.Error(t, restored(e, "gone", 1), engine.ErrNotFound, "a millisecond later")
	expect.Error(t, e.Purge(context.Background(), keyOf("gone"), engine.Guard{Owner: 1}), engine.ErrNotFound, "a millisecond later")
	now.Add(3600_000)
	e.turn(t)
	leaving, err := e.gate.Deletions(true, 0, 0, engine.Endless, 9)
	expect.That(t, err == nil && len(leaving) == 0, "with figures: %v, %v", leaving, err)
	rec, err := e.gate.ReadRecord(keyOf("gone"))
	expect.That(t, err == nil && rec.Cold.Key.Code == "" && rec.Cold.Version == 1, "what is left: %+v, %v", rec, err)
	tally, _, err := e.gate.readLife(rec.Hot.ID)
	expect.That(t, err == nil && tally.Hits == 0, "figures that are left: %+v, %v", tally, err)
	expect.Error(t, e.takes("gone", 2), engine.ErrTaken, "its code by another owner")
	expect.OK(t, e.takes("gone", 1))
	d, err = e.Read(keyOf("gone"))
	expect.That(t, err == nil && d.Version == 3 && d.Hits == 0, "its code by the former owner: %+v, %v", d, err)
	e.wantSound(t)
}

func TestALinkIsNotRestoredOverWhatTookItsCode(t *testing.T) {
	for name, c := range map[string]struct {
		take func(e *testEngine) error
		want error // of a restore by the former owner
	}{
		"the former owner takes the code": {func(e *testEngine) error { return e.takes("code", 1) }, engine.ErrTaken},
		"a bulk of the owner takes it": {func(e *testEngine) error {
			r, err := e.CreateBulk(context.Background(), []engine.BulkItem{{Draft: engine.Draft{Alias: "code", Owner: 1, Target: "https://x.example/"}}})
			return errors.Join(err, r[0].Err)
		}, engine.ErrTaken},
		"the owner takes a variant": {func(e *testEngine) error { return e.takes("Code", 1) }, engine.ErrTaken},
		"an admin takes the code": {func(e *testEngine) error {
			_, _, err := e.Create(context.Background(), engine.Draft{Alias: "code", Owner: 2, Target: "https://x.example/", TakesDeleted: true})
			return err
		}, engine.ErrNotFound},
		"it is purged": {func(e *testEngine) error {
			return e.Purge(context.Background(), keyOf("code"), engine.Guard{Owner: 1})
		}, engine.ErrNotFound},
		"it is restored already": {func(e *testEngine) error { return restored(e, "code", 1) }, engine.ErrTaken},
		"somebody else asks": {func(e *testEngine) error {
			if err := restored(e, "code", 2); !errors.Is(err, engine.ErrNotFound) {
				return fmt.Errorf("got %w", err)
			}
			return nil
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			e, _ := atClock(t, -1)
			e.create(t, "code").Release()
			e.delete(t, "code")
			expect.OK(t, c.take(e))
			expect.Error(t, restored(e, "code", 1), c.want)
			want := 0 // only the variant leaves the link in the trash
			if name == "the owner takes a variant" {
				want = 1
			}
			expect.Equal(t, len(e.trashed(t, engine.TrashQuery{In: engine.AllOwners})), want, "links in the trash")
			e.wantSound(t)
		})
	}
}

// TestRestoresRaceWhatTakesTheCode has restores, creates, purges and deletions of one code at once, many times.
func TestRestoresRaceWhatTakesTheCode(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	ctx, own := context.Background(), engine.Guard{Owner: 1}
	expect.OK(t, e.takes("code", 1))
	for round := range 100 {
		var winners atomic.Int64
		var racers sync.WaitGroup
		_ = e.Delete(ctx, keyOf("code"), own)
		for i := range 8 {
			racers.Go(func() {
				var err error
				switch i % 4 {
				case 0, 1:
					err = restored(e, "code", 1)
				case 2:
					err = e.takes("code", 1)
				default:
					err = e.Purge(ctx, keyOf("code"), own)
					winners.Add(-1)
				}
				if err == nil {
					winners.Add(1)
				} else if !errors.Is(err, engine.ErrTaken) && !errors.Is(err, engine.ErrNotFound) {
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		racers.Wait()
		d, err := e.Read(keyOf("code"))
		if errors.Is(err, engine.ErrNotFound) {
			expect.OK(t, e.takes("code", 1))
			continue
		}
		rec, errStored := e.gate.ReadRecord(keyOf("code"))
		expect.That(t, err == nil && errStored == nil && rec.Hot.ID == d.ID && rec.Cold.Version == d.Version, "round %d: %+v, %+v, %v, %v", round, d, rec, err, errStored)
	}
	e.wantSound(t)
}

// TestACapIsExactOverDeletionsAndRestores has clients use up a cap while its link is deleted and restored.
func TestACapIsExactOverDeletionsAndRestores(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	const limit = 500
	e.make(t, engine.Draft{Alias: "code", Owner: 1, Target: "https://x.example/", MaxHits: limit})
	var admitted atomic.Int64
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for admitted.Load() < limit {
				if l, ok := e.Resolve(keyOf("code").View()); ok {
					if e.Hit(l, engine.Visit{Visitor: 1, NowMs: time.Now().UnixMilli()}) {
						admitted.Add(1)
					}
					l.Release()
				}
			}
		})
	}
	for admitted.Load() < limit {
		e.delete(t, "code")
		expect.OK(t, restored(e, "code", 1))
	}
	clients.Wait()
	l, ok := e.Resolve(keyOf("code").View())
	expect.MustThat(t, ok, "it does not resolve")
	defer l.Release()
	expect.That(t, !e.Hit(l, engine.Visit{Visitor: 1, NowMs: time.Now().UnixMilli()}), "one more hit is admitted")
	d, err := e.Read(keyOf("code"))
	expect.That(t, err == nil && d.Hits == limit && d.State == engine.StateExhausted && admitted.Load() == limit, "got %+v, %v after %d hits", d, err, admitted.Load())
}

// TestTheTrashOfSeveralOwnersIsOneList has links of three owners, deleted in turns, two of them at the same moment.
func TestTheTrashOfSeveralOwnersIsOneList(t *testing.T) {
	e, now := atClock(t, -1)
	var want []string
	for i := range 9 {
		code, owner := fmt.Sprintf("code%d", i), uint32(1+i%3)
		e.make(t, engine.Draft{Alias: code, Owner: owner, Target: "https://x.example/"})
		if i != 4 {
			now.Add(1000)
		}
		expect.OK(t, e.Delete(context.Background(), keyOf(code), engine.Guard{Owner: owner}))
		want = append([]string{code}, want...)
	}
	expect.Slices(t, e.trashed(t, engine.TrashQuery{In: engine.AllOwners}), want, "all")
	of := func(owners ...uint32) func(uint32) bool {
		return func(owner uint32) bool { return slices.Contains(owners, owner) }
	}
	expect.Slices(t, e.trashed(t, engine.TrashQuery{In: engine.AllOwners, May: of(1, 3)}), []string{"code8", "code6", "code5", "code3", "code2", "code0"}, "of two")
	expect.Slices(t, e.trashed(t, engine.TrashQuery{In: engine.AllOwners, User: 2}), []string{"code7", "code4", "code1"}, "of one")
	expect.Slices(t, e.trashed(t, engine.TrashQuery{In: engine.OwnerRange{First: 2, Last: 3}, May: of(2)}), []string{"code7", "code4", "code1"}, "of a range")
	n, err := e.EmptyTrash(context.Background(), 2, engine.DefaultDomain, nil)
	expect.That(t, err == nil && n == 3, "emptied %d, %v", n, err)
	expect.Slices(t, e.trashed(t, engine.TrashQuery{In: engine.AllOwners, User: 2}), nil, "after it was emptied")
	n, err = e.EmptyTrash(context.Background(), 0, engine.DefaultDomain, nil)
	expect.That(t, err == nil && n == 6, "emptied of all: %d, %v", n, err)
	e.wantSound(t)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	e.create(t, "last").Release()
	e.delete(t, "last")
	expect.Error(t, expect.Err(e.EmptyTrash(ended, 1, engine.DefaultDomain, nil)), engine.ErrOverloaded, "when nobody waits")
}

// TestARestoreWaitsForTheRetirementOfItsOwner uses a fake clock: no link comes back to a user who is gone.
func TestARestoreWaitsForTheRetirementOfItsOwner(t *testing.T) {
	for gone, want := range map[bool]error{true: engine.ErrOwnerGone, false: nil} {
		synctest.Test(t, func(t *testing.T) {
			e := newTestEngine(t, engine.Options{})
			defer e.stop()
			expect.OK(t, e.takes("code", 2))
			expect.OK(t, e.Delete(context.Background(), keyOf("code"), engine.Guard{AnyOwner: true}))
			settle, err := e.RetireUser(context.Background(), 2)
			expect.OK(t, err)
			answer := make(chan error, 1)
			go func() {
				answer <- expect.Err(e.Restore(context.Background(), keyOf("code"), engine.Guard{AnyOwner: true}))
			}()
			synctest.Wait()
			expect.MustEqual(t, len(answer), 0, "restores that did not wait")
			settle(gone)
			expect.Error(t, <-answer, want, "the owner is gone: %v", gone)
		})
	}
}

// TestNoLinkIsLeftToAUserWhoGoes has links given to a user and back, deleted and restored, while the user is deleted
// again and again: whenever that succeeds, the user has no link, and gets none.
func TestNoLinkIsLeftToAUserWhoGoes(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	ctx, admin := context.Background(), engine.Guard{AnyOwner: true}
	for i := range 4 {
		expect.OK(t, e.takes(fmt.Sprintf("code%d", i), 1))
	}
	for user := uint32(2); user < 30; user++ {
		var racers sync.WaitGroup
		for i := range 4 {
			code := fmt.Sprintf("code%d", i)
			racers.Go(func() {
				for _, do := range []func() error{
					func() error {
						return expect.Err(e.Give(ctx, keyOf(code), admin, user, func(*engine.Record) error { return nil }))
					},
					func() error { return e.Delete(ctx, keyOf(code), admin) },
					func() error { return expect.Err(e.Restore(ctx, keyOf(code), admin)) },
					func() error {
						return expect.Err(e.Give(ctx, keyOf(code), admin, 1, func(*engine.Record) error { return nil }))
					},
				} {
					if err := do(); err != nil && !errors.Is(err, engine.ErrOwnerGone) && !errors.Is(err, engine.ErrNotFound) && !errors.Is(err, engine.ErrTaken) {
						t.Error(err)
					}
				}
			})
		}
		for gone := false; !gone; {
			settle, err := e.RetireUser(ctx, user)
			if errors.Is(err, engine.ErrOwnsLinks) {
				_, err := e.MoveLinks(ctx, user, 1, nil)
				expect.OK(t, err)
				continue
			}
			expect.MustThat(t, err == nil, "retiring %d: %v", user, err)
			_, err = e.EmptyTrash(ctx, user, engine.DefaultDomain, nil)
			expect.OK(t, err)
			settle(true)
			gone = true
		}
		racers.Wait()
		owners, err := e.Owners(engine.AllOwners, user)
		expect.That(t, err == nil && len(owners) == 0 && len(e.trashed(t, engine.TrashQuery{In: engine.AllOwners, User: user})) == 0,
			"user %d, who is gone, has links: %v, %v", user, owners, err)
		for i := range 4 { // one that was purged is made again
			if code := fmt.Sprintf("code%d", i); expect.Err(e.Read(keyOf(code))) != nil && restored(e, code, 1) != nil {
				_, _, err := e.Create(ctx, engine.Draft{Alias: code, Owner: 1, Target: "https://x.example/", TakesDeleted: true})
				expect.OK(t, err)
			}
		}
	}
	e.wantSound(t)
}

// TestARestoreIsDurableOrDidNotHappen has the store stall a restore until nobody waits for it.
func TestARestoreIsDurableOrDidNotHappen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTestEngine(t, engine.Options{})
		defer e.stop()
		expect.OK(t, e.takes("code", 1))
		e.delete(t, "code")
		var held func()
		stall := func(commit func()) { held = commit }
		e.gate.apply.Store(&stall)
		expect.Error(t, restored(e, "code", 1), engine.ErrOutcomeUnknown, "while the store does not answer")
		_, ok := e.Resolve(keyOf("code").View())
		expect.That(t, !ok, "it is visible before it is durable")
		e.gate.apply.Store(nil)
		held()
		synctest.Wait()
		l, ok := e.Resolve(keyOf("code").View())
		expect.MustThat(t, ok, "it is durable and not visible")
		l.Release()
		expect.Error(t, restored(e, "code", 1), engine.ErrTaken, "again")
	})
}

// A link in the trash takes in memory what a tombstone takes.
func TestALinkInTheTrashTakesNoMoreMemoryThanATombstone(t *testing.T) {
	sizes := map[bool]engine.Metrics{}
	for _, purge := range []bool{false, true} {
		e := newTestEngine(t, engine.Options{})
		for i := range 2000 {
			e.make(t, engine.Draft{Alias: fmt.Sprintf("code%04d", i), Owner: 1, Target: fmt.Sprintf("https://x.example/%d/%0200d", i, i), Texts: engine.Texts{Title: "t"}})
		}
		for i := range 2000 {
			remove := e.Delete
			if purge {
				remove = e.Purge
			}
			expect.OK(t, remove(context.Background(), keyOf(fmt.Sprintf("code%04d", i)), engine.Guard{Owner: 1}))
		}
		sizes[purge] = e.Metrics()
	}
	kept, purged := sizes[false], sizes[true]
	expect.That(t, kept.Tombstones == 2000 && kept.GarbageBytes == purged.GarbageBytes && kept.IndexBytes == purged.IndexBytes,
		"got %+v, and after purges %+v", kept, purged)
}

// TestAPageOfTheTrashEndsWhenItIsLarge has targets of 8 KiB: a page of all would have 2.4 MB.
func TestAPageOfTheTrashEndsWhenItIsLarge(t *testing.T) {
	e, _ := atClock(t, -1)
	const links = 300
	target := "https://x.example/" + strings.Repeat("x", engine.MaxTargetBytes-18)
	for i := range links {
		code := fmt.Sprintf("code%03d", i)
		e.make(t, engine.Draft{Alias: code, Owner: 1, Target: target})
		e.delete(t, code)
	}
	seen, pages := map[string]bool{}, 0
	for q := (engine.TrashQuery{In: engine.AllOwners, Limit: engine.MaxListed}); ; pages++ {
		page, err := e.ListTrash(context.Background(), q, atOnce)
		expect.MustThat(t, err == nil && len(page.Links)*len(target) < 2<<20, "a page of %d links, %v", len(page.Links), err)
		for _, d := range page.Links {
			expect.That(t, !seen[d.Code], "%s comes twice", d.Code)
			seen[d.Code] = true
		}
		if q.After = page.Next; q.After == nil {
			break
		}
	}
	expect.That(t, len(seen) == links && pages >= 1, "%d links on %d pages", len(seen), pages+1)
	refused := errors.New("no turn")
	_, err := e.ListTrash(context.Background(), engine.TrashQuery{In: engine.AllOwners, Limit: 9}, func(func() error) error { return refused })
	expect.Error(t, err, refused, "without a turn")
}

// TestAServerThatWasOffEmptiesNoTrash has a store that nobody opens for a year, and then runs for some hours.
func TestAServerThatWasOffEmptiesNoTrash(t *testing.T) {
	w := newWrongClock(t, engine.Options{})
	w.hit(0, 1)
	expect.OK(t, w.e.Delete(context.Background(), keyOf("link0"), engine.Guard{AnyOwner: true}))
	w.restart(false, 365*24*time.Hour)
	w.run(2 * time.Hour)
	d, err := w.e.Restore(context.Background(), keyOf("link0"), engine.Guard{AnyOwner: true})
	expect.That(t, err == nil && d.Hits == 1, "restored after a year in which nothing ran: %+v, %v", d, err)
}
