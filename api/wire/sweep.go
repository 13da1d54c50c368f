package wire

import "time"

// patience is how long a connection may take.
type Patience struct {
	Head    time.Duration // from a request's first byte to the end of its head; of a new connection, from its beginning
	Request time.Duration // from its first byte to the last of its answer, and as long again as minRate allows for what moves
	Idle    time.Duration // between requests
}

// DefaultPatience suits clients that ask for redirects and small answers.
var DefaultPatience = Patience{Head: 10 * time.Second, Request: 30 * time.Second, Idle: 75 * time.Second}

// minRate is how many bytes of a body, or of a large answer, earn a request a second more. Slower ones have their time and
// no more. It is Apache's MinRate (mod_reqtimeout), for both directions.
const minRate = 16 << 10

// SweepInterval is the grain of patience.
const SweepInterval = time.Second

// sweepUntil sweeps until done is closed.
func (l *listener) sweepUntil(done <-chan struct{}) {
	tick := time.NewTicker(SweepInterval)
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

// A standing is what the sweep does with a connection.
type standing uint8

const (
	well standing = iota
	idle          // for too long: closed
	late          // its read fails, and if it waits for a request's rest, fasthttp answers 408
	dead          // reset
)

// judge says how a connection stands at now, on the sweeper's clock. A late one has two grains to be told so.
func (p *Patience) judge(c *conn, now int64) standing {
	since, busy := c.noted()
	took := time.Duration(now-since) * time.Second
	if !busy {
		if took > p.Idle {
			return idle
		}
		return well
	}
	allowed := p.Request + time.Duration(c.moved.Load()/minRate)*time.Second
	switch {
	case took > allowed+2*SweepInterval:
		return dead
	case took > allowed, took > p.Head && c.inHead.Load():
		return late
	}
	return well
}

// sweep lets one second pass, ends what took too long, and makes room if somebody waits for it: for
// a connection, or for a large body.
func (l *listener) sweep() {
	now := l.seconds.Add(int64(SweepInterval / time.Second))
	var found [dead + 1][]*conn
	l.mu.Lock()
	for c := range l.mu.conns {
		if v := l.patience.judge(c, now); v != well {
			found[v] = append(found[v], c)
		}
	}
	slow := l.slowLargeLocked(now)
	l.mu.Unlock()
	if l.waiting.Load() {
		l.evictIdle()
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

// CloseSilent ends the connections that were opened at least age ago and have sent nothing yet. fasthttp takes a new
// connection for a busy one before its first byte, so its Shutdown would wait for them as for requests.
func (l *listener) closeSilent(age time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.seconds.Load()
	for c := range l.mu.conns {
		since, _ := c.noted()
		if !c.heard.Load() && time.Duration(now-since)*time.Second >= age {
			c.drop()
		}
	}
}
