package wire

import (
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"shunt/api/turnstile"
)

// A listener keeps track of the connections that it accepts and sweeps them, so that no client
// holds one for ever. This needs no deadline and no reading of the system's clock per request: a
// connection records when its state changed by the sweeper's own clock (one atomic store), and once
// a second the sweeper ends the connections that took too long. A byte now and then does not extend
// the time.
type listener struct {
	net.Listener
	patience Patience
	limits   Limits
	slots    chan struct{} // each connection takes one, and so does an Accept under way
	log      *slog.Logger

	seconds   atomic.Int64         // the sweeper's clock: seconds since it started; written by sweep
	large     *turnstile.Turnstile // places for large bodies
	waiting   atomic.Bool          // an Accept waits for a slot
	fruitless atomic.Int64         // the second in which evictIdle last found nothing
	closed    chan struct{}
	closing   sync.Once

	mu struct {
		sync.Mutex
		conns     map[*conn]struct{}
		addresses map[netip.Addr]addressConns // those that are counted; see evict.go
	}
}

// Limits are the limits of a listener's connections.
type Limits struct {
	Connections int
	PerAddress  int      // from one address; an IPv6 address counts as its /64; 0: no limit
	Exempt      *Proxies // from PerAddress; nil: none
	Counts      *Counts  // nil: not counted
}

// Counts counts connections that were closed or refused, by reason. Listeners may share one.
type Counts struct {
	Late      atomic.Uint64 // a request, or the reading of its answer, took too long
	Idle      atomic.Uint64 // no request came in time
	Evicted   atomic.Uint64 // idle, and a new connection needed the slot
	Address   atomic.Uint64 // refused: the address has its share
	PlainHTTP atomic.Uint64 // the client spoke HTTP on a port of HTTPS
}

func newListener(ln net.Listener, lim Limits, p Patience, log *slog.Logger) *listener {
	if lim.Counts == nil {
		lim.Counts = new(Counts)
	}
	l := &listener{
		Listener: ln, patience: p, limits: lim, slots: make(chan struct{}, lim.Connections), log: log,
		closed: make(chan struct{}), large: newLargeBodies(),
	}
	l.fruitless.Store(-1)
	l.mu.conns = make(map[*conn]struct{})
	l.mu.addresses = make(map[netip.Addr]addressConns)
	return l
}

// Accept waits for a free slot and then for a connection. Clients wait in the backlog meanwhile. If
// file descriptors or memory run out, Accept tries again until there are some.
func (l *listener) Accept() (net.Conn, error) {
	if !l.takeSlot() {
		return nil, io.EOF
	}
	for {
		c, err := l.accept()
		if err != nil {
			<-l.slots
			return nil, err
		}
		if tracked := l.track(c); tracked != nil {
			return tracked, nil
		}
		l.limits.Counts.Address.Add(1)
		_ = c.Close()
	}
}

// takeSlot waits for a free slot. It returns false if the listener is closed first.
func (l *listener) takeSlot() bool {
	select {
	case l.slots <- struct{}{}:
		return true
	default:
	}
	l.waiting.Store(true)
	defer l.waiting.Store(false)
	l.evictIdle()
	select {
	case l.slots <- struct{}{}:
		return true
	case <-l.closed:
		return false
	}
}

func (l *listener) accept() (net.Conn, error) {
	for delay := time.Duration(0); ; {
		c, err := l.Listener.Accept()
		if err == nil {
			return c, nil
		}
		select {
		case <-l.closed:
			return nil, io.EOF // fasthttp takes this for a regular end
		default:
		}
		if !passing(err) {
			l.closing.Do(func() { close(l.closed) }) // the listener was closed, or it is broken
			return nil, err
		}
		if delay == 0 {
			l.log.Warn("cannot accept connections; trying again", slog.Any("cause", err))
		}
		delay = nextDelay(delay)
		select {
		case <-time.After(delay):
		case <-l.closed:
			return nil, io.EOF
		}
	}
}

// nextDelay doubles the delay, from 5 ms to 250 ms, so that service resumes within a second when
// descriptors are free again.
func nextDelay(delay time.Duration) time.Duration {
	return min(max(2*delay, 5*time.Millisecond), 250*time.Millisecond)
}

var passingErrors = []error{
	syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED, syscall.EINTR,
}

// passing reports whether an error of accept is temporary.
func passing(err error) bool {
	return slices.ContainsFunc(passingErrors, func(e error) bool { return errors.Is(err, e) }) || isTimeout(err)
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// Close stops accepting. Open connections go on.
func (l *listener) Close() error {
	var err error
	l.closing.Do(func() {
		close(l.closed)
		err = l.Listener.Close()
	})
	return err
}

// track wraps c and begins to sweep it. It returns nil if c's address has its share of connections.
func (l *listener) track(c net.Conn) net.Conn {
	tracked := &conn{Conn: c, owner: l}
	tracked.gate.large.of, tracked.gate.large.clock = l.large, &l.seconds
	tracked.inHead.Store(true)
	tracked.note(true)
	ok, evicted := l.add(tracked)
	if evicted != nil {
		l.limits.Counts.Evicted.Add(1)
		evicted.drop()
	}
	switch _, secure := c.(*tls.Conn); {
	case !ok:
		return nil
	case secure:
		return tlsConn{tracked}
	}
	return tracked
}

func (l *listener) add(c *conn) (ok bool, evicted *conn) {
	addr, counted := l.countedAddress(AddrOf(c.RemoteAddr()))
	l.mu.Lock()
	defer l.mu.Unlock()
	if counted {
		if ok, evicted = l.joinLocked(c, addr); !ok {
			return false, nil
		}
	}
	l.mu.conns[c] = struct{}{}
	return true, evicted
}

// forget undoes track and frees the slot of c. Only the first call for c has an effect.
func (l *listener) forget(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, tracked := l.mu.conns[c]; tracked {
		delete(l.mu.conns, c)
		l.leaveLocked(c)
		<-l.slots
	}
}

// open returns the number of open connections.
func (l *listener) open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.mu.conns)
}

// closeAll closes every connection.
func (l *listener) closeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.mu.conns {
		c.drop()
	}
}
