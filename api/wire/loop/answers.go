package loop

import (
	"net"
	"time"

	"shunt/api/wire/conns"
	"shunt/api/wire/http1"
)

// A Door is what a loop and a lane need to answer plain requests; see Group.
type Door struct {
	Reader      *http1.Reader
	Plain       func(out []byte, r *http1.Plain) []byte
	PlainPanic  func(out []byte, r *http1.Plain, cause any) []byte
	Latency     *Latency
	MaxRequests uint32 // of a connection
}

// Answers answers the plain requests that have come on a connection, all that there are in one piece
// of memory, so that they go out in one write. Both doors use it. It belongs to one goroutine.
type Answers struct {
	door  Door
	nowMs int64 // Unix time
	watch stopwatch
	plain http1.Plain
	Out   []byte
	start int  // where the present answer begins in out
	Cuts  bool // the last answer ends the connection although the client did not ask for that
}

// NewAnswers returns answers for one goroutine.
func NewAnswers(d Door) Answers {
	return Answers{door: d, watch: stopwatch{shard: d.Latency.shard()}, Out: make([]byte, 0, 2*flushBytes)}
}

// Begin begins a wake-up. busy says that there are many.
func (a *Answers) Begin(busy bool) {
	now := time.Now()
	a.nowMs = now.UnixMilli()
	a.watch.start(now, busy)
}

// Written says that n answers of this wake-up have just been handed to the kernel.
func (a *Answers) Written(n uint32) { a.watch.written(n) }

// Forget forgets the last request, so that nothing of its connection stays.
func (a *Answers) Forget() { a.plain = http1.Plain{} }

// flushBytes is how many bytes of answers are sent at once, or more by one answer.
const flushBytes = 16 << 10

// A Follower is what follows the requests that were answered.
type Follower uint8

const (
	nothing    Follower = iota
	Unread              // bytes that were not looked at, because out is full
	partOfHead          // the beginning of what may be a plain request
	another             // a request that is not plain
	TheEnd              // the connection is to be closed; what follows does not matter
)

// answer answers the plain requests at the beginning of b, which came on the connection of r. It
// reads used bytes. conn is that of fasthttp; nil: a loop has it.
func (a *Answers) answer(b []byte, r *conns.Row, conn net.Conn) (used int, follows Follower) {
	peer := r.Peer()
	a.Out = a.Out[:0]
	a.plain.Forget()
	for used < len(b) {
		if len(a.Out) >= flushBytes {
			return used, Unread
		}
		a.start = len(a.Out)
		n, more := a.door.Reader.ReadNext(b[used:], peer, &a.plain)
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
			return used, TheEnd
		}
	}
	return used, nothing
}

// append appends the answer to the present request. It returns false if that is not plain after all.
func (a *Answers) append(r *conns.Row) bool {
	last := r.Requests+1 >= a.door.MaxRequests
	asked := a.plain.Closes
	a.plain.Closes = asked || last
	a.plain.NowMs = a.nowMs
	a.Out = a.door.Plain(a.Out, &a.plain)
	if len(a.Out) == a.start {
		return false
	}
	r.Requests++
	a.Cuts = a.plain.Closes && !asked
	return true
}

// AnswerSome is answer, and ends with the answer to a panic if there is one. The deferred call costs
// some 2 ns for all requests that have come. If it were in the loop itself, a panic would cut off
// what else the loop is doing.
func (a *Answers) AnswerSome(b []byte, r *conns.Row, conn net.Conn) (used int, follows Follower) {
	defer func() {
		if cause := recover(); cause != nil {
			a.Out = a.door.PlainPanic(a.Out[:a.start], &a.plain, cause)
			used, follows, a.Cuts = len(b), TheEnd, true
		}
	}()
	return a.answer(b, r, conn)
}
