package loop

import (
	"time"

	"golang.org/x/sys/unix"

	"shunt/api/wire/conns"
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
func (lp *loop) live(r *conns.Row) {
	if r.Owner.Load() != lp.number {
		return
	}
	var b []byte   // what has come and is not answered
	var begun bool // an earlier read has got the first bytes of b
	var next step
	if r.Flags&flagWriting != 0 {
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
func (lp *loop) receive(r *conns.Row) (b []byte, begun bool, next step) {
	kept := 0
	if r.Rest != nil {
		kept = copy(lp.in[:], r.Rest.In)
	}
	n, errno := readNow(r.FD, lp.in[kept:])
	switch {
	case errno == unix.EAGAIN || errno == unix.EINTR:
		return nil, false, await
	case errno != 0 || n == 0 && kept == 0:
		return nil, false, drop
	case n == 0: // closed in the middle of a head
		return lp.in[:kept], false, handOver
	case r.Flags&flagLingers != 0: // nothing is answered any more
		return nil, false, gone
	}
	first := !r.Heard() // its head has begun with the connection
	r.Mark(conns.StateHeard, true)
	return lp.in[:kept+n], kept > 0 || first, answer
}

// sendRest sends what has waited. Once all of it is sent, the bytes that followed are answered.
func (lp *loop) sendRest(r *conns.Row) (b []byte, next step) {
	w := r.Rest
	n, errno := sendNow(r.FD, w.Out)
	if errno != 0 && errno != unix.EAGAIN && errno != unix.EINTR {
		return nil, drop
	}
	w.Out = w.Out[n:]
	w.Sent += int64(n)
	r.Moved.Store(uint32(w.Sent >> 10))
	if len(w.Out) > 0 {
		return nil, gone // epoll still waits for the client
	}
	last := r.Flags&flagLast != 0
	r.Flags &^= flagWriting | flagLast
	lp.letGo(r)
	switch {
	case last:
		return nil, lastRead
	case len(w.In) == 0:
		return nil, rested
	}
	return lp.in[:copy(lp.in[:], w.In)], answer
}

// answer answers the plain requests at the beginning of b, and returns the bytes after them.
func (lp *loop) answer(r *conns.Row, b []byte, begun bool) (after []byte, next step) {
	before := r.Requests
	used, follows := lp.AnswerSome(b, r, lp.stand)
	b = b[used:]
	if len(lp.Out) > 0 {
		answered := r.Requests - before // before send, which may free r
		next := lp.send(r, b, follows == TheEnd)
		lp.Written(answered)
		if next != answer {
			return nil, next
		}
	}
	switch follows {
	case nothing:
		return nil, rested
	case Unread:
		return b, answer
	case TheEnd:
		if len(b) > 0 || lp.Cuts {
			return nil, lastRead
		}
		return nil, drop
	}
	if used > 0 {
		lp.t.Finish(r)
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
func (lp *loop) send(r *conns.Row, in []byte, last bool) (next step) {
	n, errno := sendNow(r.FD, lp.Out)
	switch {
	case n == len(lp.Out):
		return answer
	case errno != 0 && errno != unix.EAGAIN && errno != unix.EINTR:
		return drop
	case !lp.keep(r, &conns.Rest{In: clone(in), Out: clone(lp.Out[n:])}):
		return gone
	}
	r.Flags |= flagWriting
	if last {
		r.Flags |= flagLast
	}
	r.Moved.Store(0)
	lp.t.Finish(r)
	r.Mark(conns.StateInHead, false)
	r.Note(true, lp.t.Seconds.Load())
	return await
}

// rest records that everything that came on r is answered, and waits for more.
func (lp *loop) rest(r *conns.Row) {
	if lp.closing {
		lp.close(r)
		return
	}
	lp.letGo(r)
	r.Mark(conns.StateInHead, false)
	r.Note(false, lp.t.Seconds.Load())
	lp.t.Finish(r)
	lp.register(r)
}

// beginHead records that a head has begun.
func (lp *loop) beginHead(r *conns.Row) {
	r.Mark(conns.StateInHead, true)
	r.Note(true, lp.t.Seconds.Load())
	lp.letGo(r)
}

// keepHead keeps b, the beginning of a head, until more comes.
func (lp *loop) keepHead(r *conns.Row, b []byte) {
	pieces := 1
	if r.Rest != nil {
		pieces += r.Rest.Pieces
	}
	if pieces > maxPieces || lp.closing {
		lp.handOver(r, b)
	} else if lp.keep(r, &conns.Rest{In: clone(b), Pieces: pieces}) {
		lp.register(r)
	}
}

// linger closes the connection of r after its last answer, though the client has sent more, or may. Closing at once
// would reset the connection, and the client could lose answers that it has not read yet. So it is closed for writing,
// and what comes is discarded for a second.
func (lp *loop) linger(r *conns.Row) {
	if unix.Shutdown(int(r.FD), unix.SHUT_WR) != nil {
		lp.close(r)
		return
	}
	lp.letGo(r)
	if r.Requests > 0 {
		lp.t.Finish(r)
	}
	r.Flags |= flagLingers
	r.Mark(conns.StateInHead, true) // so that the sweep after the next one finds it late
	r.Note(true, max(0, lp.t.Seconds.Load()-int64((lp.t.Patience.Head-conns.LingerTime)/time.Second)))
	lp.register(r)
}

// close closes the connection of r and frees its row.
func (lp *loop) close(r *conns.Row) {
	closeNow(r.FD)
	lp.letGo(r)
	lp.conns.Add(-1)
	lp.t.Forget(r)
}

// reset is close, but the kernel also discards what the client has not read.
func (lp *loop) reset(r *conns.Row) {
	_ = unix.SetsockoptLinger(int(r.FD), unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	lp.close(r)
}

// handOver gives the connection of r to fasthttp, with b, the bytes that have come and are not
// answered.
func (lp *loop) handOver(r *conns.Row, b []byte) {
	if r.Flags&flagRegistered != 0 {
		epollControl(lp.epoll, unix.EPOLL_CTL_DEL, int(r.FD), 0, 0)
	}
	ahead := clone(b) // b may be what is kept
	lp.letGo(r)
	fd := r.FD
	r.Flags = 0
	lp.conns.Add(-1)
	r.Owner.Store(conns.ByServer)
	lp.loops.TakeOver(newHanded(fd, r.Peer()), r, ahead)
}
