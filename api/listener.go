package api

import (
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
)

// patience is how long a connection may take.
type patience struct {
	request time.Duration // from its first byte to the last of its answer; also for the first byte of a new connection
	idle    time.Duration // between requests
}

var (
	publicPatience = patience{request: 30 * time.Second, idle: 75 * time.Second}
	adminPatience  = patience{request: 5 * time.Minute, idle: 75 * time.Second} // a CPU profile takes what it is asked to
)

// sweepInterval is the grain of patience.
const sweepInterval = time.Second

// A listener hands out connections that it knows: it sweeps them, so that none is held for ever, without a deadline
// or a look at the clock per request. A connection notes when its state changed, by the sweeper's own clock (one
// atomic store); once a second the sweeper ends what took too long. A client that sends a byte now and then does not
// prolong anything.
type listener struct {
	net.Listener
	patience patience
	slots    chan struct{} // one taken by each connection, and by an Accept under way
	log      *slog.Logger

	seconds atomic.Int64 // the sweeper's clock: seconds since it started; written by sweep
	closed  chan struct{}
	closing sync.Once

	mu struct {
		sync.Mutex
		conns map[*conn]struct{}
	}
}

func newListener(ln net.Listener, connections int, p patience, log *slog.Logger) *listener {
	l := &listener{
		Listener: ln, patience: p, slots: make(chan struct{}, connections), log: log, closed: make(chan struct{}),
	}
	l.mu.conns = make(map[*conn]struct{})
	return l
}

// Accept waits for a connection, and before that until there may be one more: others wait in the backlog meanwhile. Want
// of file descriptors or memory ends in time, so it waits for that too.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, io.EOF
	}
	c, err := l.accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return l.track(c), nil
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

func (l *listener) track(c net.Conn) net.Conn {
	tracked := &conn{Conn: c, owner: l}
	tracked.note(true)
	l.mu.Lock()
	l.mu.conns[tracked] = struct{}{}
	l.mu.Unlock()
	if _, ok := c.(*tls.Conn); ok {
		return tlsConn{tracked}
	}
	return tracked
}

// forget ends the tracking of c, once.
func (l *listener) forget(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, tracked := l.mu.conns[c]; tracked {
		delete(l.mu.conns, c)
		<-l.slots
	}
}

// open returns the number of connections.
func (l *listener) open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.mu.conns)
}

// sweepUntil sweeps until done is closed.
func (l *listener) sweepUntil(done <-chan struct{}) {
	tick := time.NewTicker(sweepInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			l.sweep()
		case <-done:
			return
		}
	}
}

// sweep lets one second pass and ends what took too long. A request that is still being read is told so: its read
// fails, and fasthttp answers 408. Whatever is left a grain later is closed.
func (l *listener) sweep() {
	now := l.seconds.Add(int64(sweepInterval / time.Second))
	var late, dead []*conn
	l.mu.Lock()
	for c := range l.mu.conns {
		since, busy := c.noted()
		took := time.Duration(now-since) * time.Second
		switch {
		case busy && took > l.patience.request+2*sweepInterval, !busy && took > l.patience.idle:
			dead = append(dead, c)
		case busy && took > l.patience.request:
			late = append(late, c)
		}
	}
	l.mu.Unlock()
	for _, c := range late {
		_ = c.SetReadDeadline(time.Unix(1, 0)) // if it fails, the connection is dead already
	}
	for _, c := range dead {
		_ = c.Conn.Close() // its own goroutine does the rest
	}
}

// closeAll ends every connection.
func (l *listener) closeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.mu.conns {
		_ = c.Conn.Close()
	}
}

// closeSilent ends the connections that were opened at least age ago and have sent nothing yet. fasthttp takes a new
// connection for a busy one before its first byte, so its Shutdown would wait for them as for requests.
func (l *listener) closeSilent(age time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.seconds.Load()
	for c := range l.mu.conns {
		since, _ := c.noted()
		if !c.heard.Load() && time.Duration(now-since)*time.Second >= age {
			_ = c.Conn.Close() // its own goroutine does the rest
		}
	}
}

// A conn notes when it became busy or idle, and whether its client ever sent something.
type conn struct {
	net.Conn
	owner   *listener
	state   atomic.Int64 // since, on the owner's clock, << 1 | busy
	heard   atomic.Bool  // written by Read
	lingers atomic.Bool
}

// Read reads, and notes the first time that something came. Of TLS that is the first byte of a request, not of the
// handshake.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && !c.heard.Load() {
		c.heard.Store(true)
	}
	return n, err
}

func (c *conn) note(busy bool) {
	state := c.owner.seconds.Load() << 1
	if busy {
		state |= 1
	}
	c.state.Store(state)
}

func (c *conn) noted() (since int64, busy bool) {
	state := c.state.Load()
	return state >> 1, state&1 != 0
}

// Limits of lingering.
const (
	lingerTime  = time.Second
	lingerBytes = 1 << 20
)

// Close closes the connection. If there is something unread, closing would reset it, and the client might lose an
// answer that it has not read yet: so a lingering connection is closed for writing first, and what still comes is
// dropped for a while.
func (c *conn) Close() error {
	c.owner.forget(c)
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok && c.lingers.Swap(false) && half.CloseWrite() == nil {
		_ = c.SetReadDeadline(time.Now().Add(lingerTime))
		_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes) // whatever it ends with, the connection is closed next
	}
	return c.Conn.Close()
}

// tlsConn shows fasthttp that a connection is one of TLS.
type tlsConn struct{ *conn }

func (c tlsConn) Handshake() error                     { return c.Conn.(*tls.Conn).Handshake() }
func (c tlsConn) ConnectionState() tls.ConnectionState { return c.Conn.(*tls.Conn).ConnectionState() }

func connOf(c net.Conn) *conn {
	switch c := c.(type) {
	case *conn:
		return c
	case tlsConn:
		return c.conn
	}
	return nil
}

// noteState is fasthttp's ConnState hook.
func noteState(c net.Conn, state fasthttp.ConnState) {
	if tracked := connOf(c); tracked != nil {
		tracked.note(state != fasthttp.StateIdle)
	}
}

// linger makes the close of a connection wait for its client to read the answer.
func linger(c net.Conn) {
	if tracked := connOf(c); tracked != nil {
		tracked.lingers.Store(true)
	}
}
