package memory

import (
	"testing"

	"shunt/engine/expect"
)

// TestALimitLooksRarelyWhileNothingChanges also has the memory grow, and somebody who is about to take some.
func TestALimitLooksRarelyWhileNothingChanges(t *testing.T) {
	l, _ := testLimit(1024*mib, Links{})
	defer l.kernel.close()
	used := uint64(100 * mib)
	expect.That(t, l.nextPause(used) == limitInterval && !l.rests.Load(), "the first look is as if nothing had changed")
	for range 20 {
		l.nextPause(used)
	}
	expect.That(t, l.pause == restInterval && l.rests.Load(), "after long the pause is %v", l.pause)
	l.AskFull()
	l.AskFull()
	expect.That(t, len(l.woken) == 1 && !l.rests.Load(), "who asks does not wake it")
	expect.Equal(t, l.nextPause(used+sameBytes), limitInterval, "the memory has grown, and the pause is %v", l.pause)
	for range 20 {
		l.nextPause(1000 * mib)
	}
	expect.Equal(t, l.pause, nearRestInterval, "near the limit the pause")
}
