package memory

import "testing"

// TestALimitLooksRarelyWhileNothingChanges also has the memory grow, and somebody who is about to take some.
func TestALimitLooksRarelyWhileNothingChanges(t *testing.T) {
	l, _ := testLimit(1024*mib, Links{})
	defer l.kernel.close()
	used := uint64(100 * mib)
	if l.nextPause(used) != limitInterval || l.rests.Load() {
		t.Error("the first look is as if nothing had changed")
	}
	for range 20 {
		l.nextPause(used)
	}
	if l.pause != restInterval || !l.rests.Load() {
		t.Errorf("after long the pause is %v", l.pause)
	}
	l.Full()
	l.Full()
	if len(l.woken) != 1 || l.rests.Load() {
		t.Error("who asks does not wake it")
	}
	if l.nextPause(used+sameBytes) != limitInterval {
		t.Errorf("the memory has grown, and the pause is %v", l.pause)
	}
	for range 20 {
		l.nextPause(1000 * mib)
	}
	if l.pause != nearRestInterval {
		t.Errorf("near the limit the pause is %v", l.pause)
	}
}
