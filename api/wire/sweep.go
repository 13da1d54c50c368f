package wire

import "time"

// Patience is how long a connection may take before it is ended.
type Patience struct {
	// Head is the time from the first byte of a request to the end of its head. The head of the
	// first request may take as long from the beginning of the connection, and less if slots are few.
	Head time.Duration

	// First is the time for the first head, or for a handshake with a certificate; 0: Head.
	First time.Duration

	// Request is the time from the first byte of a request to the last byte of its answer. Each
	// minRate bytes of a body or of a large answer add a second.
	Request time.Duration

	// Idle is the time between two requests.
	Idle time.Duration
}

// DefaultPatience suits redirects and other small answers.
var DefaultPatience = Patience{Head: 10 * time.Second, Request: 30 * time.Second, Idle: 75 * time.Second}

// minRate is the number of bytes of a body, or of a large answer, that add a second to a request's
// time. It is Apache's MinRate (mod_reqtimeout), for both directions.
const minRate = 16 << 10

// SweepInterval is the time between two sweeps, and so the precision of Patience.
const SweepInterval = time.Second

// sweepUntil sweeps until done is closed, while there are connections.
func (l *listener) sweepUntil(done <-chan struct{}) {
	tick := time.NewTicker(SweepInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if l.sweep(); l.rest() {
				tick.Stop()
			}
		case <-l.joined:
			tick.Reset(SweepInterval)
		case <-done:
			return
		}
	}
}

// rest makes the next connection wake the sweeper, unless there is something to sweep or to warn of. The
// sweeper's clock stands still meanwhile.
func (l *listener) rest() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.unswept = l.mu.used == 0 && l.waiting.Load() == 0 && l.seconds.Load() >= l.nextWarning.Load()
	return l.mu.unswept
}

// wakeLocked wakes the sweeper if it rests.
func (l *listener) wakeLocked() {
	if l.mu.unswept {
		l.mu.unswept = false
		select {
		case l.joined <- struct{}{}:
		default: // it is about to wake up
		}
	}
}

// health says how a connection is doing when it is swept.
type health uint8

const (
	well health = iota // in time
	idle               // idle for too long: to be closed
	late               // its read must fail; fasthttp answers 408 if it waits for the rest of a request
	dead               // late for more than two sweeps: to be reset
)

// judge returns the health of r at now, on the sweeper's clock; moved is r.movedBytes(), and
// first is how long its first head may take. A connection that is late has two more sweeps for its 408 before it is dead.
func (p *Patience) judge(r *row, moved, now int64, first time.Duration) health {
	since, busy := r.noted()
	took := time.Duration(now-since) * time.Second
	if !busy {
		if took > p.Idle {
			return idle
		}
		return well
	}
	head := p.Head
	if !r.finished {
		head = first
	}
	allowed := p.Request + time.Duration(moved/minRate)*time.Second
	switch {
	case took > allowed+2*SweepInterval:
		return dead
	case took > allowed, took > head && r.inHead():
		return late
	}
	return well
}

// sweep advances the clock by one second and ends the connections that took too long. If a new
// connection or a large body waits, it also evicts idle connections or cuts slow bodies.
func (l *listener) sweep() {
	now := l.seconds.Add(int64(SweepInterval / time.Second))
	var found [dead + 1][]*conn
	l.mu.Lock()
	l.hurryLocked()
	first := time.Duration(l.first.Load())
	l.mu.all(func(r *row) {
		switch v := l.patience.judge(r, r.movedBytes(), now, first); {
		case v == well:
		case r.conn != nil:
			found[v] = append(found[v], r.conn)
		default:
			l.loops.tell(r.owner.Load(), judge, r)
		}
	})
	slow := l.slowLargeLocked(now)
	l.mu.Unlock()
	if l.waiting.Load() > 0 {
		l.makeRoom()
	}
	l.limits.Counts.Idle.Add(uint64(len(found[idle])))
	l.limits.Counts.Late.Add(uint64(len(found[dead])))
	for _, c := range found[late] {
		_ = c.SetReadDeadline(time.Unix(1, 0)) // if it fails, the connection is dead already
	}
	for _, c := range slow {
		c.cutLarge()
	}
	for _, c := range found[idle] {
		c.drop()
	}
	for _, c := range found[dead] {
		c.reset()
	}
}

// closeSilent closes the connections that were opened at least age ago and have sent nothing yet.
// fasthttp takes a new connection for a busy one before its first byte, so its Shutdown would wait
// for them as for requests.
func (l *listener) closeSilent(age time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.seconds.Load()
	l.mu.all(func(r *row) {
		since, _ := r.noted()
		switch {
		case r.heard() || time.Duration(now-since)*time.Second < age:
		case r.conn != nil:
			r.conn.drop()
		default:
			l.loops.tell(r.owner.Load(), silence, r)
		}
	})
}
