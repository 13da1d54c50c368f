package index

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// TestTheIndexIsDenseAtAnyNumberOfLinks puts links one by one and looks at the index of each size.
func TestTheIndexIsDenseAtAnyNumberOfLinks(t *testing.T) {
	const from, to = 50_000, 120_000
	x := newIndex()
	rng := rand.New(rand.NewPCG(5, 6))
	worst := 0.0
	for n := 1; n <= to; n++ {
		x.put(t, HotView{Code: binary.LittleEndian.AppendUint64(nil, rng.Uint64()&charBits), ID: uint64(n)})
		if n >= from && n%1000 == 0 {
			worst = max(worst, float64(x.Figures().IndexBytes)/float64(n))
		}
	}
	// 64 bytes a group of 7 slots, of which 7/8 are used before it grows by 1/8: 10.4 to 11.8 bytes.
	// The shards are between the two at any time.
	if worst > 11.5 {
		t.Errorf("the index takes %.2f bytes a link at worst, want at most 11.5", worst)
	}
}

func TestGrowthKeepsEveryEntryWhereALookUpFindsIt(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	table := newTable(1, nil)
	tags := make(map[uint64]int)
	for used := 0; used < 20_000; used++ {
		if table.full(used) {
			larger := table.larger()
			for entry := range table.entries {
				larger.insert(entry)
			}
			table = larger
		}
		tag := rng.Uint64N(1 << tagBits)
		if used%3 == 0 { // at the end of the table, so that probing goes on at its start
			tag |= (1<<tagBits - 1) &^ 0xffff
		}
		tags[tag]++
		table.insert(tag << offsetBits)
	}
	for tag, want := range tags {
		got := 0
		for range table.probe(tag) {
			got++
		}
		if got != want {
			t.Fatalf("tag %#x has %d entries, want %d", tag, got, want)
		}
	}
}
