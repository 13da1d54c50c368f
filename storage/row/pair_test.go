package row

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage/row/rowtest"
)

// sumOf adds rows up by a Sum.
func sumOf(t rapid.TB, rows ...[]byte) []byte {
	t.Helper()
	var s Sum
	for _, row := range rows {
		expect.OK(t, s.Add(row, AllParts))
	}
	return s.AppendRow(nil)
}

func TestPairsOfRowsEqualTheirSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rowOf(rowtest.Models().Draw(t, "a")), rowOf(rowtest.Models().Draw(t, "b"))
		got, ok, err := appendPair([]byte("before"), a, b)
		expect.OK(t, err)
		if want := sumOf(t, a, b); ok && string(got) != "before"+string(want) {
			t.Fatalf("%x and %x: got %x, want %x", a, b, got[6:], want)
		}
	})
}

// manyRow returns a row of a number of visitors and of referrers, of which the first is from.
func manyRow(from, visitors, referrers int) []byte {
	m := &rowtest.Model{Hits: uint64(visitors + referrers), Visitors: map[uint64]bool{}}
	for i := from; i < from+visitors; i++ {
		m.Visitors[rowtest.Visitor(uint64(i))] = true
	}
	for i := from; i < from+referrers; i++ {
		m.Count(engine.Referrers, fmt.Sprintf("r%d.example", i), 1)
	}
	return rowOf(m)
}

func TestOnlySmallRowsAreAddedAsPairs(t *testing.T) {
	for _, c := range []struct {
		name string
		a, b []byte
		ok   bool
	}{
		{"64 and 63 visitors, all others", manyRow(0, 64, 0), manyRow(64, 63, 0), true},
		{"64 and 64 visitors, all others", manyRow(0, 64, 0), manyRow(64, 64, 0), true},
		{"64 and 64 visitors, half of them others", manyRow(0, 64, 0), manyRow(32, 64, 0), true},
		{"1,023 visitors and another", manyRow(0, engine.MaxExactVisitors-1, 0), manyRow(2000, 1, 0), true},
		{"1,024 visitors and another", manyRow(0, engine.MaxExactVisitors, 0), manyRow(2000, 1, 0), false},
		{"dense and another", manyRow(0, engine.MaxExactVisitors+1, 0), manyRow(2000, 1, 0), false},
		{"64 and 63 referrers", manyRow(0, 0, 64), manyRow(64, 0, 63), true},
		{"64 and 64 referrers", manyRow(0, 0, 64), manyRow(64, 0, 64), false},
		{"100 referrers twice", manyRow(0, 0, 100), manyRow(0, 0, 100), true},
	} {
		for _, rows := range [][][]byte{{c.a, c.b}, {c.b, c.a}} {
			got, ok, err := appendPair(nil, rows[0], rows[1])
			expect.That(t, err == nil && ok == c.ok, "%s: got %v, %v, want %v", c.name, ok, err, c.ok)
			want := sumOf(t, rows...)
			expect.That(t, !ok || bytes.Equal(got, want), "%s: got %x, want %x", c.name, got, want)
			expect.That(t, bytes.Equal(mergeRows(t, true, rows), sumOf(t, rows...)), "%s: the merged row differs from the sum", c.name)
		}
	}
}
