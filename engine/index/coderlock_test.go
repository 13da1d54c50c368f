//go:build !race

package index

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"shunt/engine/expect"
	"shunt/engine/internal/symbols"
)

// TestATargetIsCodedBeforeItsShardIsLocked changes a target while its Put waits for the shard: what is put then
// is what was coded before. (The race detector would rightly complain.)
func TestATargetIsCodedBeforeItsShardIsLocked(t *testing.T) {
	x := newIndex()
	putTargets(t, x, 0, symbols.MaxSamples, shopTarget)
	trained(t, x, nil)
	putTargets(t, x, 0, symbols.MaxSamples, shopTarget) // no shard is plain any more
	h := HotView{KeyView: viewOf(codeOf(5)), Target: []byte(shopTarget(7)), ID: 6}
	s := &x.shards[placeOf(&x.key, viewOf(h.Code)).shard]
	s.mu.Lock()
	done := make(chan error)
	go func() { done <- x.Put(&h) }()
	waits := waitsInPut(t)
	copy(h.Target, "changed!")
	s.mu.Unlock()
	expect.OK(t, <-done)
	expect.MustThat(t, waits, "Put does not wait for a locked shard")
	l, ok := x.Resolve(viewOf(h.Code))
	if !ok || string(l.AppendTarget(nil)) != shopTarget(7) {
		t.Errorf("got %v, %q, want %q", ok, l.AppendTarget(nil), shopTarget(7))
	}
	l.Release()
}

// waitsInPut waits until a goroutine waits for a mutex in shard.put.
func waitsInPut(t *testing.T) bool {
	t.Helper()
	stacks := make([]byte, 1<<20)
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); runtime.Gosched() {
		for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
			if strings.Contains(stack, "[sync.Mutex.Lock") && strings.Contains(stack, "(*shard).put(") {
				return true
			}
		}
	}
	return false
}
