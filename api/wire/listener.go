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

// A listener hands out connections that it knows: it sweeps them, so that none is held for ever, without a deadline
// or a look at the clock per request. A connection notes when its state changed, by the sweeper's own clock (one
// atomic store); once a second the sweeper ends what took too long. A client that sends a byte now and then does not
// prolong anything.
type listener struct {
	net.Listener
	patience Patience
	limits   Limits
	slots    chan struct{} // one taken by each connection, and by an Accept under way
	log      *slog.Logger

	seconds   atomic.Int64         // the sweeper's clock: seconds since it started; written by sweep
	large     *turnstile.Turnstile // places for large bodies
	waiting   atomic.Bool          // an Accept waits for a slot
	fruitless atomic.Int64         // the second in which it was last found that no connection can make room
	closed    chan struct{}
	closing   sync.Once

	mu struct {
		sync.Mutex
		conns     map[*conn]struct{}
		addresses map[netip.Addr]addressConns // of those that are counted, see room.go
	}
}

// Limits bound the connections of a listener.
type Limits struct {
	Connections int
	PerAddress  int      // 0: no limit
	Exempt      *Proxies // from PerAddress; nil: none
	Counts      *Counts
}

// Counts are what became of connections that were not let be, since start.
type Counts struct {
	Late      atomic.Uint64 // took too long with a request, or its client with the answer
	Idle      atomic.Uint64 // had no request for too long
	Evicted   atomic.Uint64 // idle, and others needed the room
	Address   atomic.Uint64 // refused: its address has its share
	PlainHTTP atomic.Uint64 // spoke HTTP where HTTPS is spoken
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

// Accept waits for a connection, and before that until there may be one more: others wait in the backlog meanwhile. Want
// of file descriptors or memory ends in time, so it waits for that too.
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

// takeSlot waits for a slot. It returns false if the listener was closed instead.
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
			return nil, io.EOF // what fasthttp takes for a regular end
		default:
		}
		if !passing(err) {
			l.closing.Do(func() { close(l.closed) }) // its owner has closed it, or it is broken
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

// nextDelay doubles from 5 ms to 250 ms, so that service resumes within a second after there are descriptors again.
func nextDelay(delay time.Duration) time.Duration {
	return min(max(2*delay, 5*time.Millisecond), 250*time.Millisecond)
}

var passingErrors = []error{
	syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED, syscall.EINTR,
}

// passing tells whether an error of accept is one that passes.
func passing(err error) bool {
	return slices.ContainsFunc(passingErrors, func(e error) bool { return errors.Is(err, e) }) || isTimeout(err)
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// Close stops accepting; connections go on.
func (l *listener) Close() error {
	var err error
	l.closing.Do(func() {
		close(l.closed)
		err = l.Listener.Close()
	})
	return err
}

// track begins the tracking of c. It returns nil if c's address has its share of connections.
func (l *listener) track(c net.Conn) net.Conn {
	tracked := &conn{Conn: c, owner: l}
	tracked.gate.large.of, tracked.gate.large.clock = l.large, &l.seconds
	tracked.inHead.Store(true)
	tracked.note(true)
	room, replaced := l.add(tracked)
	if replaced != nil {
		l.limits.Counts.Evicted.Add(1)
		replaced.drop()
	}
	switch _, ok := c.(*tls.Conn); {
	case !room:
		return nil
	case ok:
		return tlsConn{tracked}
	}
	return tracked
}

func (l *listener) add(c *conn) (room bool, replaced *conn) {
	addr, counted := l.countedAddress(AddrOf(c.RemoteAddr()))
	l.mu.Lock()
	defer l.mu.Unlock()
	if counted {
		if room, replaced = l.joinLocked(c, addr); !room {
			return false, nil
		}
	}
	l.mu.conns[c] = struct{}{}
	return true, replaced
}

// forget ends the tracking of c, once.
func (l *listener) forget(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, tracked := l.mu.conns[c]; tracked {
		delete(l.mu.conns, c)
		l.leaveLocked(c)
		<-l.slots
	}
}

// open returns the number of connections.
func (l *listener) open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.mu.conns)
}

// closeAll ends every connection.
func (l *listener) closeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.mu.conns {
		c.drop()
	}
}
