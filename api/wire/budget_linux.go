package wire

import (
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A budget bounds how long a thread runs as an immediate one. That one must not wait without rest for
// another thread of its core, which never runs then; the kernel ends this only after a second. The runtime
// makes a goroutine wait so in places, for the thread that has marked it in order to stop it or to read its
// stack: with GOGC=5 and one client on one core, six of 373 collections stopped all redirects for up to
// 0.93 s. So a timer counts the processor time of the thread, and its signal makes it a preferred one. The
// kernel looks at the timer at its ticks, so a wait lasts 8 ms and a tick (4 ms at 250 a second) at most.
//
// The handler of the signal is one system call, in assembly: a handler in Go would hand the signal to
// another goroutine, which may need the core. It touches nothing of the runtime, and no other signal
// interrupts it.
type budget struct{ timer int32 }

const (
	budgetNs     = yieldMs * 1e6
	budgetSignal = 63 // a real-time signal. Package os/signal must not be told to catch it
)

// newBudget returns the budget of this thread, which must not be another goroutine's later.
func newBudget() (*budget, error) {
	if err := catchBudgets(); err != nil {
		return nil, err
	}
	if err := unblock(budgetSignal); err != nil {
		return nil, err
	}
	// A sigevent (sigevent(3type)): 8 bytes for the handler, then these.
	event := struct {
		value          uint64
		signal, notify int32
		thread         int32
		_              [44]byte
	}{signal: budgetSignal, notify: sigevThreadID, thread: int32(unix.Gettid())}
	b := new(budget)
	_, _, errno := syscall.RawSyscall(unix.SYS_TIMER_CREATE, unix.CLOCK_THREAD_CPUTIME_ID, uintptr(unsafe.Pointer(&event)), uintptr(unsafe.Pointer(&b.timer)))
	if errno != 0 {
		return nil, errno
	}
	return b, nil
}

const sigevThreadID = 4 // SIGEV_THREAD_ID: the signal is for one thread

// begin starts to count the thread's processor time, from 0. It returns false if the kernel refuses.
func (b *budget) begin() bool { return b.setTime(budgetNs) }

// stop ends the count. No signal comes after it has returned.
func (b *budget) stop() { b.setTime(0) }

func (b *budget) setTime(ns int64) bool {
	once := unix.ItimerSpec{Value: unix.NsecToTimespec(ns)}
	_, _, errno := syscall.RawSyscall6(unix.SYS_TIMER_SETTIME, uintptr(b.timer), 0, uintptr(unsafe.Pointer(&once)), 0, 0, 0)
	return errno == 0
}

func (b *budget) close() { _, _, _ = syscall.RawSyscall(unix.SYS_TIMER_DELETE, uintptr(b.timer), 0, 0) }

// unblock makes this thread get a signal that the program which has started ours has blocked.
func unblock(signal syscall.Signal) error {
	set := uint64(1) << (signal - 1)
	_, _, errno := syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_UNBLOCK, uintptr(unsafe.Pointer(&set)), 0, unsafe.Sizeof(set), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// catchBudgets sets the handler of the signal for the process.
var catchBudgets = sync.OnceValue(func() error {
	if onBudget() == 0 {
		return syscall.ENOTSUP // no assembly for this processor
	}
	action, err := signalAction(unix.SIGURG, nil) // of the runtime: it knows how a handler returns
	if err != nil {
		return err
	}
	action.handler, action.mask = onBudget(), ^uint64(0)
	_, err = signalAction(budgetSignal, &action)
	return err
})

// areCaught reports whether the handler is still there. A package that has package os/signal catch or
// ignore all signals takes it away.
func areCaught() bool {
	action, err := signalAction(budgetSignal, nil)
	return err == nil && action.handler == onBudget()
}

// A sigaction is what the kernel does when a signal comes (rt_sigaction(2)), as amd64 and arm64 have it.
type sigaction struct {
	handler  uintptr
	flags    uint64 // of the runtime: on a stack of its own
	restorer uintptr
	mask     uint64 // the signals that wait meanwhile
}

// signalAction returns the action of a signal, and sets another if to is not nil.
func signalAction(signal syscall.Signal, to *sigaction) (was sigaction, err error) {
	_, _, errno := syscall.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(signal), uintptr(unsafe.Pointer(to)), uintptr(unsafe.Pointer(&was)), unsafe.Sizeof(was.mask), 0, 0)
	if errno != 0 {
		return was, errno
	}
	return was, nil
}
