package wire

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// This file is how a loop takes in connections. The loops share one listening socket, so a second
// server on its address fails, no connection waits at a socket that is closed, and an inherited
// socket needs no other beside it. What is accepted unevenly, register evens out.

// A door is the state of accepting of a loop.
type door struct {
	socket  int           // the listening socket; noSocket: the loop accepts no more
	asleep  bool          // epoll does not report connections: there are no slots, or no descriptors
	starved bool          // there are no slots; counted in listener.waiting
	delay   time.Duration // the last one between two tries without descriptors; 0: there are some
	retryMs int64         // Unix time of the next such try
}

const noSocket = -1

// maxAccepts is how many connections a loop accepts at once, so that the others get their turn.
const maxAccepts = 64

// isDue reports whether to try again to accept, although nothing was reported.
func (d *door) isDue(nowMs int64) bool { return d.delay > 0 && nowMs >= d.retryMs }

// waitMs returns how many milliseconds the loop may sleep; -1: until something happens.
func (d *door) waitMs() int {
	if d.delay > 0 {
		return int(d.delay / time.Millisecond)
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
	d := &lp.door
	if d.socket == noSocket {
		return false
	}
	if !lp.l.trySlot() && !lp.starve() {
		return false
	}
	fd, peer, errno := acceptNow(d.socket)
	if errno == 0 {
		lp.openDoor()
		lp.own(fd, peer)
		return true
	}
	<-lp.l.slots
	switch {
	case errno == unix.EAGAIN:
		lp.openDoor()
	case errno == unix.ECONNABORTED || errno == unix.EINTR:
		return true
	case passing(errno):
		lp.sleepDoor(errno)
	default:
		lp.l.fail(os.NewSyscallError("accept4", errno))
	}
	return false
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
	lp.read(r)
}

// starve waits for an order to accept, which comes when a slot is free. It returns true if it has
// taken a slot after all: one that was freed before the loop was known to wait.
func (lp *loop) starve() (found bool) {
	if d := &lp.door; !d.starved {
		d.starved = true
		lp.l.waiting.Add(1)
		lp.shutDoor()
		if lp.l.trySlot() {
			return true
		}
	}
	lp.l.evictIdle()
	return false
}

// sleepDoor waits some time for descriptors, as listener.accept does.
func (lp *loop) sleepDoor(cause error) {
	d := &lp.door
	lp.l.warnTrying(cause)
	d.delay = nextDelay(d.delay)
	d.retryMs = lp.nowMs + d.delay.Milliseconds()
	lp.shutDoor()
}

// shutDoor makes epoll report no connections.
func (lp *loop) shutDoor() {
	if d := &lp.door; !d.asleep {
		d.asleep = true
		epollControl(lp.epoll, unix.EPOLL_CTL_DEL, d.socket, 0, 0)
	}
}

// openDoor undoes starve and sleepDoor. EPOLLEXCLUSIVE wakes one of the loops that sleep, not all;
// it forbids EPOLL_CTL_MOD.
func (lp *loop) openDoor() {
	d := &lp.door
	if !d.asleep {
		return
	}
	if d.starved {
		lp.l.waiting.Add(-1)
	}
	d.asleep, d.starved, d.delay = false, false, 0
	epollControl(lp.epoll, unix.EPOLL_CTL_ADD, d.socket, unix.EPOLLIN|unix.EPOLLEXCLUSIVE, keyListener)
}

// closeDoor accepts the connections that wait, so that none of them is reset, and then no more. The
// last loop to do so closes the socket.
func (lp *loop) closeDoor() {
	d := &lp.door
	if d.socket == noSocket {
		return
	}
	lp.shutDoor()
	if d.starved {
		lp.l.waiting.Add(-1)
	}
	lp.emptyQueue()
	if lp.l.loops.left.Add(-1) == 0 {
		lp.emptyQueue()
		closeNow(int32(d.socket))
		_ = lp.l.Listener.Close() // that of a Unix socket is open
		close(lp.l.loops.done)
	}
	lp.door = door{socket: noSocket}
}

// emptyQueue accepts the connections that wait, as long as there are slots and descriptors. It leaves
// those that come meanwhile, because there may be no end of them.
func (lp *loop) emptyQueue() {
	for left := waitingAt(lp.door.socket); left > 0 && lp.l.trySlot(); left-- {
		fd, peer, errno := acceptNow(lp.door.socket)
		if errno != 0 {
			<-lp.l.slots
			return
		}
		lp.own(fd, peer)
	}
}
