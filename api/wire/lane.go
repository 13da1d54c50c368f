package wire

import (
	"io"

	"shunt/api/wire/conns"
	"shunt/api/wire/loop"
)

// This file is the lane: a connection that fasthttp owns, because of TLS or because it has sent
// something else, answers plain requests when fasthttp reads from it, without passing them on. That
// keeps the order of answers: fasthttp has sent all of its own before it reads a message, and between
// two messages the gate knows that it is there.

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
	a := c.owner.plain.answers.Get().(*loop.Answers)
	used, follows := 0, loop.Unread
	for follows == loop.Unread && err == nil {
		var read int
		a.Begin(false)
		before := c.Row.Requests
		read, follows = a.AnswerSome(b[used:], c.Row, c.asServed())
		if used += read; len(a.Out) > 0 {
			c.note(true)
			_, err = c.Write(a.Out)
			a.Written(c.Row.Requests - before)
		}
	}
	if follows == loop.TheEnd && (used < len(b) || a.Cuts) {
		c.owner.Finish(c.Row)
		c.lingers.Store(true) // as a loop does
	}
	a.Forget()
	c.owner.plain.answers.Put(a)
	if open := c.lane.leave(); !open || err != nil || follows == loop.TheEnd {
		c.gate.Finish()
		return 0, io.EOF
	}
	if used > 0 {
		c.Row.Mark(conns.StateHeard, true)
		c.Row.Mark(conns.StateInHead, false)
		c.owner.Finish(c.Row)
		c.note(used < len(b))
	}
	return copy(b, b[used:]), nil
}
