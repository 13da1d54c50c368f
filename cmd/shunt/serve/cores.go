package serve

import (
	"os"
	"runtime"

	"shunt/engine"
)

// psFor is how many Ps serve has. An event loop that wakes up needs a P at once. If every P runs something
// else, such as a flush, a compaction or the garbage collector, the loop waits until Go's scheduler
// takes one away, which can last 10 ms. With spare Ps its thread runs at once: then the kernel shares
// the cores, and it prefers the loop's thread (api/wire). There are no more, because the collector uses a
// quarter of the Ps: with 8 cores that is half of the cores.
func psFor(cores int) int { return max(cores+3, 2*cores+1) }

// addSparePs adds the spare Ps, unless the operator has chosen a number.
func addSparePs() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(psFor(engine.Cores()))
	}
}
