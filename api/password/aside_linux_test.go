package password

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"shunt/engine/expect"
)

func TestHashesBeginOnThreadsOfLowPriority(t *testing.T) {
	priority := func() int {
		raw, err := unix.Getpriority(unix.PRIO_PROCESS, unix.Gettid())
		expect.OK(t, err)
		return 20 - raw // as the system call has it
	}
	h, before := New(1, maxHashesCaller), priority()
	for range 3 {
		var during, thread int
		expect.OK(t, h.inTurn(nobody, func() error { during, thread = priority(), unix.Gettid(); return nil }))
		expect.That(t, (during == max(hashNice, before) || thread == unix.Getpid()) && thread != unix.Gettid(), "priority %d on thread %d; of this one %d", during, thread, before)
	}
	expect.Equal(t, priority(), before, "the priority of others")
}

func TestAPanicOfAHashIsAnError(t *testing.T) {
	h := New(1, maxHashesCaller)
	err := h.inTurn(nobody, func() error { panic("of a hash") })
	expect.That(t, err != nil && strings.Contains(err.Error(), "of a hash"), "got %v", err)
	expect.OK(t, h.inTurn(nobody, func() error { return nil }), "the place is free again")
}
