//go:build !race

package api

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/dchest/siphash"

	"shunt/engine"
)

// What clients can make up without end is kept in bounded memory. The race detector would take ten times as long, and
// there is one goroutine.

func manyStrings() int {
	if testing.Short() {
		return 200_000
	}
	return 5_000_000
}

// heapGrowth returns by how much what is live on the heap has grown after f.
func heapGrowth(f func()) int64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	runtime.GC()
	runtime.ReadMemStats(&after)
	return int64(after.HeapAlloc) - int64(before.HeapAlloc)
}

func TestUserAgentsWithoutEndTakeNoMemory(t *testing.T) {
	if got := unsafe.Sizeof(agentCache{}); got != 512<<10 {
		t.Errorf("the cache has %d bytes, want 512 KiB", got)
	}
	c := new(agentCache)
	random := rand.New(rand.NewPCG(1, 2))
	var real []string
	for _, a := range agentCases {
		real = append(real, a.agent)
	}
	const brackets = "();/:[]{}, \x00\xff+"
	agent := make([]byte, 0, 4096)
	grown := heapGrowth(func() {
		for i := range manyStrings() {
			agent = fmt.Appendf(agent[:0], "%d ", i) // so that no two are the same
			switch i % 4 {
			case 0: // as they are, with something behind
				agent = append(append(agent[:0], real[random.IntN(len(real))]...), fmt.Sprint(" App/", i)...)
			case 1: // the pieces of one, in disorder
				pieces := strings.Fields(real[random.IntN(len(real))])
				random.Shuffle(len(pieces), func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })
				for _, piece := range pieces {
					agent = append(append(agent, piece...), ' ')
				}
			case 2: // binary
				for range random.IntN(9) {
					agent = binary.LittleEndian.AppendUint64(agent, random.Uint64())
				}
			case 3: // brackets and slashes, which parsers like least
				for range random.IntN(32) {
					agent = append(agent, brackets[random.IntN(len(brackets))])
				}
			}
			c.lookup(siphash.Hash(1, 2, agent), agent)
		}
	})
	if limit := int64(1 << 20); grown > limit {
		t.Errorf("got %d bytes more on the heap, want at most %d", grown, limit)
	}
	for name, a := range agentCases { // after all that, what is looked up is still right
		if info := c.lookup(siphash.Hash(1, 2, []byte(a.agent)), []byte(a.agent)); info.agent().Browser().String() != a.browser {
			t.Errorf("%s: got %v, want %s", name, info.agent().Browser(), a.browser)
		}
	}
}

func TestReferrersWithoutEndTakeNoMemoryAndShowAsOther(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	header := make([]byte, 0, 64)
	number := func(i int) uint16 {
		header = fmt.Appendf(header[:0], "https://www.host-%d.example/page?%d", i, i)
		return st.redirects.referrer(header)
	}
	const popular = 100 // hosts that come again and again
	others := 0
	grown := heapGrowth(func() {
		for i := range manyStrings() {
			if number(popular+i) == engine.OtherReferrer {
				others++
			}
			if n := number(i % popular); n == 0 || n == engine.OtherReferrer {
				t.Fatalf("%s: got %d, want a number of its own, whatever comes between", header, n)
			}
		}
	})
	if limit := int64(16 << 20); grown > limit {
		t.Errorf("got %d bytes more on the heap, want at most %d", grown, limit)
	}
	if least := manyStrings() - 1<<16; others < least {
		t.Errorf("got %d others, want at least %d", others, least)
	}
	numbers := make(map[uint16]int)
	for i := range popular {
		numbers[number(i)] = i
	}
	if len(numbers) != popular {
		t.Errorf("got %d numbers for %d hosts", len(numbers), popular)
	}

	st.get("/x", "Referer: https://host-7.example/")
	st.get("/x", "Referer: https://newcomer.example/")
	st.get("/x", "Referer: https://another-newcomer.example/")
	st.get("/x")
	if got, want := st.breakdown("x", "referrers"), "direct 1, host-7.example 1, other 2"; got != want {
		t.Errorf("got referrers %s, want %s", got, want)
	}
}

func TestMissesKeepTheirGuaranteeOnAnySequence(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(random, 1.1, 1, 1<<24)
	for name, next := range map[string]func(i int) string{
		"zipf":             func(int) string { return fmt.Sprintf("z%d", zipf.Uint64()) },
		"a scan":           func(i int) string { return fmt.Sprintf("s%d", i) },
		"random codes":     func(int) string { return fmt.Sprintf("%x", random.Uint64()) },
		"one code again":   func(int) string { return "favicon" },
		"turn and turn":    func(i int) string { return fmt.Sprint(i % (2 * missCounters)) },
		"a scan and a few": func(i int) string { return fmt.Sprintf("m%d", (i%2)*i+(i/2%100)*(1-i%2)) },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMisses(time.Now())
			truth := make(map[string]uint64)
			misses := 200_000
			if name == "random codes" { // a scan of the code space
				misses = 1_000_000
			}
			for i := range misses {
				code := next(i)
				truth[code]++
				m.add([]byte(code))
			}
			checkGuarantee(t, m, truth, uint64(misses))
		})
	}
}
