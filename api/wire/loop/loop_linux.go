package loop

import (
	"net"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"shunt/api/wire/conns"
	"shunt/api/wire/http1"
)

// A loop owns connections from accept on and answers the plain requests on them. It waits for all of
// them at once, reads once for each event, and answers everything that has come in one write. A
// connection that sends anything else goes to fasthttp, with its bytes.
//
// Only conns, pressedMs, inbox and thread may be used by others than the loop's goroutine.
type loop struct {
	number int32
	t      *conns.Table
	loops  *Loops
	epoll  int
	wakeup int      // an eventfd
	stand  net.Conn // Plain.Conn of all requests
	conns  atomic.Int32
	inbox  conns.Inbox
	thread atomic.Int32 // the kernel's number of the loop's thread; 0: it has not run yet

	// pressedMs is since when each wake-up had many events, in Unix milliseconds; 0: the last one had
	// few. It is written when that changes, which is rare where it matters.
	pressedMs atomic.Int64

	Answers          // nowMs is the time of this wake-up
	yieldedMs  int64 // when the loop last yielded
	many       bool  // the last wake-up had many events, so others have probably come
	closing    bool  // connections are closed once nothing is under way on them
	ended      bool
	intake     intake
	precedence precedence

	in     [http1.MaxHeaderBytes]byte // of one read, after what was kept of a head
	spare  []conns.Order              // the memory of earlier orders
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

// register makes epoll report when something has come on r, or, with flagWriting, when something can
// be sent. A connection that is new to epoll goes to another loop if that has clearly fewer.
func (lp *loop) register(r *conns.Row) {
	op, events, waits := unix.EPOLL_CTL_ADD, uint32(unix.EPOLLIN), uint8(flagRegistered)
	if r.Flags&flagWriting != 0 {
		events, waits = unix.EPOLLOUT, flagRegistered|flagWaitsOut
	}
	switch now := r.Flags & (flagRegistered | flagWaitsOut); {
	case now == waits:
		return
	case now != 0:
		op = unix.EPOLL_CTL_MOD
	case lp.give(r):
		return
	}
	if !epollControl(lp.epoll, op, int(r.FD), events, int32(r.Number)) {
		lp.close(r)
		return
	}
	r.Flags = r.Flags&^flagWaitsOut | waits
}

// evenSlack is how many connections more than the lightest loop a loop keeps: an eighth, and these.
const evenSlack = 4

// give gives r, which epoll does not know yet, to the loop with the fewest connections. It returns
// false if the difference is small.
func (lp *loop) give(r *conns.Row) bool {
	to := lp.loops.lightest()
	mine, its := lp.conns.Load(), to.conns.Load()
	if to == lp || lp.closing || r.Flags&flagWriting != 0 || mine <= its+its/8+evenSlack {
		return false
	}
	lp.conns.Add(-1)
	to.conns.Add(1)
	r.Owner.Store(to.number)
	lp.t.Tell(to.number, conns.Adopt, r)
	return true
}
