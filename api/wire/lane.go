package wire

import (
	"crypto/tls"
	"io"
	"net"
	"sync/atomic"

	"shunt/api/wire/http1"
)

// This file is the lane: a connection that fasthttp owns, because of TLS or because it has sent
// something else, answers plain requests when fasthttp reads from it, without passing them on. That
// keeps the order of answers: fasthttp has sent all of its own before it reads a message, and between
// two messages the gate knows that it is there.

// A lane is the state of a connection's lane. Its goroutine writes it, and fasthttp's Shutdown, which
// takes the connection for idle while the lane answers.
type lane struct{ state atomic.Int32 }

const (
	laneEmpty   = iota
	laneTaken   // requests are being answered
	laneClosing // Close was called meanwhile: the connection is closed after the answers
)

// enter reports whether the lane may answer: the connection has not been closed.
func (l *lane) enter() bool { return l.state.CompareAndSwap(laneEmpty, laneTaken) }

// leave reports whether the connection stays open after the answers.
func (l *lane) leave() bool { return l.state.CompareAndSwap(laneTaken, laneEmpty) }

// mayClose reports whether the connection may be closed now. If not, leave returns false.
func (l *lane) mayClose() bool { return !l.state.CompareAndSwap(laneTaken, laneClosing) }

// takeAnswers returns an answers of the pool, which has one for each goroutine that answers in a lane
// at present.
func (g *Group) takeAnswers() *answers {
	if a, ok := g.answers.Get().(*answers); ok {
		return a
	}
	a := newAnswers(g)
	return &a
}

// opensLane reports whether the next bytes begin a message, and may be answered by the lane.
func (c *conn) opensLane() bool {
	return c.owner.plain != nil && c.gate.Between()
}

// answerPlain answers the plain requests at the beginning of b, and moves the bytes after them to the
// beginning of b. n is their number. The error is that of a Read after which nothing more comes.
func (c *conn) answerPlain(b []byte) (n int, err error) {
	if !c.lane.enter() {
		return 0, io.EOF
	}
	a := c.owner.plain.takeAnswers()
	used, follows := 0, unread
	for follows == unread && err == nil {
		var read int
		a.begin(false)
		before := c.row.requests
		read, follows = a.answerSome(b[used:], c.row, c.asServed())
		if used += read; len(a.out) > 0 {
			c.note(true)
			_, err = c.Write(a.out)
			a.watch.written(c.row.requests - before)
		}
	}
	if follows == theEnd && (used < len(b) || a.cuts) {
		c.owner.finish(c.row)
		c.lingers.Store(true) // as a loop does
	}
	a.plain = http1.Plain{} // nothing of the connection stays in the pool
	c.owner.plain.answers.Put(a)
	if open := c.lane.leave(); !open || err != nil || follows == theEnd {
		c.gate.Finish()
		return 0, io.EOF
	}
	if used > 0 {
		c.row.mark(stateHeard, true)
		c.row.mark(stateInHead, false)
		c.owner.finish(c.row)
		c.note(used < len(b))
	}
	return copy(b, b[used:]), nil
}

// asServed returns the connection as fasthttp has it, which tells TLS from plain text.
func (c *conn) asServed() net.Conn {
	if _, secure := c.Conn.(*tls.Conn); secure {
		return tlsConn{c}
	}
	return c
}
