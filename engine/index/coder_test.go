package index

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"shunt/engine/expect"
	"shunt/engine/internal/invariants"
	"shunt/engine/internal/symbols"
)

// shopTarget and newsTarget are targets of two kinds, which code badly by each other's tables.
func shopTarget(i int) string {
	return fmt.Sprintf("https://www.shop.example.com/catalogue/item/%d?utm_source=letter&utm_campaign=spring#top", i)
}

func newsTarget(i int) string {
	return fmt.Sprintf("http://NEWS.EXAMPLE.ORG/ARTIKEL/2026/NOVEMBER/SEITE-%d/DRUCKEN.HTML", i)
}

func codeOf(i int) []byte { return fmt.Appendf(nil, "c%07d", i) }

// putTargets puts n links from code number first on.
func putTargets(t *testing.T, x *Index, first, n int, target func(int) string) {
	t.Helper()
	for i := first; i < first+n; i++ {
		expect.OK(t, x.Put(&HotView{KeyView: viewOf(codeOf(i)), Target: []byte(target(i)), ID: uint64(i + 1)}))
	}
}

// wantTargets checks every link that putTargets put.
func wantTargets(t *testing.T, x *Index, first, n int, target func(int) string) {
	t.Helper()
	for i := first; i < first+n; i++ {
		l, ok := x.Resolve(viewOf(codeOf(i)))
		if !ok || string(l.AppendTarget([]byte("to "))) != "to "+target(i) {
			t.Fatalf("%s: got %v, %q, want %q", codeOf(i), ok, l.AppendTarget(nil), target(i))
		}
		l.Release()
	}
}

// trained waits until the index has another table than old.
func trained(t *testing.T, x *Index, old *symbols.Table) *symbols.Table {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); runtime.Gosched() {
		if table := x.coder.table.Load(); table != old {
			return table
		}
	}
	t.Fatal("no table was trained")
	return nil
}

// recordsBytes returns what all records take, garbage included.
func (x *Index) recordsBytes() (n uint64) {
	for i := range x.shards {
		n += x.shards[i].current.Load().arena.usedBytes
	}
	return n
}

func TestTargetsAreCodedOnceThereIsATable(t *testing.T) {
	const n = symbols.MaxSamples
	x := newIndex()
	putTargets(t, x, 0, n-1, shopTarget)
	plainBytes := x.recordsBytes()
	expect.That(t, x.coder.table.Load() == nil, "a table was trained on fewer targets than it should be")
	putTargets(t, x, n-1, 1, shopTarget)
	table := trained(t, x, nil)
	putTargets(t, x, n, n, shopTarget)
	wantTargets(t, x, 0, 2*n, shopTarget)
	for i := range x.shards {
		expect.Equal(t, x.shards[i].current.Load().arena.symbols, table, "shard %d is still plain", i)
	}
	got := x.recordsBytes()
	expect.That(t, got <= plainBytes, "%d links take %d bytes coded, %d took %d plain", 2*n, got, n-1, plainBytes)
	var seen HotView
	x.Variants(keyOf("C0000005"), func(v HotView) { seen = v })
	expect.Equal(t, string(seen.Target), shopTarget(5), "a variant's target is %q", seen.Target)
}

func TestAFewTargetsStayPlain(t *testing.T) {
	x := newIndex()
	putTargets(t, x, 0, 100, shopTarget)
	for range 100 { // edits of one link are samples as well, but tombstones are not
		expect.OK(t, x.Put(&HotView{KeyView: keyOf("gone").View(), ID: 1, Flags: FlagTombstone, DeletedAtMs: 1}))
	}
	x.coder.mu.Lock()
	defer x.coder.mu.Unlock()
	got := len(x.coder.mu.samples)
	expect.That(t, got == 100 && !x.coder.mu.training, "%d samples, want 100", got)
}

func TestAnotherTableIsTrainedWhenTargetsChange(t *testing.T) {
	expect.Long(t)
	x := newIndex()
	putTargets(t, x, 0, symbols.MaxSamples, shopTarget)
	first := trained(t, x, nil)
	const n = 200_000 // 64 shards notice it after 64 KiB each
	putTargets(t, x, 1_000_000, n, newsTarget)
	trained(t, x, first)
	// A link whose shard is rewritten for its garbage is coded by the newest table.
	for range 100 {
		for i := range 300 {
			expect.OK(t, x.Put(&HotView{KeyView: viewOf(codeOf(1_000_000)), Target: []byte(newsTarget(i)), ID: 1_000_001}))
		}
	}
	expect.OK(t, x.Put(&HotView{KeyView: viewOf(codeOf(1_000_000)), Target: []byte(newsTarget(1_000_000)), ID: 1_000_001}))
	p := placeOf(&x.key, viewOf(codeOf(1_000_000)))
	got := x.shards[p.shard].current.Load().arena.symbols
	expect.That(t, got != first && got != nil, "a rewritten shard keeps the old table")
	wantTargets(t, x, 0, symbols.MaxSamples, shopTarget)
	wantTargets(t, x, 1_000_000, n, newsTarget)
}

