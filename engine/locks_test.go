package engine

import (
	"testing"
	"time"

	"shunt/engine/index"
	"shunt/engine/journal"
)

// TestResolveAndHitTakeNoLock holds the locks of the engine, and of the shard of the link, while a
// redirect goes through. A test of the index holds all of its locks.
func TestResolveAndHitTakeNoLock(t *testing.T) {
	e := new(Engine)
	e.index.Init()
	j, _, err := journal.Create(journal.NewFolders([16]byte{}, t.TempDir(), "", ""), journal.Spec{Epoch: 1, Rings: 2, Records: 256, Now: time.Now})
	must(t, err)
	e.journal, e.pending = j, newPending(j, &e.index, Positions{}, countedHours{}, DefaultPendingEntries)
	must(t, e.publish(&index.HotView{Code: []byte("capped"), Target: []byte("https://x"), ID: 5, Flags: index.FlagCapped, MaxHits: 9}))
	must(t, e.publish(&index.HotView{Code: []byte("plain"), Target: []byte("https://x"), ID: 6}))

	e.pending.mu.Lock()
	e.ids.mu.Lock()
	for _, code := range []string{"capped", "plain"} {
		e.index.Variants(code, func(index.HotView) { // with the lock of the shard held
			done := make(chan bool)
			go func() {
				l, ok := e.Resolve([]byte(code))
				done <- ok && e.Hit(l, journal.Visit{})
			}()
			select {
			case ok := <-done:
				if !ok {
					t.Errorf("%s: no redirect", code)
				}
			case <-time.After(10 * time.Second):
				t.Fatalf("%s: a redirect waits for a lock", code)
			}
		})
	}
	e.pending.mu.Unlock()
	must(t, j.Close())
}
