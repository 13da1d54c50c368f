package rowtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"shunt/engine"
)

// Model is the plain form of a tally: counts, a set of visitors, and maps of hits by value.
type Model struct {
	Hits, Bots, Prefetches, Heads uint64
	Visitors                      map[uint64]bool
	Values                        [engine.NumDimensions]map[string]uint64
}

// Add adds all that o has.
func (m *Model) Add(o *Model) {
	m.Hits += o.Hits
	m.Bots += o.Bots
	m.Prefetches += o.Prefetches
	m.Heads += o.Heads
	if m.Visitors == nil {
		m.Visitors = map[uint64]bool{}
	}
	maps.Copy(m.Visitors, o.Visitors)
	for i := range o.Values {
		for value, hits := range o.Values[i] {
			m.Count(engine.Dimension(i), value, hits)
		}
	}
}

// Count adds hits of a value. m.Hits must already contain them.
func (m *Model) Count(dim engine.Dimension, value string, hits uint64) {
	if m.Values[dim] == nil {
		m.Values[dim] = map[string]uint64{}
	}
	m.Values[dim][value] += hits
}

// Tally returns m as the tally that a row holds.
func (m *Model) Tally() *engine.Tally {
	t := &engine.Tally{Hits: m.Hits, Bots: m.Bots, Prefetches: m.Prefetches, Heads: m.Heads}
	t.Visitors.AddAll(slices.Collect(maps.Keys(m.Visitors)))
	for i := range m.Values {
		for _, value := range slices.Sorted(maps.Keys(m.Values[i])) {
			t.Dimensions[i] = append(t.Dimensions[i], engine.ValueHits{Value: value, Hits: m.Values[i][value]})
		}
	}
	return t
}

// Hit returns the model of one hit.
func Hit(visitor uint64) *Model { return &Model{Hits: 1, Visitors: map[uint64]bool{visitor: true}} }

// HitFrom returns the model of one hit with a value of each dimension.
func HitFrom(visitor uint64, referrer string, country, device, browser byte) *Model {
	m := Hit(visitor)
	for i, value := range []string{referrer, string([]byte{country}), string([]byte{device}), string([]byte{browser})} {
		m.Count(engine.Dimension(i), value, 1)
	}
	return m
}

// Models draws a small tally, or occasionally one with more visitors than are counted exactly.
func Models() *rapid.Generator[*Model] {
	return rapid.Custom(func(t *rapid.T) *Model {
		m := &Model{Visitors: map[uint64]bool{}}
		counts := rapid.SliceOfN(rapid.OneOf(rapid.Just(uint64(0)), rapid.Uint64Max(1<<40)), 4, 4).Draw(t, "counts")
		m.Hits, m.Bots, m.Prefetches, m.Heads = counts[0], counts[1], counts[2], counts[3]
		n := rapid.OneOf(rapid.IntRange(0, 3), rapid.IntRange(0, 700), rapid.IntRange(1000, 1400)).Draw(t, "visitors")
		first := rapid.Uint64Max(3000).Draw(t, "first")
		for i := range uint64(n) {
			m.Visitors[Visitor(first+i)] = true
		}
		for dim := range engine.NumDimensions {
			genValues(t, m, dim)
		}
		return m
	})
}

// genValues draws a breakdown: often one value with all hits, seldom many.
func genValues(t *rapid.T, m *Model, dim engine.Dimension) {
	n := rapid.OneOf(rapid.Just(uint64(0)), rapid.Just(uint64(1)), rapid.Uint64Max(4), rapid.Uint64Max(60)).Draw(t, "values")
	if n > m.Hits {
		return
	}
	for i := range n {
		value := string([]byte{byte(rapid.IntRange(0, 255).Draw(t, "value"))})
		if dim == engine.Referrers {
			value = Referrer(rapid.IntRange(0, 200).Draw(t, "referrer"))
		}
		m.Count(dim, value, rapid.Uint64Range(1, m.Hits/n).Draw(t, "hits of the value"))
		if i == 0 && n == 1 && rapid.Bool().Draw(t, "all hits") {
			m.Values[dim][value] = m.Hits
		}
	}
}

// Referrer returns a name for a number: "" for 0, and some long names.
func Referrer(n int) string {
	switch {
	case n == 0:
		return ""
	case n%50 == 0:
		return strings.Repeat(string(rune('a'+n/50%26)), engine.MaxReferrerBytes)
	}
	return fmt.Sprintf("r%d.example", n)
}

// Visitor spreads small numbers over 64 bits; visitor 0 has hash 0.
func Visitor(n uint64) uint64 { return n * 0x9e3779b97f4a7c15 }
