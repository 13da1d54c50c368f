package hit

import (
	"fmt"
	"runtime/debug"

	"golang.org/x/sync/errgroup"

	"shunt/engine/internal/cores"
)

// Long reads go in steps: in each, every core reads a part for some milliseconds, and then the query pauses, so that
// other work gets the cores.

// partSize returns the size of parts of n things, of most at the most, of which each core takes as many as the others.
func partSize(n, most int) int {
	each := cores.Usable()
	rounds := (n + most*each - 1) / (most * each)
	return max(1, (n+rounds*each-1)/max(1, rounds*each))
}

// atOnce calls functions at once and returns an error of one of them.
func atOnce(reads []func() error) error {
	var g errgroup.Group
	for _, read := range reads {
		g.Go(func() (err error) {
			defer func() {
				if r := recover(); r != nil { // in a goroutine it would end the program
					err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
				}
			}()
			return read()
		})
	}
	return g.Wait()
}
