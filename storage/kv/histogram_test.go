package kv

import (
	"slices"
	"testing"
)

func TestAValueIsInTheBucketOfItsBound(t *testing.T) {
	h := NewCounting([]float64{1, 2, 4}, 1)
	for _, value := range []uint64{0, 1, 2, 3, 4, 5, 100} {
		h.Observe(value)
	}
	if s := h.Snapshot(); !slices.Equal(s.Counts, []uint64{2, 1, 2, 2}) || s.Sum != 115 {
		t.Errorf("got %+v", s)
	}
	if n := testing.AllocsPerRun(100, func() { h.Observe(3) }); n != 0 {
		t.Errorf("an observation allocates %v times", n)
	}
}
