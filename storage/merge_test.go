package storage

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"shunt/engine"
)

// mergeRows merges rows by the merger as Pebble does, newer first or older first.
func mergeRows(t rapid.TB, newer bool, rows [][]byte) []byte {
	m, err := newMerger().Merge(nil, rows[0])
	for _, row := range rows[1:] {
		if err != nil {
			break
		}
		if newer {
			err = m.MergeNewer(row)
		} else {
			err = m.MergeOlder(row)
		}
	}
	if err != nil {
		t.Fatalf("merging: %v", err)
	}
	merged, closer, err := m.Finish(true)
	if err != nil || closer != nil {
		t.Fatalf("Finish: %v", err)
	}
	return merged
}

func TestMergedTalliesAreThoseOfAPlainMapHoweverTheyAreGrouped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want model
		var rows [][]byte
		for _, m := range rapid.SliceOfN(genModel(), 1, 12).Draw(t, "tallies") {
			want.add(m)
			rows = append(rows, m.row())
		}
		for len(rows) > 1 { // merge a part of them, again and again
			from := rapid.IntRange(0, len(rows)-1).Draw(t, "from")
			to := rapid.IntRange(from+1, len(rows)).Draw(t, "to")
			merged := mergeRows(t, rapid.Bool().Draw(t, "newer"), rows[from:to])
			rows = append(append(append([][]byte{}, rows[:from]...), merged), rows[to:]...)
			if len(rows) > 1 && to-from == 1 {
				rows = [][]byte{mergeRows(t, true, rows)}
			}
		}
		if got := mergeRows(t, true, rows); !bytes.Equal(got, want.row()) {
			t.Fatalf("got %d bytes, want %d of %d visitors", len(got), len(want.row()), len(want.visitors))
		}
	})
}

func TestManyOperandsOfOneVisitorCrossTheExactBoundWithoutLoss(t *testing.T) {
	for _, n := range []int{engine.MaxExactVisitors - 1, engine.MaxExactVisitors, engine.MaxExactVisitors + 1, 3 * maxLooseHashes} {
		var want model
		var rows [][]byte
		for i := range uint64(n) {
			for range 1 + i%2 { // every other visitor comes twice
				want.add(hit(visitorHash(i)))
				rows = append(rows, hit(visitorHash(i)).row())
			}
		}
		if got := mergeRows(t, true, rows); !bytes.Equal(got, want.row()) {
			t.Errorf("%d visitors: the merged row differs", n)
		}
	}
}

func TestACorruptOperandStopsTheMerge(t *testing.T) {
	good := hit(1).row()
	for name, bad := range map[string][]byte{
		"no bytes": {}, "newer format": {2, 0}, "cut off": good[:len(good)-1], "dense without registers": {1, tallyVisitors, sketchDense, 2},
	} {
		if _, err := newMerger().Merge(nil, bad); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s, first: got %v, want ErrCorrupt", name, err)
		}
		m, err := newMerger().Merge(nil, good)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.MergeNewer(bad); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s, second: got %v, want ErrCorrupt", name, err)
		}
	}
}

func TestACorruptRowIsAnErrorToItsReader(t *testing.T) {
	s := openTemp(t)
	b := s.db.NewBatch()
	merge(b, appendLinkLifeKey(nil, 1), hit(1).row())
	merge(b, appendLinkLifeKey(nil, 1), []byte{9, 9})
	if err := s.sync(b, "test"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.ReadTally(1); !errors.Is(err, ErrCorrupt) {
		t.Errorf("got %v, want ErrCorrupt", err)
	}
}

func TestMergingSmallOperandsAllocatesOnlyTheResult(t *testing.T) {
	merger := newMerger()
	a, b := hit(1).row(), hit(2).row()
	allocs := testing.AllocsPerRun(1000, func() {
		m, _ := merger.Merge(nil, a)
		_ = m.MergeNewer(b)
		_, _, _ = m.Finish(true)
	})
	if allocs > 1 {
		t.Errorf("got %v allocations, want 1", allocs)
	}
}
