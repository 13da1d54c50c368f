//go:build !race

package visitor

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/dchest/siphash"

	"shunt/engine/expect"
)

// Strings that clients can invent without limit are kept in bounded memory. The race detector would
// take ten times as long, and there is only one goroutine.

func manyStrings() int {
	if testing.Short() {
		return 200_000
	}
	return 1_000_000
}

// heapGrowth returns the number of live bytes on the heap that f added.
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
	expect.Equal(t, unsafe.Sizeof(Agents{}), 512<<10, "the cache bytes")
	c := new(Agents)
	random := rand.New(rand.NewPCG(1, 2))
	real := usualAgents(t)
	const brackets = "();/:[]{}, \x00\xff+"
	agent := make([]byte, 0, 4096)
	grown := heapGrowth(func() {
		for i := range manyStrings() {
			agent = fmt.Appendf(agent[:0], "%d ", i) // so that no two are equal
			switch i % 4 {
			case 0: // as they are, with a suffix
				agent = append(append(agent[:0], real[random.IntN(len(real))].header...), fmt.Sprint(" App/", i)...)
			case 1: // the pieces of one, in disorder
				pieces := strings.Fields(real[random.IntN(len(real))].header)
				random.Shuffle(len(pieces), func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })
				for _, piece := range pieces {
					agent = append(append(agent, piece...), ' ')
				}
			case 2: // binary
				for range random.IntN(9) {
					agent = binary.LittleEndian.AppendUint64(agent, random.Uint64())
				}
			case 3: // brackets and slashes, which are hard on parsers
				for range random.IntN(32) {
					agent = append(agent, brackets[random.IntN(len(brackets))])
				}
			}
			c.Lookup(siphash.Hash(1, 2, agent), agent)
		}
	})
	limit := int64(1 << 20)
	expect.That(t, grown <= limit, "got %d bytes more on the heap, want at most %d", grown, limit)
	for _, known := range real { // after all that look-ups are still right
		agent := []byte(known.header)
		got, want := c.Lookup(siphash.Hash(1, 2, agent), agent), classify(agent)
		expect.Equal(t, got, want, "%s: got %v, want %v", known.name, agentText(got), agentText(want))
	}
}
