package row

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage/row/rowtest"
)

// mergeRows merges rows by the merger as Pebble does, newer first or older first.
func mergeRows(t rapid.TB, newer bool, rows [][]byte) []byte {
	merged, err := tryMerge(newer, rows...)
	expect.OK(t, err, "merging")
	return merged
}

func tryMerge(newer bool, rows ...[]byte) ([]byte, error) {
	m, err := NewMerge(nil, rows[0])
	for _, row := range rows[1:] {
		if err != nil {
			return nil, err
		}
		if newer {
			err = m.MergeNewer(row)
		} else {
			err = m.MergeOlder(row)
		}
	}
	if err != nil {
		return nil, err
	}
	merged, closer, err := m.Finish(true)
	if err != nil {
		return nil, err
	}
	return bytes.Clone(merged), closer.Close()
}

func TestMergedTalliesEqualAPlainMapInAnyGrouping(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want rowtest.Model
		var rows [][]byte
		for _, m := range rapid.SliceOfN(rowtest.Models(), 1, 12).Draw(t, "tallies") {
			want.Add(m)
			rows = append(rows, rowOf(m))
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
		got := mergeRows(t, true, rows)
		expect.MustThat(t, bytes.Equal(got, rowOf(&want)), "got %d bytes, want %d of %d visitors", len(got), len(rowOf(&want)), len(want.Visitors))
	})
}

func TestManySmallOperandsCrossTheExactBoundWithoutLoss(t *testing.T) {
	for _, n := range []int{engine.MaxExactVisitors - 1, engine.MaxExactVisitors, engine.MaxExactVisitors + 1, 3 * maxLooseHashes} {
		var want rowtest.Model
		var rows [][]byte
		for i := range uint64(n) {
			for range 1 + i%2 { // every other visitor comes twice
				want.Add(rowtest.Hit(rowtest.Visitor(i)))
				rows = append(rows, rowOf(rowtest.Hit(rowtest.Visitor(i))))
			}
		}
		expect.That(t, bytes.Equal(mergeRows(t, true, rows), rowOf(&want)), "%d visitors: the merged row differs", n)
	}
}

// TestDroppedReferrersAreUndercountedWithinTheBound merges rows of 3,000 referrers, more than are
// kept, in random groups: no value is shown with more hits than it has, nor with fewer than the
// bound of engine.Breakdown allows.
func TestDroppedReferrersAreUndercountedWithinTheBound(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		zipf := rand.NewZipf(rng, 1.1, 1, 3000)
		var want rowtest.Model
		var rows [][]byte
		for range 300 {
			m := &rowtest.Model{}
			for range 1 + rng.IntN(200) {
				m.Count(engine.Referrers, rowtest.Referrer(int(zipf.Uint64())), 1)
				m.Hits++
			}
			m.Hits += rng.Uint64N(2) // without a known referrer
			want.Add(m)
			rows = append(rows, rowOf(m))
		}
		for len(rows) > 1 {
			from := rng.IntN(len(rows))
			to := min(len(rows), from+1+rng.IntN(2+int(seed)*4))
			merged := mergeRows(t, rng.IntN(2) == 0, rows[from:to])
			rows = slices.Replace(rows, from, to, merged)
		}
		wantWithinBound(t, rows[0], &want)
	}
}

func wantWithinBound(t *testing.T, row []byte, want *rowtest.Model) {
	t.Helper()
	got, err := decodeTally(row)
	expect.MustThat(t, err == nil && got.Hits == want.Hits, "got %d hits, %v, want %d", got.Hits, err, want.Hits)
	b := got.Dimensions[engine.Referrers]
	bound := (got.Hits - b.Sum()) / (engine.MaxValues + 1)
	shown := map[string]uint64{}
	for _, v := range b {
		shown[v.Value] = v.Hits
	}
	for value, hits := range want.Values[engine.Referrers] {
		expect.That(t, shown[value] <= hits && shown[value]+bound >= hits, "%q: got %d hits, want at most %d and at least %d fewer", value, shown[value], hits, bound)
	}
	expect.That(t, len(b) <= engine.MaxValues && len(b) != 0, "got %d values", len(b))
}

func TestOverflowingHitsLoseTheirBreakdowns(t *testing.T) {
	most := &rowtest.Model{Hits: math.MaxUint64}
	rows := [][]byte{rowOf(most), rowOf(rowtest.HitFrom(1, "a.b", 5, 2, 1))}
	want := &rowtest.Model{Hits: math.MaxUint64, Visitors: map[uint64]bool{1: true}}
	got := mergeRows(t, true, rows)
	expect.That(t, bytes.Equal(got, rowOf(want)), "got %x, want %x", got, rowOf(want))
	twice := rowtest.HitFrom(1, "a.b", 5, 2, 1)
	twice.Add(rowtest.HitFrom(1, "a.b", 5, 2, 1))
	if got := mergeRows(t, true, [][]byte{rows[1], rows[1]}); !bytes.Equal(got, rowOf(twice)) {
		t.Errorf("the next merge: got %x, want %x", got, rowOf(twice))
	}
}

