package wire

import (
	"time"

	"golang.org/x/sys/unix"
)

// This file is the life of a connection in a loop, from top to bottom: an event brings bytes, or says that the client
// takes some; requests are answered, in one write; and then comes one of the steps below.

// A step is what comes next for a connection.
type step uint8

const (
	answer   step = iota // answer the requests that have come
	await                // wait for the next event: of the client's bytes, or that it takes some
	rested               // everything is answered: wait for the next request
	keepHead             // wait for the rest of a head
	handOver             // fasthttp goes on
	lastRead             // the client reads the last answer; then the connection is closed
	drop                 // close it
	gone                 // nothing: it is closed, or another loop's
)

// live serves the connection of r until there is nothing more to do before its next event. An event of a connection
// that is closed is possible while another process has a copy of its descriptor.
func (lp *loop) live(r *row) {
	if r.owner.Load() != lp.number {
		return
	}
	var b []byte   // what has come and is not answered
	var begun bool // an earlier read has got the first bytes of b
	var next step
	if r.flags&flagWriting != 0 {
		b, next = lp.sendRest(r)
	} else {
		b, begun, next = lp.receive(r)
	}
	for next == answer {
		b, next = lp.answer(r, b, begun)
		begun = false
	}
	switch next {
	case await:
		lp.register(r)
	case rested:
		lp.rest(r)
	case keepHead:
		lp.keepHead(r, b)
	case handOver:
		lp.handOver(r, b)
	case lastRead:
		lp.linger(r)
	case drop:
		lp.close(r)
	}
}

// receive reads once. begun says that the first request in b has begun with an earlier read, or with the connection.
func (lp *loop) receive(r *row) (b []byte, begun bool, next step) {
	kept := 0
	if r.rest != nil {
		kept = copy(lp.in[:], r.rest.in)
	}
	n, errno := readNow(r.fd, lp.in[kept:])
	switch {
	case errno == unix.EAGAIN || errno == unix.EINTR:
		return nil, false, await
	case errno != 0 || n == 0 && kept == 0:
		return nil, false, drop
	case n == 0: // closed in the middle of a head
		return lp.in[:kept], false, handOver
	case r.flags&flagLingers != 0: // nothing is answered any more
		return nil, false, gone
	}
	first := !r.heard() // its head has begun with the connection
	r.mark(stateHeard, true)
	return lp.in[:kept+n], kept > 0 || first, answer
}

// sendRest sends what has waited. Once all of it is sent, the bytes that followed are answered.
func (lp *loop) sendRest(r *row) (b []byte, next step) {
	w := r.rest
	n, errno := sendNow(r.fd, w.out)
	if errno != 0 && errno != unix.EAGAIN && errno != unix.EINTR {
		return nil, drop
	}
	w.out = w.out[n:]
	w.sent += int64(n)
	r.moved.Store(uint32(w.sent >> 10))
	if len(w.out) > 0 {
		return nil, gone // epoll still waits for the client
	}
	last := r.flags&flagLast != 0
	r.flags &^= flagWriting | flagLast
	lp.letGo(r)
	switch {
	case last:
		return nil, lastRead
	case len(w.in) == 0:
		return nil, rested
	}
	return lp.in[:copy(lp.in[:], w.in)], answer
}

// answer answers the plain requests at the beginning of b, and returns the bytes after them.
func (lp *loop) answer(r *row, b []byte, begun bool) (after []byte, next step) {
	before := r.requests
	used, follows := lp.answerSome(b, r, lp.stand)
	b = b[used:]
	if len(lp.out) > 0 {
		answered := r.requests - before // before send, which may free r
		next := lp.send(r, b, follows == theEnd)
		lp.watch.written(answered)
		if next != answer {
			return nil, next
		}
	}
	switch follows {
	case nothing:
		return nil, rested
	case unread:
		return b, answer
	case theEnd:
		if len(b) > 0 || lp.cuts {
			return nil, lastRead
		}
		return nil, drop
	}
	if used > 0 {
		lp.l.finish(r)
	}
	if !begun || used > 0 {
		lp.beginHead(r)
	}
	if follows == partOfHead {
		return b, keepHead
	}
	return b, handOver
}

// send sends out. What the client does not take now waits, and so does in, the bytes that follow the requests; last
// says that nothing is answered after it.
func (lp *loop) send(r *row, in []byte, last bool) (next step) {
	n, errno := sendNow(r.fd, lp.out)
	switch {
	case n == len(lp.out):
		return answer
	case errno != 0 && errno != unix.EAGAIN && errno != unix.EINTR:
		return drop
	case !lp.keep(r, &rest{in: clone(in), out: clone(lp.out[n:])}):
		return gone
	}
	r.flags |= flagWriting
	if last {
		r.flags |= flagLast
	}
	r.moved.Store(0)
	lp.l.finish(r)
	r.mark(stateInHead, false)
	r.note(true, lp.l.seconds.Load())
	return await
}

// rest records that everything that came on r is answered, and waits for more.
func (lp *loop) rest(r *row) {
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

// beginHead records that a head has begun.
func (lp *loop) beginHead(r *row) {
	r.mark(stateInHead, true)
	r.note(true, lp.l.seconds.Load())
	lp.letGo(r)
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

// linger closes the connection of r after its last answer, though the client has sent more, or may. Closing at once
// would reset the connection, and the client could lose answers that it has not read yet. So it is closed for writing,
// and what comes is discarded for a second.
func (lp *loop) linger(r *row) {
	if unix.Shutdown(int(r.fd), unix.SHUT_WR) != nil {
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
