package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/engine/index"
)

func TestAStallKeepsBoundedDeltasAndCountsDroppedHits(t *testing.T) {
	l := newLife(t, 8)
	l.open(engine.Options{Rings: 1, RingRecords: 512, PendingEntries: 8}) // one ring: hits are folded in their order
	boom := errors.New("boom")
	l.gate.failFlush.Store(&boom)
	for i := range 2 { // two links of two owners: four entries in flight
		l.hit(i, 1, 1)
	}
	err := l.flush()
	expect.MustThat(t, errors.Is(err, boom), "%v", err)
	const rounds = 50
	for range rounds {
		for i := range 8 { // the first two take the four entries that are left
			l.hit(i, 1, 1)
		}
		l.Fold()
	}
	expect.Equal(t, l.Metrics().HitsMissing, uint64(6*rounds), "hits will be missing")
	wantLive := func(i int, want uint64) {
		t.Helper()
		s, err := l.Stats(context.Background(), keyOf(fmt.Sprintf("link%d", i)))
		expect.That(t, err == nil && s.Hits == want, "link%d shows %d hits, %v; want %d", i, s.Hits, err, want)
	}
	for i := range 8 {
		wantLive(i, rounds+uint64(max(0, min(1, 2-i))))
	}
	l.gate.failFlush.Store(nil)
	expect.OK(t, l.Flush())
	l.hit(7, 2, 1) // there is room again as soon as the flush in flight is durable
	expect.OK(t, l.flush())
	for i, want := range []uint64{rounds + 1, rounds + 1, 0, 0, 0, 0, 0, 2} {
		expect.Equal(t, l.durable(i), want, "link%d hits in the store", i)
	}
	wantLive(7, rounds+2)
	if got, want := l.Metrics().HitsMissing, uint64(6*rounds); got != want {
		t.Errorf("%d hits are missing, want %d", got, want)
	}
	l.close()
}

// TestAStallIsLoggedWhenItBeginsDropsAndEnds has flushes fail, or hang, for two minutes of faked
// time.
func TestAStallIsLoggedWhenItBeginsDropsAndEnds(t *testing.T) {
	for name, hangs := range map[string]bool{"flushes fail": false, "a flush hangs": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log logBuffer
				e := newTestEngine(t, engine.Options{PendingEntries: 4, Logger: slog.New(slog.NewTextHandler(&log, nil))})
				defer e.stop()
				var links []index.Link
				for i := range 4 {
					links = append(links, e.create(t, fmt.Sprintf("link%d", i)))
				}
				hitAll := func() {
					for _, l := range links {
						e.Hit(l, engine.Visit{NowMs: time.Now().UnixMilli()})
					}
				}
				log.take()
				for range 2 { // stalls
					boom, hold := errors.New("boom"), make(chan struct{})
					if hangs {
						e.gate.hold.Store(&hold)
					} else {
						e.gate.failFlush.Store(&boom)
					}
					e.Hit(links[0], engine.Visit{NowMs: time.Now().UnixMilli()})
					time.Sleep(time.Minute)
					hitAll()
					time.Sleep(time.Minute)
					e.gate.hold.Store(nil)
					e.gate.failFlush.Store(nil)
					close(hold)
					time.Sleep(3 * time.Second)
					got := log.take()
					begins := "a flush failed"
					if hangs {
						begins = "a flush takes long"
					}
					expect.That(t, len(got) == 3 && strings.Contains(got[0], begins) && strings.Contains(got[1], "memory for hits is used up") &&
						strings.Contains(got[2], "takes hits again") && strings.Contains(got[2], "hits_lost=3"), "got these lines:\n%s", strings.Join(got, "\n"))
				}
				hitAll()
				time.Sleep(time.Minute)
				got := log.take()
				expect.Equal(t, len(got), 0, "without a stall: %q", got)
				for _, l := range links {
					l.Release()
				}
			})
		})
	}
}

