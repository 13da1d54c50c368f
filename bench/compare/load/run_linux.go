package load

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

const (
	maxEvents   = 256
	readBytes   = 64 << 10
	longestWait = 100 * time.Millisecond
)

// A connection is one to the server.
type connection struct {
	fd      int
	index   int32
	awaited int           // answers
	due     time.Duration // of the requests that are awaited
	rest    []byte        // the start of an answer
}

// A generator is one run.
type generator struct {
	*Spec
	started     time.Time
	connections []connection
	chores      []*chore
	errands     []*errand  // with the indexes after those of connections
	free        chan int32 // indexes, in an open loop; a queue
	arrivals    arrivals
	templates   []template
	codes       []code
	sent        uint64 // requests
	inFlight    int    // connections that await answers
	sources     int    // addresses used
	epoll       int
	in, out     []byte
	to          unix.SockaddrInet4

	took         []time.Duration // of requests that were due between warm-up and end
	answers      uint64
	reconnected  uint64
	unsent       uint64
	warmAt, end  time.Duration
	first, last  mark
	warm, ending bool
}

// Run does what s says. It takes the process for itself: it turns the garbage collector off and
// locks the thread, so the process should do nothing else.
func Run(s *Spec) (*Report, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	g, err := newGenerator(s)
	if err != nil {
		return nil, err
	}
	defer g.close()
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	g.started = time.Now()
	if err := g.loop(); err != nil {
		return nil, err
	}
	return g.report(), nil
}

func newGenerator(s *Spec) (*generator, error) {
	if s.Connections < 1 || s.Pipeline < 1 || s.Links < 1 {
		return nil, fmt.Errorf("%d connections, %d requests at once and %d links cannot be", s.Connections, s.Pipeline, s.Links)
	}
	rng := rand.New(rand.NewPCG(s.Seed, 1))
	g := &generator{
		Spec: s, templates: templates(s), codes: drawCodes(s.Links, rng), warmAt: s.WarmUp, end: s.WarmUp + s.Length,
		in: make([]byte, readBytes), connections: make([]connection, s.Connections),
	}
	if s.Evenly {
		g.codes = drawEvenly(s.Links, rng)
	}
	g.out = make([]byte, 0, s.Pipeline*(len(g.templates[0].bytes)+64))
	var err error
	if g.to, err = address(s.Address); err != nil {
		return nil, err
	}
	if g.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("epoll_create1: %w", err)
	}
	if s.Rate > 0 {
		g.arrivals = newArrivals(s.Rate, rng)
		g.free = make(chan int32, s.Connections)
	}
	return g, g.connectAll()
}

// connectAll makes the connections.
func (g *generator) connectAll() error {
	for i := range g.connections {
		c := &g.connections[i]
		c.fd, c.index = -1, int32(i)
		if g.Rate > 0 {
			g.free <- c.index
		}
		if err := g.open(c, &g.to); err != nil {
			return errors.Join(err, g.close())
		}
	}
	if err := g.addChores(); err != nil {
		return errors.Join(err, g.close())
	}
	return nil
}

func (g *generator) close() error {
	for _, e := range g.errands {
		if e.fd > 0 {
			_ = unix.Close(e.fd)
		}
	}
	for i := range g.connections {
		if fd := g.connections[i].fd; fd > 0 {
			_ = unix.Close(fd)
		}
	}
	return unix.Close(g.epoll)
}

func (g *generator) now() time.Duration { return time.Since(g.started) }

// loop runs until all requests are answered.
func (g *generator) loop() error {
	if g.Rate == 0 {
		for i := range g.connections {
			if err := g.send(&g.connections[i], g.now()); err != nil {
				return err
			}
		}
	}
	var events [maxEvents]unix.EpollEvent
	for {
		now := g.now()
		if done, err := g.advance(now); done || err != nil {
			return err
		}
		if err := errors.Join(g.sendDue(now), g.doChores(now)); err != nil {
			return err
		}
		n, err := wait(g.epoll, events[:], g.patience(now))
		if err != nil {
			return err
		}
		arrived := g.now()
		for i := range events[:n] {
			if at := int(events[i].Fd); at < len(g.connections) {
				err = g.handle(&g.connections[at], arrived)
			} else {
				err = g.handleErrand(g.errands[at-len(g.connections)])
			}
			if err != nil {
				return err
			}
		}
	}
}

// advance takes the marks at their times. It reports whether the run is over.
func (g *generator) advance(now time.Duration) (done bool, err error) {
	switch {
	case !g.warm && now >= g.warmAt:
		g.warm = true
		g.first, err = g.mark(now)
	case !g.ending && now >= g.end:
		g.ending = true
		g.last, err = g.mark(now)
		g.giveUp(now)
	case g.ending && g.inFlight == 0:
		return true, nil
	case now > g.end+Tail:
		return true, fmt.Errorf("%d connections have no answer %v after the end", g.inFlight, Tail)
	}
	return false, err
}

