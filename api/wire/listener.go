package wire

import (
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

// A listener tracks and sweeps the connections that it accepts, so that no client holds one forever. This needs no deadline and no reading of the system's clock per request: a
// connection records when its state changed by the sweeper's own clock (one atomic store), and once
// a second the sweeper ends the connections that took too long. A byte now and then does not extend
// the time.
type listener struct {
	net.Listener
	patience Patience
	limits   Limits
	age      func() time.Duration // since the listener is there
	slots    chan struct{}        // each connection takes one, and so does an Accept under way
	log      *slog.Logger

	seconds     atomic.Int64         // the sweeper's clock: seconds since it started; written by sweep
	large       *turnstile.Turnstile // places for large bodies
	waiting     atomic.Int32         // Accepts and loops that wait for a slot
	held        atomic.Int64         // bytes that loops keep for connections
	first       atomic.Int64         // how long a first head may take, in nanoseconds; written by sweep
	fruitless   atomic.Int64         // the second in which evictIdle last found nothing
	nextWarning atomic.Int64         // on the sweeper's clock; see warnTrying
	joined      chan struct{}        // there is a connection again
	closed      chan struct{}
	closing     sync.Once
	failed      error // why the loops cannot accept; set before closed is closed

	plain *Group // answers plain requests in the lane; nil: there is none
	loops *loops // nil: fasthttp accepts

	mu struct {
		sync.Mutex
		rows
		unswept   bool                       // the sweeper waits for a connection
		addresses map[netip.Addr]addressRows // those that are counted; see evict.go
	}
}

// Limits are the limits of a listener's connections.
type Limits struct {
	Connections int
	PerAddress  int      // from one address; an IPv6 address counts as its /64; 0: no limit. Of first heads, a /48 or /24 has four times as many
	FirstHeads  int      // connections whose first head has not ended; 0: no limit but Connections
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
		Listener: ln, patience: p, limits: lim, slots: make(chan struct{}, min(lim.Connections, MaxConnections)), log: log,
		joined: make(chan struct{}, 1), closed: make(chan struct{}), large: newLargeBodies(),
	}
	l.fruitless.Store(-1)
	l.first.Store(int64(p.Head))
	begun := time.Now()
	l.age = func() time.Duration { return time.Since(begun) }
	l.mu.heads.networks = make(map[netip.Addr]*network)
	l.mu.addresses = make(map[netip.Addr]addressRows)
	return l
}

// Accept waits for a free slot and then for a connection. Clients wait in the backlog meanwhile. If
// file descriptors or memory run out, Accept tries again until there are some.
func (l *listener) Accept() (net.Conn, error) {
	if l.loops != nil {
		<-l.closed // the loops accept, and fasthttp gets its connections from them
		if l.failed != nil {
			return nil, l.failed
		}
		return nil, io.EOF
	}
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
	if l.trySlot() {
		return true
	}
	l.waiting.Add(1)
	defer l.waiting.Add(-1)
	for {
		l.makeRoom()
		select {
		case l.slots <- struct{}{}:
			return true
		case <-l.closed:
			return false
		case <-time.After(roomPoll):
		}
	}
}

// trySlot takes a slot if one is free.
func (l *listener) trySlot() bool {
	select {
	case l.slots <- struct{}{}:
		return true
	default:
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
		l.warnTrying(err)
		delay = nextDelay(delay)
		select {
		case <-time.After(delay):
		case <-l.closed:
			return nil, io.EOF
		}
	}
}

// warnSeconds is the least time between two warnings that connections cannot be accepted: there may be
// descriptors one moment and none the next.
const warnSeconds = 60

// warnTrying logs that a connection could not be accepted because of cause, and that it is tried again.
func (l *listener) warnTrying(cause error) {
	next, now := l.nextWarning.Load(), l.seconds.Load()
	if now >= next && l.nextWarning.CompareAndSwap(next, now+warnSeconds) {
		l.log.Warn("cannot accept connections; trying again", slog.Any("cause", cause))
	}
}

// nextDelay doubles the delay, from 5 ms to 250 ms, so that service resumes within a second when
// descriptors are free again.
func nextDelay(delay time.Duration) time.Duration {
	return min(max(2*delay, 5*time.Millisecond), 250*time.Millisecond)
}

