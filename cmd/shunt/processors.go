package main

import (
	"os"
	"runtime"

	"shunt/engine"
)

// sparePs is how many Ps serve adds to one for each core. An event loop that wakes up needs a P at
// once. If every P runs something else, such as a flush, a compaction or the garbage collector, the
// loop waits until Go's scheduler takes one away, which can last 10 ms. With a spare P its thread
// runs at once: then the kernel shares the cores, and it prefers a thread that has slept.
const sparePs = 3

// addSparePs adds the spare Ps, unless the operator has chosen a number.
func addSparePs() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(engine.Cores() + sparePs)
	}
}
