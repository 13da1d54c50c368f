//go:build !race

package row

// Under the race detector a sync.Pool drops items at random, so this file is left out there.

import (
	"shunt/storage/row/rowtest"
	"testing"
)

func TestMergingSmallOperandsAllocatesNothing(t *testing.T) {
	for name, rows := range map[string][][]byte{
		"without breakdowns": {rowOf(rowtest.Hit(1)), rowOf(rowtest.Hit(2))},
		"with breakdowns":    {rowOf(rowtest.HitFrom(1, "a.b", 5, 2, 1)), rowOf(rowtest.HitFrom(2, "c.d", 5, 3, 1))},
	} {
		for _, more := range []int{0, 1, 50} {
			allocs := testing.AllocsPerRun(1000, func() {
				m, _ := NewMerge(nil, rows[0])
				for range more {
					_ = m.MergeNewer(rows[1])
				}
				_, closer, _ := m.Finish(true)
				_ = closer.Close()
			})
			if allocs > 0 {
				t.Errorf("%s, %d more operands: got %v allocations, want none", name, more, allocs)
			}
		}
	}
}
