//go:build !race

package api

import (
	"fmt"
	"runtime"
	"testing"

	"shunt/api/visitor"
	"shunt/engine"
	"shunt/engine/expect"
)

// These tests check that values that clients can invent without end are kept in bounded memory.
// They run without the race detector, which would take ten times as long: there is only one
// goroutine.

func manyStrings() int {
	if testing.Short() {
		return 200_000
	}
	return 500_000 // eight times as many as there are numbers
}

// heapGrowth returns by how many bytes f has made the live heap grow.
func heapGrowth(f func()) int64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	runtime.GC()
	runtime.ReadMemStats(&after)
	return int64(after.HeapAlloc) - int64(before.HeapAlloc)
}

func TestUnlimitedReferrersUseBoundedMemoryAndShowAsOther(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	header := make([]byte, 0, 64)
	number := func(i int) uint16 {
		header = fmt.Appendf(header[:0], "https://www.host-%d.example/page?%d", i, i)
		return visitor.Referrer(st.engine, header)
	}
	const popular = 100 // hosts that come again and again
	others := 0
	grown := heapGrowth(func() {
		for i := range manyStrings() {
			if number(popular+i) == engine.OtherReferrer {
				others++
			}
			n := number(i % popular)
			expect.MustThat(t, n != 0 && n != engine.OtherReferrer, "%s: got %d, want a number of its own, whatever comes between", header, n)
		}
	})
	limit := int64(16 << 20)
	expect.That(t, grown <= limit, "got %d bytes more on the heap, want at most %d", grown, limit)
	least := manyStrings() - 1<<16
	expect.That(t, others >= least, "got %d others, want at least %d", others, least)
	numbers := make(map[uint16]int)
	for i := range popular {
		numbers[number(i)] = i
	}
	expect.That(t, len(numbers) == popular, "got %d numbers for %d hosts", len(numbers), popular)

	st.get("/x", "Referer: https://host-7.example/")
	st.get("/x", "Referer: https://newcomer.example/")
	st.get("/x", "Referer: https://another-newcomer.example/")
	st.get("/x")
	expect.Equal(t, st.breakdown("x", "referrers"), "direct 1, host-7.example 1, other 2")
}