// giveUp counts requests that were due and for which no connection was free: they would have taken
// longer than until now.
func (g *generator) giveUp(now time.Duration) {
	for g.Rate > 0 && g.arrivals.next < g.end {
		g.unsent++
		g.note(now, g.arrivals.next)
		g.arrivals.step()
	}
}

// sendDue sends the requests of an open loop that are due, as far as connections are free. The
// others keep their due times, so they count as late.
func (g *generator) sendDue(now time.Duration) error {
	if g.Rate == 0 {
		return nil
	}
	for due := g.arrivals.next; due <= now && due < g.end && len(g.free) > 0; due = g.arrivals.next {
		if err := g.send(&g.connections[<-g.free], due); err != nil {
			return err
		}
		g.arrivals.step()
	}
	return nil
}

// patience returns how long to wait for answers: at most until the end, whose mark must be in time.
// An open loop does not sleep before its next due time, unless the core is needed.
func (g *generator) patience(now time.Duration) time.Duration {
	longest := longestWait
	if !g.ending {
		longest = max(0, min(longest, g.end-now))
		for _, c := range g.chores {
			longest = max(0, min(longest, c.next-now))
		}
	}
	switch {
	case g.Rate == 0 || len(g.free) == 0 || g.arrivals.next >= g.end:
		return longest
	case g.Sleep:
		return max(0, min(longest, g.arrivals.next-g.now()))
	}
	return 0
}

// handle reads what has come on a connection.
func (g *generator) handle(c *connection, arrived time.Duration) error {
	have := copy(g.in, c.rest)
	c.rest = c.rest[:0]
	n, err := read(c.fd, g.in[have:])
	if err != nil {
		return err
	}
	if n == 0 {
		return fmt.Errorf("the server closed a connection; %d answers and %d bytes of one were still to come", c.awaited, have)
	}
	left := g.in[:have+n]
	for len(left) > 0 {
		length, last, err := answerLength(left, redirectLine)
		if err != nil {
			return err
		}
		if length == 0 {
			c.rest = append(c.rest, left...)
			break
		}
		if left = left[length:]; c.awaited == 0 {
			return errors.New("the server answered a request that was not sent")
		}
		c.awaited--
		g.answers++
		g.note(arrived, c.due)
		if last {
			return g.replace(c)
		}
		if c.awaited == 0 {
			if err := g.answered(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// replace opens a connection in place of one that the server closes, and sends the requests again
// that it has not answered: servers bound how many requests a connection may have.
func (g *generator) replace(c *connection) error {
	if err := unix.Close(c.fd); err != nil {
		return err
	}
	if err := g.open(c, &g.to); err != nil {
		return err
	}
	g.reconnected++
	if c.awaited == 0 {
		return g.answered(c)
	}
	return g.write(c)
}

// note records how long a request took.
func (g *generator) note(arrived, due time.Duration) {
	if due >= g.warmAt && due < g.end {
		g.took = append(g.took, arrived-due)
	}
}

// answered goes on with a connection whose requests are all answered.
func (g *generator) answered(c *connection) error {
	g.inFlight--
	if g.Rate > 0 {
		g.free <- c.index
		return nil
	}
	if now := g.now(); now < g.end {
		return g.send(c, now)
	}
	return nil
}

// send sends as many requests as go together on a connection that awaits nothing.
func (g *generator) send(c *connection, due time.Duration) error {
	c.due, c.awaited = due, g.Pipeline
	g.inFlight++
	return g.write(c)
}

// write sends the requests that a connection awaits.
func (g *generator) write(c *connection) error {
	out := g.out[:0]
	for range c.awaited {
		t := &g.templates[g.sent%uint64(len(g.templates))]
		out = t.appendTo(out, &g.codes[g.sent%uint64(len(g.codes))])
		g.sent++
	}
	n, err := write(c.fd, out)
	if err == nil && n < len(out) {
		err = fmt.Errorf("only %d of %d bytes could be sent: the server does not read", n, len(out))
	}
	return err
}

// quantile returns the duration that the share p of all, which are sorted, does not exceed; 0 if there are none.
func quantile(all []time.Duration, p float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	return all[int(p*float64(len(all)))]
}

func (g *generator) report() *Report {
	slices.Sort(g.took)
	var chores []uint64
	for _, c := range g.chores {
		chores = append(chores, c.done)
	}
	return &Report{
		Chores:  chores,
		Answers: g.last.answers - g.first.answers, Elapsed: g.last.at - g.first.at, CPU: g.last.server - g.first.server, Own: g.last.own - g.first.own,
		P50: quantile(g.took, 0.5), P99: quantile(g.took, 0.99),
		AnswersInAll: g.answers, Reconnected: g.last.reconnections - g.first.reconnections, Unsent: g.unsent,
	}
}
