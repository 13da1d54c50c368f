package load

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// A chore is a Chore under way.
type chore struct {
	*Chore
	next time.Duration
	free []*errand
	done uint64 // answers
}

// An errand is a connection of a chore.
type errand struct {
	connection        // its rest is what has come of an answer
	of         *chore // whose answer it awaits, or may await
	left       []byte // of the request, to be sent
}

// addChores makes the connections of all chores.
func (g *generator) addChores() error {
	for i := range g.Chores {
		c := &chore{Chore: &g.Chores[i], next: g.Chores[i].Every}
		g.chores = append(g.chores, c)
		to, err := address(c.Address)
		if err != nil {
			return err
		}
		for range c.Connections {
			e := &errand{of: c}
			e.index = int32(len(g.connections) + len(g.errands))
			g.errands = append(g.errands, e)
			if err := g.open(&e.connection, &to); err != nil {
				return err
			}
			c.free = append(c.free, e)
		}
	}
	return nil
}

// doChores sends the requests of chores that are due, as far as connections are free.
func (g *generator) doChores(now time.Duration) error {
	for _, c := range g.chores {
		for c.next <= now && len(c.free) > 0 && !g.ending {
			e := c.free[0] // in turn: a server closes a connection on which nothing comes
			c.free, c.next, e.left = c.free[1:], c.next+c.Every, c.Request
			if err := g.sendErrand(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// sendErrand sends what the kernel takes, and the rest when it takes more.
func (g *generator) sendErrand(e *errand) error {
	n, err := write(e.fd, e.left)
	if err != nil && !errors.Is(err, unix.EAGAIN) {
		return err
	}
	waited := len(e.left) < len(e.of.Request)
	e.left = e.left[n:]
	switch {
	case len(e.left) > 0 && !waited:
		return g.watch(&e.connection, unix.EPOLL_CTL_MOD, unix.EPOLLOUT)
	case len(e.left) == 0 && waited:
		return g.watch(&e.connection, unix.EPOLL_CTL_MOD, unix.EPOLLIN)
	}
	return nil
}

// handleErrand goes on with an errand of which something has come, or can be sent.
func (g *generator) handleErrand(e *errand) error {
	if len(e.left) > 0 {
		return g.sendErrand(e)
	}
	n, err := read(e.fd, g.in)
	if err == nil && n == 0 {
		err = errors.New("the server closed the connection")
	}
	if err != nil {
		return fmt.Errorf("beside the load: %w", err)
	}
	e.rest = append(e.rest, g.in[:n]...)
	length, err := plainAnswerLength(e.rest, e.of.Status)
	switch {
	case err != nil:
		return fmt.Errorf("beside the load: %w", err)
	case length == 0:
		return nil
	case length < len(e.rest):
		return errors.New("beside the load: the server answered more than was asked")
	}
	e.rest = e.rest[:0]
	e.of.done++
	e.of.free = append(e.of.free, e)
	return nil
}

// plainAnswerLength returns the length of the answer at the start of b, or 0 if more of it must come.
func plainAnswerLength(b []byte, status int) (int, error) {
	want := strconv.AppendInt([]byte("HTTP/1.1 "), int64(status), 10)
	if n := min(len(b), len(want)); !bytes.Equal(b[:n], want[:n]) {
		return 0, fmt.Errorf("the answer is not a %d: %.300q", status, b)
	}
	end := bytes.Index(b, headEnd)
	if end < 0 {
		return 0, nil
	}
	body := -1
	for line := range bytes.Lines(b[:end+2]) {
		if v, is := value(line, "content-length:"); is {
			body = number(v)
		}
	}
	if body < 0 {
		return 0, fmt.Errorf("the answer has no length: %.300q", b[:end])
	}
	if whole := end + len(headEnd) + body; whole <= len(b) {
		return whole, nil
	}
	return 0, nil
}
