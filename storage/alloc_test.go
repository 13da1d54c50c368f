//go:build !race

package storage

// The race detector has a sync.Pool forget at random, so this file is not for it.

import "testing"

func TestMergingSmallOperandsAllocatesOnlyTheResult(t *testing.T) {
	merger := newMerger()
	for name, rows := range map[string][][]byte{
		"without breakdowns": {hit(1).row(), hit(2).row()},
		"with breakdowns":    {hitFrom(1, "a.b", 5, 2, 1).row(), hitFrom(2, "c.d", 5, 3, 1).row()},
	} {
		allocs := testing.AllocsPerRun(1000, func() {
			m, _ := merger.Merge(nil, rows[0])
			for range 50 {
				_ = m.MergeNewer(rows[1])
			}
			_, _, _ = m.Finish(true)
		})
		if allocs > 1 {
			t.Errorf("%s: got %v allocations, want 1", name, allocs)
		}
	}
}