// lastingErrors are those of accept that say that the socket is closed, or cannot accept. All others are
// about one connection, the network or resources: even a firewall's EPERM passes (accept(2)).
var lastingErrors = []error{syscall.EBADF, syscall.EINVAL, syscall.ENOTSOCK, syscall.EFAULT}

// passing reports whether an error of accept is temporary.
func passing(err error) bool {
	var errno syscall.Errno
	return isTimeout(err) || errors.As(err, &errno) && !slices.ContainsFunc(lastingErrors, func(e error) bool { return errno == e })
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
		if l.loops.tellAll(stopAccept); l.loops == nil {
			err = l.Listener.Close()
		}
	})
	return err
}

// fail is Close after a loop has found that the socket is broken.
func (l *listener) fail(cause error) {
	l.closing.Do(func() {
		l.failed = cause
		close(l.closed)
		l.loops.tellAll(stopAccept)
	})
}

// track wraps c and begins to sweep it. It returns nil if c's address has its share of connections.
func (l *listener) track(c net.Conn) net.Conn {
	r := l.join(AddrOf(c.RemoteAddr()), byServer)
	if r == nil {
		return nil
	}
	return l.wrap(c, r).asServed()
}

// wrap returns the connection that fasthttp gets for c, whose row is r.
func (l *listener) wrap(c net.Conn, r *row) *conn {
	tracked := &conn{Conn: c, owner: l, row: r}
	tracked.gate.large.of, tracked.gate.large.clock = l.large, &l.seconds
	l.mu.Lock()
	defer l.mu.Unlock()
	r.conn = tracked
	l.spareLocked(r)
	return tracked
}

// join returns the row of a new connection of peer. It returns nil if peer's address has its share
// of connections.
func (l *listener) join(peer netip.Addr, owner int32) *row {
	addr, counted := l.countedAddress(peer)
	l.mu.Lock()
	var evicted *row
	if counted && l.mu.addresses[addr].n >= l.limits.PerAddress {
		if evicted = l.evictOfLocked(addr); evicted == nil {
			l.mu.Unlock()
			return nil
		}
	}
	crowded := l.crowdedLocked(peer, counted)
	l.wakeLocked()
	r := l.mu.take()
	r.addr, r.requests, r.flags, r.rest, r.finished = peer.As16(), 0, 0, nil, false
	r.state.Store(uint32(l.seconds.Load())<<stateBits | stateBusy | stateInHead)
	r.moved.Store(0)
	if r.counted = counted; counted {
		l.joinLocked(r, addr)
	}
	l.mu.list(r, l.age())
	r.owner.Store(owner)
	l.mu.Unlock()
	l.evict(evicted)
	l.evict(crowded)
	return r
}

// evict drops r and counts that, unless it is nil.
func (l *listener) evict(r *row) {
	if r != nil {
		l.limits.Counts.Evicted.Add(1)
		l.drop(r)
	}
}

// drop closes the connection of r, which was chosen for eviction.
func (l *listener) drop(r *row) {
	l.mu.Lock()
	c, owner, still := r.conn, r.owner.Load(), r.evicting
	l.mu.Unlock()
	switch {
	case !still: // it was closed meanwhile, and the row may be another connection's
	case c != nil:
		c.drop()
	default:
		l.loops.tell(owner, evict, r)
	}
}

// forget undoes join and frees the slot of the connection. It must be called once.
func (l *listener) forget(r *row) {
	l.mu.Lock()
	l.leaveLocked(r)
	l.mu.release(r)
	l.mu.Unlock()
	<-l.slots
	if l.waiting.Load() > 0 {
		l.loops.tellAll(accept)
	}
}

// open returns the number of open connections.
func (l *listener) open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.used
}

// dropIdle closes the connections of fasthttp on which no request is under way.
func (l *listener) dropIdle() { l.dropWhere(func(*row) bool { return true }) }

// dropKept closes those of them that have been answered.
func (l *listener) dropKept() { l.dropWhere((*row).heard) }

func (l *listener) dropWhere(which func(*row) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.all(func(r *row) {
		if _, busy := r.noted(); r.conn != nil && !busy && which(r) {
			r.conn.drop()
		}
	})
}

// closeAll closes every connection.
func (l *listener) closeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.all(func(r *row) {
		if r.conn != nil {
			r.conn.drop()
		}
	})
	l.loops.tellAll(closeAll)
}
