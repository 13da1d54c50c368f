package hit

import (
	"testing"
	"time"

	"shunt/engine/caps"
	"shunt/engine/expect"
	"shunt/engine/index"
	"shunt/engine/internal/settings"
	"shunt/engine/journal"
)

// TestResolveAndHitTakeNoLock holds the lock of the fold, and of the shard of the link, while a
// redirect goes through. A test of the index holds all of its locks.
func TestResolveAndHitTakeNoLock(t *testing.T) {
	var x index.Index
	x.Init()
	j, err := journal.Create(journal.NewFolder([16]byte{}, t.TempDir()), journal.Spec{Epoch: 1, Rings: 2, Records: 256, Now: time.Now})
	expect.OK(t, err)
	hs := &Hits{index: &x, journal: j, caps: new(caps.Shared), pending: newPending(j, &x, Positions{}, countedHours{}, settings.DefaultPendingEntries)}
	expect.OK(t, x.Put(&index.HotView{KeyView: keyOf("capped").View(), Target: []byte("https://x"), ID: 5, Flags: index.FlagCapped, MaxHits: 9}))
	expect.OK(t, x.Put(&index.HotView{KeyView: keyOf("plain").View(), Target: []byte("https://x"), ID: 6}))

	hs.pending.mu.Lock()
	for _, code := range []string{"capped", "plain"} {
		x.Variants(keyOf(code), func(index.HotView) { // with the lock of the shard held
			done := make(chan bool)
			go func() {
				l, ok := x.Resolve(keyOf(code).View())
				done <- ok && hs.Hit(l, journal.Visit{})
			}()
			select {
			case ok := <-done:
				expect.That(t, ok, "%s: no redirect", code)
			case <-time.After(10 * time.Second):
				t.Fatalf("%s: a redirect waits for a lock", code)
			}
		})
	}
	hs.pending.mu.Unlock()
	expect.OK(t, j.Close())
}

// keyOf returns the key of a code in the default domain.
func keyOf(code string) index.Key { return index.Key{Domain: index.DefaultDomain, Code: code} }

// viewOf returns a view of the same.
func viewOf(code []byte) index.KeyView { return index.KeyView{Domain: index.DefaultDomain, Code: code} }
