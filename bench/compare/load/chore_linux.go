package load

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// A chore is a Chore under way.
type chore struct {
	*Chore
	statusLine []byte
	next       time.Duration
	free       []*errand
	done       uint64 // answers
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
		c.statusLine = fmt.Appendf(nil, "HTTP/1.1 %d ", c.Status)
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
	length, _, err := answerLength(e.rest, e.of.statusLine)
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