func TestDenseRowsMergeLikeTheirSketches(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range 20 {
		var want engine.Tally
		var rows [][]byte
		for range 1 + rng.IntN(5) {
			tally := engine.Tally{Hits: 1}
			for range rng.IntN(6000) {
				tally.Visitors.Add(rng.Uint64() >> rng.IntN(60)) // high registers as well
			}
			rows = append(rows, AppendTally(nil, &tally))
			want.Add(&tally)
		}
		expect.That(t, bytes.Equal(mergeRows(t, true, rows), AppendTally(nil, &want)), "%d rows: the merged row differs", len(rows))
	}
}

func TestACorruptOperandStopsTheMerge(t *testing.T) {
	good := rowOf(rowtest.Hit(1))
	for name, bad := range map[string][]byte{
		"no bytes": {}, "newer format": {3, 0}, "cut off": good[:len(good)-1], "dense without registers": {1, tallyVisitors, sketchDense, 2},
		"unknown dimensions": {1, tallyHits | tallyBreakdowns, 1, 2, 0x30, 0x30},
	} {
		for _, rows := range [][][]byte{{bad, good}, {good, bad}, {good, good, bad}} {
			expect.Error(t, expect.Err(tryMerge(true, rows...)), ErrCorrupt, "%s, in %x", name, rows)
		}
	}
}

// A dense row is checked while it is united with another one, too.
func TestADenseRowWithAnImpossibleRegisterIsAnError(t *testing.T) {
	m := &rowtest.Model{Hits: 2000, Visitors: map[uint64]bool{}}
	for i := range uint64(2000) {
		m.Visitors[i<<40|i] = true
	}
	good := rowOf(m)
	for _, value := range []byte{maxRegister + 1, 0x7f, 0x80, 0xff} {
		bad := bytes.Clone(good)
		bad[len(bad)-3] = value
		for _, rows := range [][][]byte{{bad}, {good, bad}, {bad, good}} {
			var sum Sum
			var err error
			for _, row := range rows {
				err = errors.Join(err, sum.Add(row, AllParts))
			}
			expect.Error(t, err, ErrCorrupt, "register %d in one of %d rows", value, len(rows))
		}
	}
}

func TestATallyThatIsOwnedOutlivesItsSum(t *testing.T) {
	dense := &rowtest.Model{Hits: 2000, Visitors: map[uint64]bool{}}
	for i := range uint64(2000) {
		dense.Visitors[i*0x9e3779b97f4a7c15] = true
	}
	other := rowtest.HitFrom(7, "other.example", 1, 2, 3)
	for _, m := range []*rowtest.Model{dense, rowtest.HitFrom(1, "a.example", 4, 5, 6)} {
		var sum Sum
		expect.OK(t, sum.Add(rowOf(m), AllParts))
		got := sum.OwnTally()
		for _, next := range []*rowtest.Model{other, dense, other} {
			sum.Reset()
			expect.OK(t, sum.Add(rowOf(next), AllParts))
			_ = sum.Tally()
		}
		expect.That(t, bytes.Equal(AppendTally(nil, &got), rowOf(m)), "the tally has changed")
	}
}

func TestALoneOperandIsTheResultAsItIs(t *testing.T) {
	for _, operand := range [][]byte{rowOf(rowtest.Hit(1)), {1, tallyVisitors, sketchDense, 2}, {}} {
		got, err := tryMerge(true, operand)
		expect.That(t, err == nil && bytes.Equal(got, operand), "got %x, %v, want %x", got, err, operand)
	}
}

// FuzzMerge merges any two operands: the merge accepts exactly those that their decoder accepts,
// and the result is the sum of the decoded tallies. A lone operand stays as it is.
func FuzzMerge(f *testing.F) {
	seeds := append(tallySeeds(), rowOf(rowtest.Hit(1)), AppendTally(nil, &engine.Tally{Hits: math.MaxUint64, Heads: 1}))
	for _, a := range seeds {
		for _, b := range seeds {
			f.Add(a, b)
		}
		f.Add(a, a[:len(a)-1])
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		want, errA := decodeTally(a)
		other, errB := decodeTally(b)
		got, err := tryMerge(true, a)
		expect.MustThat(t, err == nil && bytes.Equal(got, a), "%x, alone: got %x, %v", a, got, err)
		if _, err := tryMerge(true, a, b); (err == nil) != (errA == nil && errB == nil) || err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatalf("%x and %x: got %v, and from their decoders %v, %v", a, b, err, errA, errB)
		}
		if errA != nil || errB != nil || want.Hits+other.Hits < want.Hits {
			return
		}
		want.Add(&other)
		row := AppendTally(nil, &want)
		for _, operands := range [][][]byte{{a, b}, {b, a}} {
			got := mergeRows(t, true, operands)
			expect.MustThat(t, bytes.Equal(got, row), "%x: got %x, want %x", operands, got, row)
		}
	})
}
