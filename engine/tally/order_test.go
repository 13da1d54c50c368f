package tally

import (
	"math/rand/v2"
	"slices"
	"testing"

	"shunt/engine/expect"
)

// TestEntriesComeInTheOrderOfKeysWhateverTheirDigits sorts entries whose ids and hours differ in few
// and in many digits, by comparisons and by digits.
func TestEntriesComeInTheOrderOfKeysWhateverTheirDigits(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, ids := range []uint64{0, 0xff, 0xff00, 0xffffff, 0xffff_0000_0000_00ff, 1<<64 - 1} {
		for _, hours := range []uint32{0, 3, 0xff00, 1<<32 - 1} {
			for _, n := range []int{0, 1, minDigitSort - 1, minDigitSort, 5000} {
				var d Deltas
				for range n {
					d.Add(500_000^rng.Uint32()&hours, 77^rng.Uint64()&ids, ClassHit, 1, Values{})
				}
				wantSorted(t, &d)
			}
		}
	}
}

// wantSorted compares the order of entries with that of their keys, and looks for each entry.
func wantSorted(t *testing.T, d *Deltas) {
	t.Helper()
	order := d.sorted()
	if !slices.IsSortedFunc(order, comparePlaces) || len(order) != d.Count() {
		t.Fatalf("%d of %d entries, sorted: %v", len(order), d.Count(), slices.IsSortedFunc(order, comparePlaces))
	}
	for i, o := range order {
		e := d.entries[o.at]
		expect.MustThat(t, e.id == o.id && e.hour == o.hour && (i <= 0 || comparePlaces(order[i-1], o) != 0), "place %d: got %v, of the entry (%d, %d)", i, o, e.hour, e.id)
	}
}

func TestAFetchChangesNothing(t *testing.T) {
	var d Deltas
	d.Fetch([]Key{{7, 1}})
	for id := range uint64(100) {
		d.Add(7, id, ClassHit, id, Values{})
	}
	before := slices.Clone(d.entries)
	for id := range uint64(200) {
		d.Fetch([]Key{{7, id}, {8, id}})
	}
	expect.That(t, d.Count() == 100 && slices.Equal(d.entries, before), "got %d entries after a fetch, want the same 100", d.Count())
}
