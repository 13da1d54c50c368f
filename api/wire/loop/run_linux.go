package loop

import (
	"runtime"

	"golang.org/x/sys/unix"

	"shunt/api/wire/conns"
)

// run handles events until the loop is ended. It keeps its thread, which has precedence, and which
// ends with it.
func (lp *loop) run() {
	runtime.LockOSThread()
	lp.thread.Store(int32(unix.Gettid()))
	lp.precedence.begin()
	defer lp.precedence.end()
	for !lp.ended {
		told, connecting := false, false
		for _, e := range lp.events[:lp.wait()] {
			switch e.Fd {
			case keyListener:
				connecting = true
			case keyWakeup:
				told = true
			default:
				lp.live(lp.t.At(uint16(e.Fd)))
			}
		}
		// Orders and new connections come last, because they free and take rows and descriptors. An
		// event of this wake-up must not be taken for one of a newer connection.
		if told {
			lp.obey()
		}
		if connecting || lp.intake.isDue(lp.nowMs) {
			lp.acceptAll()
		}
		lp.yield()
	}
	lp.closeOwned(func(*conns.Row) bool { return true })
	lp.closeFiles()
}

// yield lets other goroutines run, now and then. It also begins a new time slice. The runtime counts
// the waits for events as part of a slice; it takes the P from a slice of more than 10 ms, and looks
// for such slices 50,000 times a second while it finds some, which costs a tenth of a paced redirect.
// But a yield is not free: another thread must take the P and give it back, and when a flush has the core,
// that thread waits for the core. So a loop yields rarely.
func (lp *loop) yield() {
	if lp.nowMs-lp.yieldedMs >= yieldMs {
		runtime.Gosched()
		lp.yieldedMs = lp.nowMs
		lp.precedence.check(lp.nowMs)
	}
}

// wait waits for events. After many of them it first looks for others without giving up its P. It
// reads the clock once for all of them.
func (lp *loop) wait() (n int) {
	if lp.many {
		n = epollNow(lp.epoll, lp.events[:])
	}
	if n == 0 {
		lp.press(false)
		n = epollWait(lp.epoll, lp.events[:], lp.intake.waitMs())
	}
	many := n >= manyEvents
	lp.Begin(many)
	lp.press(many)
	return n
}

// press records whether there are many events.
func (lp *loop) press(many bool) {
	if many == lp.many {
		return
	}
	lp.many = many
	since := int64(0)
	if many {
		since = lp.nowMs
	}
	lp.pressedMs.Store(since)
}

// waitsForKernel reports whether the loop's thread waits in the kernel for something that is not ours.
func (lp *loop) waitsForKernel() bool { return threadWaits(lp.thread.Load()) }
