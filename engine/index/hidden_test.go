package index

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"shunt/engine/expect"
)

// rows are the records that a store has of four variants of a code, and an index that was told of
// every change of them.
type rows struct {
	x    *Index
	has  map[string]HotView // by code
	last uint64             // the last id
}

var fourVariants = []string{"ab", "aB", "Ab", "AB"}

// TestTheIndexKnowsEveryRecordOfTheStore makes, deletes and purges variants in any order, with
// deletions at any times, also earlier ones than before.
func TestTheIndexKnowsEveryRecordOfTheStore(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := &rows{x: newIndex(), has: map[string]HotView{}}
		rt.Repeat(map[string]func(*rapid.T){
			"":        func(rt *rapid.T) { r.check(rt) },
			"make":    r.make,
			"delete":  r.delete,
			"purge":   r.purge,
			"rewrite": func(*rapid.T) { r.rewrite() },
			"restart": r.restart,
		})
	})
}

func (r *rows) put(rt *rapid.T, v HotView) {
	expect.OK(rt, r.x.Put(&v))
	r.has[string(v.Code)] = v
}

func (r *rows) make(rt *rapid.T) {
	code := rapid.SampledFrom(fourVariants).Draw(rt, "code")
	if v, ok := r.has[code]; ok && v.Flags&FlagTombstone == 0 {
		rt.Skip("it is there")
	}
	r.last++
	r.put(rt, HotView{KeyView: keyOf(code).View(), Target: []byte("https://x"), ID: r.last, Owner: rapid.Uint32Range(1, 2).Draw(rt, "owner")})
}

// one draws a code whose record has these flags.
func (r *rows) one(rt *rapid.T, want Flags) HotView {
	var codes []string
	for code, v := range r.has {
		if v.Flags == want {
			codes = append(codes, code)
		}
	}
	if codes == nil {
		rt.Skip("none")
	}
	slices.Sort(codes)
	return r.has[rapid.SampledFrom(codes).Draw(rt, "code")]
}

func (r *rows) delete(rt *rapid.T) {
	v := r.one(rt, 0)
	at := rapid.Int64Range(1, 5).Draw(rt, "at")
	r.put(rt, HotView{KeyView: viewOf(v.Code), ID: v.ID, Owner: v.Owner, Flags: FlagTombstone, DeletedAtMs: at})
}

func (r *rows) purge(rt *rapid.T) {
	v := r.one(rt, FlagTombstone)
	delete(r.has, string(v.Code))
	r.x.Forget(keyOf(string(v.Code)), v.ID)
}

func (r *rows) rewrite() {
	for i := range r.x.shards {
		s := &r.x.shards[i]
		s.mu.Lock()
		s.rewriteLocked()
		s.mu.Unlock()
	}
}

// restart loads what the store has, in any order.
func (r *rows) restart(rt *rapid.T) {
	r.x = newIndex()
	for _, code := range rapid.Permutation(slices.Sorted(maps.Keys(r.has))).Draw(rt, "order") {
		r.put(rt, r.has[code])
	}
}

func (r *rows) check(rt *rapid.T) {
	for _, code := range fourVariants {
		got := map[string]string{}
		look := func(v HotView) {
			if !v.Purged() {
				got[string(v.Code)] = fmt.Sprint(v.ID, v.Owner, v.Flags, v.DeletedAtMs)
			}
		}
		known, hidden := r.x.Variants(keyOf(code), look)
		if hidden {
			r.x.Hidden(keyOf(code), look)
		}
		want := map[string]string{}
		for code, v := range r.has {
			want[code] = fmt.Sprint(v.ID, v.Owner, v.Flags, v.DeletedAtMs)
		}
		if !maps.Equal(got, want) || len(want) > 0 && !known {
			rt.Fatalf("%s: got %v, known %v, want %v", code, got, known, want)
		}
	}
	if len(r.has) == 0 && hiddenIn(r.x) > 0 {
		rt.Fatal("tombstones are remembered that were purged")
	}
}

func hiddenIn(x *Index) (n int) {
	for i := range x.shards {
		for _, h := range x.shards[i].mu.hidden {
			n += len(h.tombstones)
		}
	}
	return n
}

// TestVariantsWithoutEndTakeBoundedMemory has one owner make and delete variants of one code.
func TestVariantsWithoutEndTakeBoundedMemory(t *testing.T) {
	const variants = 1 << 12
	x := newIndex()
	for _, owner := range []uint32{1, 2} {
		for i := range variants {
			code := []byte("abcdefghijkl")
			for bit := range code {
				code[bit] -= byte(i >> bit & 1 * ('a' - 'A'))
			}
			id := uint64(owner*variants) + uint64(i)
			x.put(t, HotView{KeyView: viewOf(code), Target: []byte("https://x"), ID: id, Owner: owner})
			x.put(t, HotView{KeyView: viewOf(code), ID: id, Owner: owner, Flags: FlagTombstone, DeletedAtMs: int64(i)})
		}
	}
	n := hiddenIn(x)
	expect.That(t, n <= maxHidden+2, "%d tombstones are remembered of %d, want at most %d", n, 2*variants, maxHidden+2)
	latest := map[uint32]int64{}
	known, hidden := x.Variants(keyOf("abcdefghijkl"), func(HotView) {})
	x.Hidden(keyOf("abcdefghijkl"), func(v HotView) { latest[v.Owner] = max(latest[v.Owner], v.DeletedAtMs) })
	// The last deletion of each owner has a slot. Owner 2 has another one, which was owner 1's.
	expect.That(t, known && hidden && latest[1] == variants-2 && latest[2] == variants-3, "known %v, hidden %v, the latest deletions are %v", known, hidden, latest)
}
