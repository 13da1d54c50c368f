package wire

import (
	"net"
	"runtime"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// A loop owns connections from accept on and answers the plain requests on them. It waits for all of
// them at once, reads once for each event, and answers everything that has come in one write. A
// connection that sends anything else goes to fasthttp, with its bytes.
//
// Only conns, pressedMs, inbox and thread may be used by others than the loop's goroutine.
type loop struct {
	number int32
	l      *listener
	epoll  int
	wakeup int      // an eventfd
	stand  net.Conn // Plain.Conn of all requests
	conns  atomic.Int32
	inbox  inbox
	thread atomic.Int32 // the kernel's number of the loop's thread; 0: it has not run yet

	// pressedMs is since when each wake-up had many events, in Unix milliseconds; 0: the last one had
	// few. It is written when that changes, which is rare where it matters.
	pressedMs atomic.Int64

	answers          // nowMs is the time of this wake-up
	yieldedMs  int64 // when the loop last yielded
	many       bool  // the last wake-up had many events, so others have probably come
	closing    bool  // connections are closed once nothing is under way on them
	ended      bool
	intake     intake
	precedence precedence

	in     [maxHeaderBytes]byte // of one read, after what was kept of a head
	spare  []order              // the memory of earlier orders
	events [maxEvents]unix.EpollEvent
}

const (
	maxEvents  = 256
	manyEvents = 4 // with this many, others have probably come meanwhile
	maxPieces  = 8 // of a head. fasthttp and the gate read each byte once, a loop all for each piece
	yieldMs    = 8 // between two yields: less than the runtime's 10
)

// The keys of events that are not a connection's; that of a connection is the number of its row.
const (
	keyListener = -1
	keyWakeup   = -2
)

// Flags of a row that belongs to a loop.
const (
	flagRegistered = 1 << iota // epoll knows the connection
	flagWriting                // answers wait until the client reads; nothing is read meanwhile
	flagLast                   // the connection is closed after them
	flagLingers                // nothing is answered any more; the client has a moment to read the last answer
	flagWaitsOut               // epoll reports when something can be sent, not when something has come
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
				lp.live(lp.l.mu.at(uint16(e.Fd)))
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
	lp.closeOwned(func(*row) bool { return true })
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
	lp.begin(many)
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

// register makes epoll report when something has come on r, or, with flagWriting, when something can
// be sent. A connection that is new to epoll goes to another loop if that has clearly fewer.
func (lp *loop) register(r *row) {
	op, events, waits := unix.EPOLL_CTL_ADD, uint32(unix.EPOLLIN), uint8(flagRegistered)
	if r.flags&flagWriting != 0 {
		events, waits = unix.EPOLLOUT, flagRegistered|flagWaitsOut
	}
	switch now := r.flags & (flagRegistered | flagWaitsOut); {
	case now == waits:
		return
	case now != 0:
		op = unix.EPOLL_CTL_MOD
	case lp.give(r):
		return
	}
	if !epollControl(lp.epoll, op, int(r.fd), events, int32(r.number)) {
		lp.close(r)
		return
	}
	r.flags = r.flags&^flagWaitsOut | waits
}

// evenSlack is how many connections more than the lightest loop a loop keeps: an eighth, and these.
const evenSlack = 4

// give gives r, which epoll does not know yet, to the loop with the fewest connections. It returns
// false if the difference is small.
func (lp *loop) give(r *row) bool {
	to := lp.l.loops.lightest()
	mine, its := lp.conns.Load(), to.conns.Load()
	if to == lp || lp.closing || r.flags&flagWriting != 0 || mine <= its+its/8+evenSlack {
		return false
	}
	lp.conns.Add(-1)
	to.conns.Add(1)
	r.owner.Store(to.number)
	lp.l.loops.tell(to.number, adopt, r)
	return true
}
