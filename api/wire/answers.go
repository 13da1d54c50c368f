package wire

import (
	"net"
	"time"

	"shunt/api/wire/http1"
)

// answers answers the plain requests that have come on a connection, all that there are in one piece
// of memory, so that they go out in one write. Both doors use it. It belongs to one goroutine.
type answers struct {
	g           *Group
	maxRequests uint32 // of a connection
	nowMs       int64  // Unix time
	watch       stopwatch
	plain       http1.Plain
	out         []byte
	start       int  // where the present answer begins in out
	cuts        bool // the last answer ends the connection although the client did not ask for that
}

func newAnswers(g *Group) answers {
	return answers{g: g, watch: stopwatch{shard: g.Latency.shard()}, maxRequests: uint32(g.server().MaxRequestsPerConn), out: make([]byte, 0, 2*flushBytes)}
}

// begin begins a wake-up. busy says that there are many.
func (a *answers) begin(busy bool) {
	now := time.Now()
	a.nowMs = now.UnixMilli()
	a.watch.start(now, busy)
}

// flushBytes is how many bytes of answers are sent at once, or more by one answer.
const flushBytes = 16 << 10

// A follower is what follows the requests that were answered.
type follower uint8

const (
	nothing    follower = iota
	unread              // bytes that were not looked at, because out is full
	partOfHead          // the beginning of what may be a plain request
	another             // a request that is not plain
	theEnd              // the connection is to be closed; what follows does not matter
)

// answer answers the plain requests at the beginning of b, which came on the connection of r. It
// reads used bytes. conn is that of fasthttp; nil: a loop has it.
func (a *answers) answer(b []byte, r *row, conn net.Conn) (used int, follows follower) {
	peer := r.peer()
	a.out = a.out[:0]
	a.plain.Forget()
	for used < len(b) {
		if len(a.out) >= flushBytes {
			return used, unread
		}
		a.start = len(a.out)
		n, more := a.g.Reader.ReadNext(b[used:], peer, &a.plain)
		switch {
		case more:
			return used, partOfHead
		case n == 0:
			return used, another
		}
		a.plain.Conn = conn
		if !a.append(r) {
			return used, another
		}
		if used += n; a.plain.Closes {
			return used, theEnd
		}
	}
	return used, nothing
}

// append appends the answer to the present request. It returns false if that is not plain after all.
func (a *answers) append(r *row) bool {
	last := r.requests+1 >= a.maxRequests
	asked := a.plain.Closes
	a.plain.Closes = asked || last
	a.plain.NowMs = a.nowMs
	a.out = a.g.Plain(a.out, &a.plain)
	if len(a.out) == a.start {
		return false
	}
	r.requests++
	a.cuts = a.plain.Closes && !asked
	return true
}

// answerSome is answer, and ends with the answer to a panic if there is one. The deferred call costs
// some 2 ns for all requests that have come. If it were in the loop itself, a panic would cut off
// what else the loop is doing.
func (a *answers) answerSome(b []byte, r *row, conn net.Conn) (used int, follows follower) {
	defer func() {
		if cause := recover(); cause != nil {
			a.out = a.g.PlainPanic(a.out[:a.start], &a.plain, cause)
			used, follows, a.cuts = len(b), theEnd, true
		}
	}()
	return a.answer(b, r, conn)
}
