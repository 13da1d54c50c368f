//go:build !race

package row

// Under the race detector a sync.Pool drops items at random, so this file is left out there.

import (
	"shunt/storage/row/rowtest"
	"testing"
)

func TestMergingSmallOperandsAllocatesOnlyTheResult(t *testing.T) {
	for name, rows := range map[string][][]byte{
		"without breakdowns": {rowOf(rowtest.Hit(1)), rowOf(rowtest.Hit(2))},
		"with breakdowns":    {rowOf(rowtest.HitFrom(1, "a.b", 5, 2, 1)), rowOf(rowtest.HitFrom(2, "c.d", 5, 3, 1))},
	} {
		allocs := testing.AllocsPerRun(1000, func() {
			m, _ := NewMerge(nil, rows[0])
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