// TestCloseEndsThoughTheStoreHangs has the last flush hang, with more hits than the ring holds.
func TestCloseEndsThoughTheStoreHangs(t *testing.T) {
	for hits, want := range map[int]string{
		3:   "in the journal alone: 3 redirects, for the next start to count; lost: 0 redirects",
		300: "in the journal alone: 256 redirects, for the next start to count; lost: 44 redirects",
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLife(t, 1)
			defer l.stop()
			l.open(engine.Options{Rings: 1, RingRecords: 256, CloseTimeout: 7 * time.Second})
			hold := make(chan struct{})
			l.gate.hold.Store(&hold)
			l.hit(0, hits, 1)
			start := time.Now()
			err := l.Close()
			took := time.Since(start)
			expect.That(t, took == 7*time.Second && errors.Is(err, engine.ErrStalled) && said(err, want), "after %v: %v; want %s", took, err, want)
			close(hold) // the disk answers before the process ends
			synctest.Wait()
			expect.Equal(t, l.durable(0), uint64(hits), "hits in the store, want %d", hits)
		})
	}
}

// A server has so much time for all that it stops: what others have not used is left for the last flush.
func TestTheLastFlushHasUntilAFixedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife(t, 1)
		defer l.stop()
		l.open(engine.Options{FlushInterval: time.Second})
		hold := make(chan struct{})
		var start time.Time
		const patience = 3 * time.Second
		l.running(func() {
			l.gate.hold.Store(&hold)
			l.hit(0, 3, 1)
			time.Sleep(5 * time.Second)
			start = time.Now()
			l.CloseBy(start.Add(patience))
		})
		expect.Equal(t, time.Since(start), patience, "Run took to end")
		err := l.Close()
		took := time.Since(start)
		expect.That(t, took == patience && errors.Is(err, engine.ErrStalled) && said(err, "in the journal alone: 3 redirects"), "after %v: %v", took, err)
		close(hold)
		synctest.Wait()
	})
}

// TestRunEndsThoughTheStoreHangs has a flush of Run hang: Run stops waiting, and Close does not
// wait again.
func TestRunEndsThoughTheStoreHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife(t, 1)
		defer l.stop()
		l.open(engine.Options{FlushInterval: time.Second})
		hold := make(chan struct{})
		var start time.Time
		l.running(func() {
			l.gate.hold.Store(&hold)
			l.hit(0, 3, 1)
			time.Sleep(5 * time.Second)
			start = time.Now()
		})
		expect.Equal(t, time.Since(start), engine.DefaultCloseTimeout, "Run took to end")
		l.hit(0, 2, 1)
		err := l.Close()
		took := time.Since(start)
		expect.That(t, took == engine.DefaultCloseTimeout && errors.Is(err, engine.ErrStalled) && said(err, "in the journal alone: 5 redirects"), "after %v: %v", took, err)
		close(hold)
		synctest.Wait()
		if got := l.durable(0); got != 5 { // Close has continued, too
			t.Errorf("%d hits in the store, want 5", got)
		}
	})
}

func TestCloseSaysWhatAFailedFlushLeaves(t *testing.T) {
	l := newLife(t, 1)
	l.open(engine.Options{})
	l.hit(0, 3, 1)
	boom := errors.New("boom")
	l.gate.failFlush.Store(&boom)
	err := l.Close()
	expect.That(t, errors.Is(err, boom) && !errors.Is(err, engine.ErrStalled) && said(err, "in the journal alone: 3 redirects", "lost: 0 redirects"), "%v", err)
	l.gate.failFlush.Store(nil)
	l.open(engine.Options{})
	expect.Equal(t, l.durable(0), 3, "hits after the next start")
	l.close()
}

// TestAReducedBatchIsNotRetriedWhole refuses a flush as too large, and then fails for a while:
// parts are left out once, and logged once.
func TestAReducedBatchIsNotRetriedWhole(t *testing.T) {
	l := newLife(t, 1)
	l.open(engine.Options{})
	l.hit(0, 3, 1)
	l.Fold()
	l.log.take()
	boom := errors.New("boom")
	l.gate.tooLarge.Store(1)
	l.gate.failFlush.Store(&boom)
	l.gate.failAfter.Store(1) // the first one reaches the refusal
	for range 5 {
		err := l.Flush()
		expect.MustThat(t, errors.Is(err, boom), "%v", err)
	}
	l.wantLog(1, "a flush is too large")
	l.gate.failFlush.Store(nil)
	l.close()
	if got := l.Metrics().FlushesReduced; got != 1 || l.durable(0) != 3 {
		t.Errorf("%d flushes were reduced, %d hits", got, l.durable(0))
	}
}
