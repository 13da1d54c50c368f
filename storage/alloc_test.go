//go:build !race

package storage

// The race detector has a sync.Pool forget at random, so this file is not for it.

import "testing"

func TestMergingSmallOperandsAllocatesOnlyTheResult(t *testing.T) {
	for name, rows := range map[string][][]byte{
		"without breakdowns": {rowOf(hit(1)), rowOf(hit(2))},
		"with breakdowns":    {rowOf(hitFrom(1, "a.b", 5, 2, 1)), rowOf(hitFrom(2, "c.d", 5, 3, 1))},
	} {
		allocs := testing.AllocsPerRun(1000, func() {
			m, _ := newMerge(nil, rows[0])
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
