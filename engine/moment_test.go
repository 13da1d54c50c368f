package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
)

// imported imports a link of alias with hits; its title is their number.
func (e *testEngine) imported(t *testing.T, alias string, owner uint32, hits uint64) {
	t.Helper()
	at := time.Now()
	_, _, err := e.Create(context.Background(), engine.Draft{
		Alias: alias, Owner: owner, Target: "https://x.example/", Texts: engine.Texts{Title: fmt.Sprint(hits)},
		Import: &engine.Import{CreatedAt: at, UpdatedAt: at, Hits: hits},
	})
	expect.OK(t, err)
}

// TestALinkIsReadWithItsOwnHits deletes a link and takes its code again, over and over, while
// others read it.
func TestALinkIsReadWithItsOwnHits(t *testing.T) {
	const links, readers = 300, 4
	e := newTestEngine(t, engine.Options{})
	e.imported(t, "x", 1, 0)
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	for range readers {
		wg.Go(func() {
			for ctx.Err() == nil {
				d, err := e.Read(keyOf("x"))
				switch {
				case errors.Is(err, engine.ErrNotFound):
				case err != nil:
					t.Errorf("reading: %v", err)
				case d.Title != fmt.Sprint(d.Hits):
					t.Errorf("the link with %s hits is shown with %d", d.Title, d.Hits)
				}
			}
		})
	}
	for i := range uint64(links) {
		e.delete(t, "x")
		e.imported(t, "x", 1, i+1)
	}
}

// TestNoUpdateIsBeforeTheCreationWhateverTheClockDoes also checks that the update time never moves
// back from one version to the next.
func TestNoUpdateIsBeforeTheCreationWhateverTheClockDoes(t *testing.T) {
	e, now := atClock(t, -1)
	e.create(t, "made").Release()
	at := time.UnixMilli(now.Load())
	for code, times := range map[string][2]time.Duration{
		"ahead": {time.Hour, time.Hour}, "updated-before": {time.Hour, -time.Hour}, "updated-ahead": {-time.Hour, time.Hour},
	} {
		_, _, err := e.Create(context.Background(), engine.Draft{
			Alias: code, Owner: 1, Target: "https://x.example/",
			Import: &engine.Import{CreatedAt: at.Add(times[0]), UpdatedAt: at.Add(times[1])},
		})
		expect.OK(t, err)
		e.wantTimesInOrder(t, now, code)
	}
	e.wantTimesInOrder(t, now, "made")
}

// wantTimesInOrder edits a link while the clock moves back and forth.
func (e *testEngine) wantTimesInOrder(t *testing.T, now interface{ Add(int64) int64 }, code string) {
	t.Helper()
	last, err := e.Read(keyOf(code))
	expect.That(t, err == nil && !last.UpdatedAt.Before(last.CreatedAt), "%s was made at %v and updated at %v (%v)", code, last.CreatedAt, last.UpdatedAt, err)
	for i, ms := range []int64{-7200_000, 60_000, -1, 7200_000, -86400_000} {
		now.Add(ms)
		d, err := e.Update(context.Background(), keyOf(code), engine.Guard{AnyOwner: true}, func(r *engine.Record) error {
			r.Cold.Title = fmt.Sprint(code, i)
			r.Cold.UpdatedAtMs = 1 // an edit cannot change this
			return nil
		})
		expect.That(t, err == nil && !d.UpdatedAt.Before(last.UpdatedAt) && !d.UpdatedAt.Before(d.CreatedAt) && d.Version == last.Version+1,
			"%s, version %d, made at %v: updated at %v, and before at %v (%v)", code, d.Version, d.CreatedAt, d.UpdatedAt, last.UpdatedAt, err)
		last = d
	}
	now.Add(86400_000 - 60_000 + 1)
}
