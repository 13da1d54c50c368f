//go:build !race

package api

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"strings"
	"testing"
	"unsafe"

	"github.com/dchest/siphash"
)

// What clients can make up without end is kept in bounded memory. The race detector would take ten times as long, and
// there is one goroutine.

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
