package storage

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"shunt/engine"
)

// model is what tallies must be: counts, a plain set of visitors, and plain maps of hits by value.
type model struct {
	hits, bots, prefetches, heads uint64
	visitors                      map[uint64]bool
	values                        [engine.NumDimensions]map[string]uint64
}

func (m *model) add(o *model) {
	m.hits += o.hits
	m.bots += o.bots
	m.prefetches += o.prefetches
	m.heads += o.heads
	if m.visitors == nil {
		m.visitors = map[uint64]bool{}
	}
	maps.Copy(m.visitors, o.visitors)
	for i := range o.values {
		for value, hits := range o.values[i] {
			m.count(engine.Dimension(i), value, hits)
		}
	}
}

// count adds hits of a value, which m.hits must contain already.
func (m *model) count(dim engine.Dimension, value string, hits uint64) {
	if m.values[dim] == nil {
		m.values[dim] = map[string]uint64{}
	}
	m.values[dim][value] += hits
}

func (m *model) tally() *engine.Tally {
	t := &engine.Tally{Hits: m.hits, Bots: m.bots, Prefetches: m.prefetches, Heads: m.heads}
	t.Visitors.AddAll(slices.Collect(maps.Keys(m.visitors)))
	for i := range m.values {
		for _, value := range slices.Sorted(maps.Keys(m.values[i])) {
			t.Dimensions[i] = append(t.Dimensions[i], engine.ValueHits{Value: value, Hits: m.values[i][value]})
		}
	}
	return t
}

// hit is the model of one hit.
func hit(visitor uint64) *model { return &model{hits: 1, visitors: map[uint64]bool{visitor: true}} }

// hitFrom is the model of one hit with a value of each dimension.
func hitFrom(visitor uint64, referrer string, country, device, browser byte) *model {
	m := hit(visitor)
	for i, value := range []string{referrer, string([]byte{country}), string([]byte{device}), string([]byte{browser})} {
		m.count(engine.Dimension(i), value, 1)
	}
	return m
}

// genModel draws a small tally, or now and then one with more visitors than are counted exactly.
func genModel() *rapid.Generator[*model] {
	return rapid.Custom(func(t *rapid.T) *model {
		m := &model{visitors: map[uint64]bool{}}
		counts := rapid.SliceOfN(rapid.OneOf(rapid.Just(uint64(0)), rapid.Uint64Max(1<<40)), 4, 4).Draw(t, "counts")
		m.hits, m.bots, m.prefetches, m.heads = counts[0], counts[1], counts[2], counts[3]
		n := rapid.OneOf(rapid.IntRange(0, 3), rapid.IntRange(0, 700), rapid.IntRange(1000, 1400)).Draw(t, "visitors")
		first := rapid.Uint64Max(3000).Draw(t, "first")
		for i := range uint64(n) {
			m.visitors[visitorHash(first+i)] = true
		}
		for dim := range engine.NumDimensions {
			genValues(t, m, dim)
		}
		return m
	})
}

// genValues draws a breakdown: often one value with all hits, seldom many.
func genValues(t *rapid.T, m *model, dim engine.Dimension) {
	n := rapid.OneOf(rapid.Just(uint64(0)), rapid.Just(uint64(1)), rapid.Uint64Max(4), rapid.Uint64Max(60)).Draw(t, "values")
	if n > m.hits {
		return
	}
	for i := range n {
		value := string([]byte{byte(rapid.IntRange(0, 255).Draw(t, "value"))})
		if dim == engine.Referrers {
			value = referrerName(rapid.IntRange(0, 200).Draw(t, "referrer"))
		}
		m.count(dim, value, rapid.Uint64Range(1, m.hits/n).Draw(t, "hits of the value"))
		if i == 0 && n == 1 && rapid.Bool().Draw(t, "all hits") {
			m.values[dim][value] = m.hits
		}
	}
}

// referrerName returns a name for a number: none for 0, and some that are long.
func referrerName(n int) string {
	switch {
	case n == 0:
		return ""
	case n%50 == 0:
		return strings.Repeat(string(rune('a'+n/50%26)), engine.MaxReferrerBytes)
	}
	return fmt.Sprintf("r%d.example", n)
}

// visitorHash spreads small numbers over 64 bits; visitor 0 has hash 0.
func visitorHash(n uint64) uint64 { return n * 0x9e3779b97f4a7c15 }
