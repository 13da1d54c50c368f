package search

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"shunt/engine/expect"
)

// TestTheBestAreThoseOfAPlainSort: whatever is shown, in any order and in parts, page after page has each place once.
func TestTheBestAreThoseOfAPlainSort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		all := make([]Place, rapid.IntRange(0, 300).Draw(t, "places"))
		for i := range all {
			all[i] = Place{Key: rng.Uint64N(8), ID: uint64(i)}
		}
		want := slices.SortedFunc(slices.Values(all), Place.Compare)
		limit := rapid.IntRange(1, 50).Draw(t, "limit")
		var got []Place
		var after *Place
		for more := true; more; {
			rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			parts := []*Best{NewBest(limit, after), NewBest(limit, after)}
			for i, p := range all {
				parts[i%2].Add(p)
			}
			parts[0].AddAll(parts[1])
			var page []Place
			page, more = parts[0].Places()
			expect.MustThat(t, len(page) <= limit && (len(page) == limit || !more), "%d places of %d, more: %v", len(page), limit, more)
			if got = append(got, page...); len(page) > 0 {
				after = &got[len(got)-1]
			}
		}
		expect.Slices(t, got, want)
	})
}
