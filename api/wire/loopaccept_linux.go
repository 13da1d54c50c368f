package wire

import (
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// This file is how a loop takes in connections. The loops share one listening socket, so a second
// server on its address fails, no connection waits at a socket that is closed, and one socket is
// enough if another process has opened it. One loop may accept more connections than another;
// register evens that out.

// An intake is the state of a loop that accepts connections.
type intake struct {
	socket  int           // the listening socket; noSocket: the loop accepts no more
	asleep  bool          // epoll does not report connections: there are no slots, or no descriptors
	starved bool          // there are no slots; counted in listener.waiting
	delay   time.Duration // the last one between two tries without slots or descriptors; 0: there are some
	retryMs int64         // Unix time of the next such try
}

const noSocket = -1

// maxAccepts is how many connections a loop accepts at once, so that the others get their turn.
const maxAccepts = 64

// isDue reports whether it is time to retry accepting, although epoll reported nothing.
func (in *intake) isDue(nowMs int64) bool { return in.delay > 0 && nowMs >= in.retryMs }

// waitMs returns how many milliseconds the loop may sleep; -1: until something happens.
func (in *intake) waitMs() int {
	if in.delay > 0 {
		return int(in.delay / time.Millisecond)
	}
	return -1
}

// acceptAll accepts the connections that wait, and reads from each at once, because nearly all have
// sent their request already.
func (lp *loop) acceptAll() {
	for range maxAccepts {
		if !lp.acceptOne() {
			return
		}
	}
}

// acceptOne accepts a connection. It reports whether there may be another.
func (lp *loop) acceptOne() (again bool) {
	in := &lp.intake
	if in.socket == noSocket {
		return false
	}
	if !lp.l.trySlot() && !lp.waitForSlot() {
		return false
	}
	fd, peer, errno := acceptNow(in.socket)
	if errno == 0 {
		lp.resumeAccepting()
		lp.own(fd, peer)
		return true
	}
	<-lp.l.slots
	switch {
	case errno == unix.EAGAIN:
		lp.resumeAccepting()
	case slices.Contains(errorsOfOne, errno):
		return true
	case passing(errno):
		lp.waitForFiles(errno)
	default:
		lp.l.fail(os.NewSyscallError("accept4", errno))
	}
	return false
}

// errorsOfOne are errors of accept4 about the connection that would have come (accept(2)): the next one may
// be accepted at once.
var errorsOfOne = []syscall.Errno{
	unix.ECONNABORTED, unix.EINTR, unix.EPROTO, unix.ENOPROTOOPT, unix.EOPNOTSUPP, unix.EHOSTDOWN, unix.ENONET, unix.EHOSTUNREACH, unix.ENETUNREACH,
}

// own makes the new connection of peer the loop's, unless peer's address has its share.
func (lp *loop) own(fd int32, peer peerAddr) {
	r := lp.l.join(peer.addr(), lp.number)
	if r == nil {
		lp.l.limits.Counts.Address.Add(1)
		closeNow(fd)
		<-lp.l.slots
		return
	}
	r.fd = fd
	lp.conns.Add(1)
	lp.live(r)
}

// waitForSlot waits for an order to accept, which comes when a slot is free. It returns true if it has
// taken a slot after all: one that was freed before the loop was known to wait.
func (lp *loop) waitForSlot() (found bool) {
	if in := &lp.intake; !in.starved {
		in.starved = true
		lp.l.waiting.Add(1)
		lp.pauseAccepting()
		if lp.l.trySlot() {
			return true
		}
	}
	lp.l.makeRoom()
	in := &lp.intake
	in.delay, in.retryMs = roomPoll, lp.nowMs+roomPoll.Milliseconds()
	return false
}

// waitForFiles waits some time for descriptors, as listener.accept does.
func (lp *loop) waitForFiles(cause error) {
	in := &lp.intake
	lp.l.warnTrying(cause)
	in.delay = nextDelay(in.delay)
	in.retryMs = lp.nowMs + in.delay.Milliseconds()
	lp.pauseAccepting()
}

// pauseAccepting makes epoll report no connections.
func (lp *loop) pauseAccepting() {
	if in := &lp.intake; !in.asleep {
		in.asleep = true
		epollControl(lp.epoll, unix.EPOLL_CTL_DEL, in.socket, 0, 0)
	}
}

// resumeAccepting undoes waitForSlot and waitForFiles. EPOLLEXCLUSIVE wakes one of the loops that
// sleep, not all; it forbids EPOLL_CTL_MOD.
func (lp *loop) resumeAccepting() {
	in := &lp.intake
	if !in.asleep {
		return
	}
	if in.starved {
		lp.l.waiting.Add(-1)
	}
	in.asleep, in.starved, in.delay = false, false, 0
	epollControl(lp.epoll, unix.EPOLL_CTL_ADD, in.socket, unix.EPOLLIN|unix.EPOLLEXCLUSIVE, keyListener)
}

// stopAccepting accepts the connections that wait, so that none of them is reset, and then no more. The
// last loop to do so closes the socket. If the socket is outlived, connections that wait are left to
// whoever accepts next: they are safer there than with a process that ends. The socket then stays
// open elsewhere, and epoll would go on reporting its connections to a loop that has not removed it.
func (lp *loop) stopAccepting() {
	in := &lp.intake
	if in.socket == noSocket {
		return
	}
	lp.pauseAccepting()
	if in.starved {
		lp.l.waiting.Add(-1)
	}
	lp.emptyQueue()
	if lp.l.loops.left.Add(-1) == 0 {
		lp.emptyQueue()
		closeNow(int32(in.socket))
		_ = lp.l.Listener.Close() // that of a Unix socket is open
		close(lp.l.loops.done)
	}
	lp.intake = intake{socket: noSocket}
}

// emptyQueue accepts the connections that wait, as long as there are slots and descriptors. It leaves
// those that come meanwhile, because they may never end, and all of them at a socket that is outlived.
func (lp *loop) emptyQueue() {
	if lp.g.Outlived {
		return
	}
	for left := waitingAt(lp.intake.socket); left > 0 && lp.l.trySlot(); left-- {
		fd, peer, errno := acceptNow(lp.intake.socket)
		if errno != 0 {
			<-lp.l.slots
			return
		}
		lp.own(fd, peer)
	}
}
