package replica

import (
	"testing"
	"time"

	"shunt/engine/expect"
)

// TestCatchingUpEndsForGood looks at a node to which nothing comes, which takes a copy, and to which nothing comes
// again.
func TestCatchingUpEndsForGood(t *testing.T) {
	c := CatchingUp{Patience: 50 * time.Millisecond}
	expect.That(t, c.Look(nil), "at the start")
	ended := c.Copies()
	time.Sleep(2 * c.Patience)
	expect.That(t, c.Look(nil), "while it takes a copy")
	ended()
	time.Sleep(2 * c.Patience)
	expect.That(t, !c.Look(nil), "nothing comes any more")
	c.Copies()
	expect.That(t, !c.Look(nil), "a later copy")
}
