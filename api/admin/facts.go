package admin

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
)

// A Unit is what a value of a Fact counts.
type Unit uint8

const (
	Number Unit = iota
	Bytes
	Seconds
	Ratio  // 0 to 1
	Moment // Unix seconds
	YesNo  // 1 or 0
	Info   // only Text counts
)

// A Group is the facts that people see under one heading.
type Group struct {
	Title  string
	Folded bool // few people need it
	Facts  []Fact
}

// A Fact is a metric in words.
type Fact struct {
	Metric string // its name
	Words  string
	Unit   Unit
	Values []Value
}

// A Value is one value of a fact.
type Value struct {
	Label string  // empty: the fact has only one value
	N     float64 // if Of is not 0: the mean of so many
	Of    uint64
	Mean  bool   // N is a mean, of Of values
	Text  string // of the unit Info
}

// otherTitle heads the metrics that are not in the table.
const otherTitle = "Other metrics"

// Facts returns all metrics as they are now, in the order of the table: exactly those that
// Prometheus reads. It takes about a millisecond.
func (m *Metrics) Facts() ([]Group, error) {
	families, err := m.registry.Gather()
	if err != nil {
		return nil, fmt.Errorf("read the metrics: %w", err)
	}
	left := make(map[string]*dto.MetricFamily, len(families))
	for _, f := range families {
		left[f.GetName()] = f
	}
	var groups []Group
	for _, s := range table {
		g := Group{Title: s.title, Folded: s.folded}
		for i := range s.metrics {
			row := &s.metrics[i]
			if f := left[row.name]; f != nil {
				g.Facts = append(g.Facts, newFact(row, f))
				delete(left, row.name)
			}
		}
		if len(g.Facts) > 0 {
			groups = append(groups, g)
		}
	}
	return append(groups, others(families, left)), nil
}

// others returns the metrics that are not in the table, with the words of their help.
func others(families []*dto.MetricFamily, left map[string]*dto.MetricFamily) Group {
	g := Group{Title: otherTitle, Folded: true}
	for _, f := range families {
		if left[f.GetName()] == nil {
			continue
		}
		row := metric{name: f.GetName(), words: strings.TrimSuffix(f.GetHelp(), ".")}
		switch name := row.name; {
		case strings.HasSuffix(name, "_bytes"), strings.HasSuffix(name, "_bytes_total"):
			row.unit = Bytes
		case strings.HasSuffix(name, "_time_seconds"), strings.HasSuffix(name, "_timestamp_seconds"):
			row.unit = Moment
		}
		g.Facts = append(g.Facts, newFact(&row, f))
	}
	return g
}

func newFact(row *metric, f *dto.MetricFamily) Fact {
	fact := Fact{Metric: row.name, Words: row.words, Unit: row.unit}
	metrics := f.GetMetric()
	slices.SortStableFunc(metrics, func(a, b *dto.Metric) int { return row.place(a) - row.place(b) })
	for _, m := range metrics {
		if row.unit == Info {
			fact.Values = append(fact.Values, infoOf(row, m)...)
			continue
		}
		v := valueOf(m)
		v.Label = labelOf(row, m)
		if v.Label == "" || !v.Mean || v.Of > 0 { // no mean of a route that nobody asked for
			fact.Values = append(fact.Values, v)
		}
	}
	return fact
}

// valueOf returns the value of a counter or gauge, or the mean of a summary or histogram.
func valueOf(m *dto.Metric) Value {
	switch {
	case m.GetCounter() != nil:
		return Value{N: m.GetCounter().GetValue()}
	case m.GetSummary() != nil:
		return mean(m.GetSummary().GetSampleSum(), m.GetSummary().GetSampleCount())
	case m.GetHistogram() != nil:
		return mean(m.GetHistogram().GetSampleSum(), m.GetHistogram().GetSampleCount())
	}
	return Value{N: cmp.Or(m.GetGauge().GetValue(), m.GetUntyped().GetValue())}
}

func mean(sum float64, of uint64) Value {
	return Value{N: sum / float64(max(of, 1)), Of: of, Mean: true}
}

// labelOf returns the labels of a value in the order of the table, the last one in words.
func labelOf(row *metric, m *dto.Metric) string {
	pairs := slices.Clone(m.GetLabel())
	slices.SortStableFunc(pairs, func(a, b *dto.LabelPair) int {
		return slices.Index(row.labels, a.GetName()) - slices.Index(row.labels, b.GetName())
	})
	texts := make([]string, len(pairs))
	for i, p := range pairs {
		texts[i] = p.GetValue()
	}
	if n := len(texts); n > 0 {
		texts[n-1] = row.wording(texts[n-1])
	}
	return strings.Join(texts, " ")
}

// wording returns the words for a value of a label.
func (row *metric) wording(value string) string {
	for _, w := range row.values {
		if w.value == value {
			return w.words
		}
	}
	return value
}

// place returns where m stands among the values of its metric: in the order of the table.
func (row *metric) place(m *dto.Metric) int {
	for _, p := range m.GetLabel() {
		if i := slices.IndexFunc(row.values, func(w wording) bool { return w.value == p.GetValue() }); i >= 0 {
			return i
		}
	}
	return len(row.values)
}

// infoOf returns the labels of a metric as values, in the order of the table.
func infoOf(row *metric, m *dto.Metric) (values []Value) {
	for _, w := range row.values {
		for _, p := range m.GetLabel() {
			if p.GetName() == w.value {
				values = append(values, Value{Label: w.words, Text: p.GetValue()})
			}
		}
	}
	return values
}

// rowOf returns the row of a metric that the table has.
func rowOf(name string) *metric {
	for _, s := range table {
		for i := range s.metrics {
			if s.metrics[i].name == name {
				return &s.metrics[i]
			}
		}
	}
	panic("admin: no row for the metric " + name)
}
