package engine

import (
	"sync/atomic"
	"testing"
	"time"

	"shunt/engine/internal/hash"
)

// TestResolveAndHitTakeNoLock holds every lock of the engine while a redirect goes through.
func TestResolveAndHitTakeNoLock(t *testing.T) {
	e := &Engine{counters: new(counters), hashKey: hash.NewKey()}
	for i := range e.shards {
		e.shards[i].init(new(atomic.Int64))
	}
	j, _, err := newJournal(folders{rings: t.TempDir()}, Identity{}, 1, 2, 256)
	must(t, err)
	e.journal, e.pending = j, newPending(j, e.counters, Positions{}, DefaultPendingEntries)
	must(t, e.publish(&HotView{Code: []byte("capped"), Target: []byte("https://x"), ID: 5, Flags: FlagCapped, MaxHits: 9}))
	must(t, e.publish(&HotView{Code: []byte("plain"), Target: []byte("https://x"), ID: 6}))

	for i := range e.shards {
		e.shards[i].mu.Lock()
	}
	e.counters.mu.Lock()
	e.pending.mu.Lock()
	e.ids.mu.Lock()
	done := make(chan bool)
	go func() {
		capped, ok := e.Resolve([]byte("capped"))
		plain, ok2 := e.Resolve([]byte("plain"))
		done <- ok && ok2 && e.Hit(capped, Visit{}) && e.Hit(plain, Visit{})
	}()
	select {
	case ok := <-done:
		if !ok {
			t.Error("no redirect")
		}
	case <-time.After(10 * time.Second):
		t.Fatal("a redirect waits for a lock")
	}
	e.pending.mu.Unlock()
	must(t, j.close())
}
