package wire

import (
	"net"
	"runtime"
	"sync/atomic"
	"time"

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
				lp.handle(lp.l.mu.at(uint16(e.Fd)))
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

// handle reads what has come on the connection of r, or sends what waits to be sent. An event of a
// connection that is closed is possible while another process has a copy of its descriptor.
func (lp *loop) handle(r *row) {
	if r.owner.Load() != lp.number {
		return
	}
	if r.flags&flagWriting != 0 {
		lp.sendOn(r)
	} else {
		lp.read(r)
	}
}

// read reads once and serves what has come.
func (lp *loop) read(r *row) {
	kept := 0
	if r.rest != nil {
		kept = copy(lp.in[:], r.rest.in)
	}
	n, errno := readNow(r.fd, lp.in[kept:])
	switch {
	case errno == unix.EAGAIN || errno == unix.EINTR:
		lp.register(r)
	case errno != 0 || n == 0 && kept == 0:
		lp.close(r)
	case n == 0: // closed in the middle of a head
		lp.handOver(r, lp.in[:kept])
	case r.flags&flagLingers == 0:
		first := !r.heard() // its head has begun with the connection
		r.mark(stateHeard, true)
		lp.serve(r, lp.in[:kept+n], kept > 0 || first)
	}
}

// serve answers the plain requests at the beginning of b and sends the answers; then it deals with
// the bytes after them. begun is set if an earlier read has got the first bytes of b.
func (lp *loop) serve(r *row, b []byte, begun bool) {
	before := r.requests
	used, follows := lp.answerSome(b, r, lp.stand)
	begun, b = begun && used == 0, b[used:]
	if len(lp.out) > 0 {
		answered := r.requests - before // before send, which may free r
		open := lp.send(r, b, follows == theEnd)
		lp.watch.written(answered)
		if !open {
			return
		}
	}
	switch follows {
	case theEnd:
		lp.end(r, len(b) > 0 || lp.cuts)
	case nothing:
		lp.idle(r)
	case another:
		if used > 0 {
			lp.l.finish(r)
		}
		lp.beginHead(r, begun)
		lp.handOver(r, b)
	case unread:
		lp.serve(r, b, false)
	case partOfHead:
		if used > 0 {
			lp.l.finish(r)
		}
		lp.beginHead(r, begun)
		lp.keepHead(r, b)
	}
}

// idle records that everything that came on r is answered, and waits for more.
func (lp *loop) idle(r *row) {
	if lp.closing {
		lp.close(r)
		return
	}
	lp.letGo(r)
	r.mark(stateInHead, false)
	r.note(false, lp.l.seconds.Load())
	lp.l.finish(r)
	lp.register(r)
}

// beginHead records that a head has begun, if it has not begun before.
func (lp *loop) beginHead(r *row, before bool) {
	if !before {
		r.mark(stateInHead, true)
		r.note(true, lp.l.seconds.Load())
		lp.letGo(r)
	}
}

// keepHead keeps b, the beginning of a head, until more comes.
func (lp *loop) keepHead(r *row, b []byte) {
	pieces := 1
	if r.rest != nil {
		pieces += r.rest.pieces
	}
	if pieces > maxPieces || lp.closing {
		lp.handOver(r, b)
	} else if lp.keep(r, &rest{in: clone(b), pieces: pieces}) {
		lp.register(r)
	}
}

// send sends out. What the client does not take now waits, and so does in, the bytes that follow the
// requests; then send returns false. It also returns false if the connection is gone.
func (lp *loop) send(r *row, in []byte, last bool) (all bool) {
	n, errno := sendNow(r.fd, lp.out)
	switch {
	case n == len(lp.out):
		return true
	case errno != 0 && errno != unix.EAGAIN && errno != unix.EINTR:
		lp.close(r)
		return false
	}
	if !lp.keep(r, &rest{in: clone(in), out: clone(lp.out[n:])}) {
		return false
	}
	r.flags |= flagWriting
	if last {
		r.flags |= flagLast
	}
	r.moved.Store(0)
	lp.l.finish(r)
	r.mark(stateInHead, false)
	r.note(true, lp.l.seconds.Load())
	lp.register(r)
	return false
}

// sendOn sends what has waited. Once all of it is sent, it continues with the bytes that follow.
func (lp *loop) sendOn(r *row) {
	w := r.rest
	n, errno := sendNow(r.fd, w.out)
	if errno != 0 && errno != unix.EAGAIN && errno != unix.EINTR {
		lp.close(r)
		return
	}
	w.out = w.out[n:]
	w.sent += int64(n)
	r.moved.Store(uint32(w.sent >> 10))
	if len(w.out) > 0 {
		return
	}
	last := r.flags&flagLast != 0
	r.flags &^= flagWriting | flagLast
	lp.letGo(r)
	switch {
	case last:
		lp.end(r, true)
	case len(w.in) == 0:
		lp.idle(r)
	default:
		lp.serve(r, lp.in[:copy(lp.in[:], w.in)], false)
	}
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

// end closes the connection of r after its last answer. more says that the client has sent more, or
// may send more. Closing at once would then reset the connection, and the client could lose answers
// that it has not read yet. So it is closed for writing, and what comes is discarded for a second.
func (lp *loop) end(r *row, more bool) {
	if !more || unix.Shutdown(int(r.fd), unix.SHUT_WR) != nil {
		lp.close(r)
		return
	}
	lp.letGo(r)
	if r.requests > 0 {
		lp.l.finish(r)
	}
	r.flags |= flagLingers
	r.mark(stateInHead, true) // so that the sweep after the next one finds it late
	r.note(true, max(0, lp.l.seconds.Load()-int64((lp.l.patience.Head-lingerTime)/time.Second)))
	lp.register(r)
}

// close closes the connection of r and frees its row.
func (lp *loop) close(r *row) {
	closeNow(r.fd)
	lp.letGo(r)
	lp.conns.Add(-1)
	lp.l.forget(r)
}

// reset is close, but the kernel also discards what the client has not read.
func (lp *loop) reset(r *row) {
	_ = unix.SetsockoptLinger(int(r.fd), unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	lp.close(r)
}

// handOver gives the connection of r to fasthttp, with b, the bytes that have come and are not
// answered.
func (lp *loop) handOver(r *row, b []byte) {
	if r.flags&flagRegistered != 0 {
		epollControl(lp.epoll, unix.EPOLL_CTL_DEL, int(r.fd), 0, 0)
	}
	ahead := clone(b) // b may be what is kept
	lp.letGo(r)
	fd := r.fd
	r.flags = 0
	lp.conns.Add(-1)
	r.owner.Store(byServer)
	c := lp.l.wrap(newHanded(fd, r.peer()), r)
	c.ahead, c.adopted = ahead, true
	go lp.g.serveHanded(c)
}