func TestALargeShardKeepsItsTableWhenItIsRewritten(t *testing.T) {
	x := newIndex()
	putTargets(t, x, 0, symbols.MaxSamples, shopTarget)
	first := trained(t, x, nil)
	putTargets(t, x, 0, symbols.MaxSamples, shopTarget) // no shard is plain any more
	defer func(n uint64) { maxRecodedBytes = n }(maxRecodedBytes)
	maxRecodedBytes = 1 << 10
	x.coder.table.Store(symbols.Train(nil))
	for i := range x.shards {
		s := &x.shards[i]
		s.mu.Lock()
		s.rewriteLocked()
		s.mu.Unlock()
		a := s.current.Load().arena
		expect.Equal(t, a.symbols, first, "shard %d with %d bytes has another table", i, a.usedBytes)
	}
	wantTargets(t, x, 0, symbols.MaxSamples, shopTarget)
}

// Every third target goes out percent-encoded. Some are put plain and coded later, some are coded at once,
// some by another table, and some are edited from one kind to the other.
func TestTheIndexKnowsWhichTargetsGoOutEncoded(t *testing.T) {
	const n = 2 * symbols.MaxSamples
	shift := 0
	target := func(i int) string {
		if (i+shift)%3 == 0 {
			return shopTarget(i) + []string{"é", "|", "~\"", "\xff"}[i%4]
		}
		return shopTarget(i) + "!~"
	}
	x := newIndex()
	want := func(when string) {
		t.Helper()
		wantTargets(t, x, 0, n, target)
		for i := range n {
			l, _ := x.Resolve(viewOf(codeOf(i)))
			if got, want := l.Encoded(), (i+shift)%3 == 0; got != want {
				t.Fatalf("%s: %q is said to go out encoded: %v, want %v", when, target(i), got, want)
			}
			l.Release()
		}
	}
	putTargets(t, x, 0, symbols.MaxSamples, target)
	trained(t, x, nil)
	putTargets(t, x, symbols.MaxSamples, n-symbols.MaxSamples, target)
	want("put")
	shift = 1
	putTargets(t, x, 0, n, target)
	want("edited")
	for i := range x.shards {
		s := &x.shards[i]
		s.mu.Lock()
		s.rewriteLocked()
		s.mu.Unlock()
	}
	want("rewritten")
}

func TestRandomTargetsTakeOneByteMoreAtMost(t *testing.T) {
	const n = 4 * symbols.MaxSamples
	rng := rand.New(rand.NewPCG(9, 9))
	targets := make([]string, n)
	for i := range targets {
		b := make([]byte, 45)
		for j := range b {
			b[j] = byte(rng.Uint32())
		}
		targets[i] = string(b)
	}
	target := func(i int) string { return targets[i] }
	x := newIndex()
	putTargets(t, x, 0, symbols.MaxSamples, target)
	trained(t, x, nil)
	putTargets(t, x, symbols.MaxSamples, n-symbols.MaxSamples, target)
	wantTargets(t, x, 0, n, target)
	for i := range n {
		l, _ := x.Resolve(viewOf(codeOf(i)))
		got := len(l.keptTarget())
		expect.That(t, got <= len(targets[i])+1, "%q: kept in %d bytes, want at most one more than it has", targets[i], got)
		l.Release()
	}
}

// TestLinksStayWholeWhileTheirTableChanges has readers that hold links across training and rewrites.
func TestLinksStayWholeWhileTheirTableChanges(t *testing.T) {
	const n = 3000
	x := newIndex()
	putTargets(t, x, 0, n, shopTarget)
	var stop atomic.Bool
	var readers sync.WaitGroup
	for g := range 2 {
		readers.Go(func() {
			room := make([]byte, 0, 256)
			for i := g; !stop.Load(); i = (i + 7) % n {
				l, ok := x.Resolve(viewOf(codeOf(i)))
				if !ok {
					t.Errorf("%s is lost", codeOf(i))
					return
				}
				runtime.Gosched()
				if got := l.AppendTarget(room); string(got) != shopTarget(i) {
					t.Errorf("got %q, want %q", got, shopTarget(i))
					return
				}
				l.Release()
			}
		})
	}
	for range 8 { // each round trains a table, and rewrites every shard by it
		old := x.coder.table.Load()
		x.coder.sampleAgain()
		putTargets(t, x, 0, symbols.MaxSamples+1, shopTarget)
		trained(t, x, old)
		for i := range x.shards {
			s := &x.shards[i]
			s.mu.Lock()
			s.rewriteLocked()
			s.mu.Unlock()
		}
	}
	stop.Store(true)
	readers.Wait()
}

func TestALookUpOfACodedTargetAllocatesNothing(t *testing.T) {
	x := newIndex()
	putTargets(t, x, 0, symbols.MaxSamples, shopTarget)
	trained(t, x, nil)
	putTargets(t, x, 0, symbols.MaxSamples, shopTarget)
	code, room := codeOf(7), make([]byte, 0, len(shopTarget(7))+16)
	expect.Equal(t, testing.AllocsPerRun(100, func() {
		l, _ := x.Resolve(viewOf(code))
		_ = l.AppendTarget(room)
		l.Release()
	}), 0, "allocations")
	if invariants.Enabled {
		return // the checks of a put allocate
	}
	h := HotView{KeyView: viewOf(codeOf(8)), Target: []byte(shopTarget(8)), ID: 9}
	if n := testing.AllocsPerRun(100, func() { expect.OK(t, x.Put(&h)) }); n > 1 {
		t.Errorf("an edit makes %v allocations, want the code of the old record at most", n)
	}
}
