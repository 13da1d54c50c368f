package index

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"shunt/engine/expect"
	"shunt/engine/internal/mmap"
)

// TestTheIndexIsDenseAtAnyNumberOfLinks puts links one by one and looks at the index of each size.
func TestTheIndexIsDenseAtAnyNumberOfLinks(t *testing.T) {
	const from, to = 50_000, 120_000
	x := newIndex()
	rng := rand.New(rand.NewPCG(5, 6))
	worst := 0.0
	for n := 1; n <= to; n++ {
		x.put(t, HotView{KeyView: viewOf(binary.LittleEndian.AppendUint64(nil, rng.Uint64()&charBits)), ID: uint64(n)})
		if n >= from && n%1000 == 0 {
			worst = max(worst, float64(x.Figures().IndexBytes)/float64(n))
		}
	}
	// 64 bytes a group of 8 slots, of which 25/32 are used before it grows by 1/8: 10.2 to 11.5 bytes.
	// The shards are between the two at any time.
	expect.That(t, worst <= 11.2, "the index takes %.2f bytes a link at worst, want at most 11.2", worst)
}

// TestATableThatWasReplacedHidesNoLink looks links up in the table that was current before the shard grew,
// as a look-up does that was interrupted in between, and reads a pinned one whole.
func TestATableThatWasReplacedHidesNoLink(t *testing.T) {
	defer func(n int) { mappedTableBytes = n }(mappedTableBytes)
	mappedTableBytes = 0
	x := newIndex()
	s := &x.shards[7]
	replaced, pinned, before := s.current.Load(), (*table)(nil), 0
	var codes [][]byte
	for n := 0; pinned == nil || s.current.Load() == pinned; n++ {
		code := binary.LittleEndian.AppendUint64(nil, spreadCode(n))
		if placeOf(&x.key, viewOf(code)).shard != 7 {
			continue
		}
		x.put(t, HotView{KeyView: viewOf(code), ID: uint64(n)})
		codes = append(codes, code)
		if pinned == nil && s.current.Load() != replaced {
			for _, code := range codes {
				_, ok := s.lookupFrom(replaced, placeOf(&x.key, viewOf(code)).tag, viewOf(code))
				expect.MustThat(t, ok, "code %q is missed by a look-up that began before growth", code)
			}
			pinned, before = s.pinned(), len(codes)
		}
	}
	met := 0
	pinned.eachLive(0, len(pinned.groups), func(Link) { met++ })
	expect.That(t, met >= before, "a pinned table that was replaced has %d links, want %d", met, before)
}

// TestAnEmptySlotIsNoLink looks for the code whose word is zero, as a dropped slot is.
func TestAnEmptySlotIsNoLink(t *testing.T) {
	x := newIndex()
	code := make([]byte, wordBytes)
	p := placeOf(&x.key, viewOf(code))
	s := &x.shards[p.shard]
	for n := 0; s.links.Load() == 0; n++ { // so that the arena has memory
		x.put(t, HotView{KeyView: viewOf(binary.LittleEndian.AppendUint64(nil, spreadCode(n))), ID: uint64(n)})
	}
	s.current.Load().insert(p.tag, 0)
	if l, ok := x.Resolve(viewOf(code)); ok {
		t.Errorf("code %q is found: link %d", code, l.ID())
	}
}

// spreadCode returns the word of code n: eight ASCII characters.
func spreadCode(n int) uint64 { return uint64(n+1) * 0x9e3779b97f4a7c15 & charBits }

func TestGrowthKeepsEveryEntryWhereALookUpFindsIt(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	table := newTable(1, newArena(&memory{tables: mmap.NewShared(tablesBytes)}, nil))
	tags := make(map[uint64]int)
	for used := 0; used < 20_000; used++ {
		if table.full(used) {
			larger := table.larger(0)
			for tag, offset := range table.entries {
				larger.insert(tag, offset)
			}
			table = larger
		}
		tag := placeAt(rng.Uint64()).tag
		if used%3 == 0 { // at the end of the table, so that probing goes on at its start
			tag |= (1<<tagBits - 1) &^ 0xfffff
		}
		tags[tag]++
		table.insert(tag, 1)
	}
	for tag, want := range tags {
		got := 0
		for range table.probe(tag) {
			got++
		}
		expect.MustEqual(t, got, want, "tag %#x entries", tag)
	}
}
