package links

import "testing"

// Whoever allocates ids holds the lock while it waits for the cluster's log.
func TestTheBoundOfIDsIsRaisedWithoutTheLockOfThoseWhoAllocate(t *testing.T) {
	var l Links
	l.Start(10)
	l.ids.Lock()
	defer l.ids.Unlock()
	for _, c := range []struct{ to, want uint64 }{{20, 20}, {15, 20}, {21, 21}} {
		if l.RaiseIDBound(c.to); l.IDBound() != c.want {
			t.Errorf("raised to %d: got %d, want %d", c.to, l.IDBound(), c.want)
		}
	}
}
