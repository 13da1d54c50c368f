package conns

import (
	"cmp"
	"slices"
	"time"
)

// SweepUntil sweeps until done is closed, while there are connections.
func (t *Table) SweepUntil(done <-chan struct{}) {
	tick := time.NewTicker(SweepInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if t.Sweep(); t.rest() {
				tick.Stop()
			}
		case <-t.joined:
			tick.Reset(SweepInterval)
		case <-done:
			return
		}
	}
}

// rest makes the next connection wake the sweeper, unless there is something to sweep or to warn of. The
// sweeper's clock stands still meanwhile.
func (t *Table) rest() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.unswept = t.mu.used == 0 && t.Waiting.Load() == 0 && t.Seconds.Load() >= t.nextWarning.Load()
	return t.mu.unswept
}

// wakeLocked wakes the sweeper if it rests.
func (t *Table) wakeLocked() {
	if t.mu.unswept {
		t.mu.unswept = false
		select {
		case t.joined <- struct{}{}:
		default: // it is about to wake up
		}
	}
}

// health says how a connection is doing when it is swept.
type health uint8

const (
	well health = iota // in time
	Idle               // idle for too long: to be closed
	Late               // its read must fail; fasthttp answers 408 if it waits for the rest of a request
	Dead               // late for more than two sweeps: to be reset
)

// Judge returns the health of r at now, on the sweeper's clock; moved is r.movedBytes(), and
// first is how long its first head may take. A connection that is late has two more sweeps for its 408 before it is
// dead.
func (p *Patience) Judge(r *Row, moved, now int64, first time.Duration) health {
	since, busy := r.Noted()
	took := time.Duration(now-since) * time.Second
	if !busy {
		if took > p.Idle {
			return Idle
		}
		return well
	}
	head := p.Head
	if !r.finished {
		head = first
	}
	allowed := p.Request + time.Duration(moved/MinRate)*time.Second
	switch {
	case took > allowed+2*SweepInterval:
		return Dead
	case took > allowed, took > head && r.InHead():
		return Late
	}
	return well
}

// Sweep advances the clock by one second and ends the connections that took too long. If a new
// connection or a large body waits, it also evicts idle connections or cuts slow bodies.
func (t *Table) Sweep() {
	now := t.Seconds.Add(int64(SweepInterval / time.Second))
	var found [Dead + 1][]*Served
	t.mu.Lock()
	t.hurryLocked()
	first := time.Duration(t.First.Load())
	t.mu.all(func(r *Row) {
		switch v := t.Patience.Judge(r, r.movedBytes(), now, first); {
		case v == well:
		case r.conn != nil:
			found[v] = append(found[v], r.conn)
		default:
			t.Tell(r.Owner.Load(), Judge, r)
		}
	})
	slow := t.slowLargeLocked(now)
	t.mu.Unlock()
	if t.Waiting.Load() > 0 {
		t.MakeRoom()
	}
	t.Limits.Counts.Idle.Add(uint64(len(found[Idle])))
	t.Limits.Counts.Late.Add(uint64(len(found[Dead])))
	for _, c := range found[Late] {
		c.late()
	}
	for _, c := range slow {
		c.cutLarge()
	}
	for _, c := range found[Idle] {
		c.drop()
	}
	for _, c := range found[Dead] {
		c.reset()
	}
}

// slowLargeLocked returns the connections whose large bodies are to be cut, the slowest first, and
// at most as many as there are bodies that wait.
func (t *Table) slowLargeLocked(now int64) (slow []*Served) {
	waiting := t.Large.Waiting()
	if waiting == 0 {
		return nil
	}
	lags := make(map[*Served]int64)
	t.mu.all(func(r *Row) {
		c := r.conn
		if c == nil {
			return
		}
		if lag := c.Large.Lag(now, c.Moved.Load()); lag > 0 {
			lags[c] = lag
			slow = append(slow, c)
		}
	})
	slices.SortFunc(slow, func(a, b *Served) int { return cmp.Compare(lags[b], lags[a]) })
	return slow[:min(len(slow), waiting)]
}

// CloseSilent closes the connections that were opened at least age ago and have sent nothing yet.
// fasthttp takes a new connection for a busy one before its first byte, so its Shutdown would wait
// for them as for requests.
func (t *Table) CloseSilent(age time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.Seconds.Load()
	t.mu.all(func(r *Row) {
		since, _ := r.Noted()
		switch {
		case r.Heard() || time.Duration(now-since)*time.Second < age:
		case r.conn != nil:
			r.conn.drop()
		default:
			t.Tell(r.Owner.Load(), Silence, r)
		}
	})
}
