package crashtest

import (
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"shunt/engine/expect"
)

// attempt is one change that was asked for: what a row was to become.
type attempt struct {
	row     string
	state   string // what a session shows of the row; "": the row is gone
	version uint64 // of a link; 0: unknown until it is acknowledged
	hits    *hits  // of a link that exists

	by string // its name in the audit log

	begun, acked int64 // by the ledger's clock; acked is 0 until it is acknowledged
	refused      bool  // it did not happen and will not
}

// ledger holds which changes were asked for and which were acknowledged, row by row. A row is the
// code of a link or the key of a row of accounts.
type ledger struct {
	mu    sync.Mutex
	clock int64
	rows  map[string][]*attempt
	drawn []*attempt          // creations whose code is unknown
	links map[uint64]*hits    // by id
	named map[string]*attempt // by their name in the audit log: all that may have an entry
}

func newLedger() *ledger {
	return &ledger{rows: make(map[string][]*attempt), links: make(map[uint64]*hits), named: make(map[string]*attempt)}
}

// tick returns a moment: everything that was begun or acknowledged before it has a smaller number.
func (l *ledger) tick() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clock++
	return l.clock
}

// begin notes a change that is about to be asked for. The row "" is a link whose code is not drawn
// yet.
func (l *ledger) begin(a attempt) *attempt {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clock++
	a.begun, a.by = l.clock, fmt.Sprint(l.clock)
	l.named[a.by] = &a
	if a.row == "" {
		l.drawn = append(l.drawn, &a)
	} else {
		l.rows[a.row] = append(l.rows[a.row], &a)
	}
	return &a
}

// acknowledge notes that a has happened. row, version and id are set now if they were unknown
// before.
func (l *ledger) acknowledge(a *attempt, row string, version, id uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clock++
	a.acked, a.version = l.clock, version
	if a.row == "" {
		a.row = row
		l.rows[row] = append(l.rows[row], a)
	}
	if a.hits != nil {
		a.hits.id.Store(id)
		l.links[id] = a.hits
	}
}

func (l *ledger) refuse(a *attempt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a.refused = true
}

// gone is the state of a row before any change.
var gone = new(attempt)

// candidates returns the states that a row may have after a crash between two moments: the last
// state that was acknowledged before it, and every change that was under way. If two changes were
// under way together, the ledger does not know which came last.
func (l *ledger) candidates(row string, from, to int64) (may []*attempt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.rows[row] {
		if !a.refused && a.begun < to && (a.acked == 0 || a.acked >= from) {
			may = append(may, a)
		}
	}
	return append(may, l.lastLocked(row, from)...)
}

// lastLocked returns the changes that were acknowledged before a moment, except those followed by
// one that was begun later and acknowledged.
func (l *ledger) lastLocked(row string, before int64) (last []*attempt) {
	newest := int64(0) // when the last of these changes was begun
	for _, a := range l.rows[row] {
		if a.acked != 0 && a.acked < before {
			newest = max(newest, a.begun)
		}
	}
	for _, a := range l.rows[row] {
		if a.acked != 0 && a.acked < before && a.acked >= newest {
			last = append(last, a)
		}
	}
	if last == nil {
		return []*attempt{gone}
	}
	return last
}

// nameless returns a creation whose code was not known when the crash came and that may have made
// the link with this state.
func (l *ledger) nameless(state string) *attempt {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.drawn {
		if a.state == state && !a.refused {
			return a
		}
	}
	return nil
}

func (l *ledger) names() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	names := make([]string, 0, len(l.rows))
	for row := range l.rows {
		names = append(names, row)
	}
	slices.Sort(names)
	return names
}

// found is the state of a row after a crash.
type found struct {
	state   string
	version uint64
	id      uint64
	hits    *hits

	counted, unique uint64
}

// settle restarts the ledger with the rows that were found: they were read, so they are durable.
func (l *ledger) settle(rows map[string]found) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drawn = nil
	clear(l.rows)
	clear(l.links)
	for row, f := range rows {
		if f.hits != nil {
			f.hits.recovered(f.counted, f.unique)
		}
		l.clock++
		l.rows[row] = []*attempt{{row: row, state: f.state, version: f.version, hits: f.hits, begun: l.clock, acked: l.clock}}
		if f.hits != nil {
			f.hits.id.Store(f.id)
			l.links[f.id] = f.hits
		}
	}
}

// last returns the state that a row was last acknowledged to have, or gone if that is not certain.
func (l *ledger) last(row string) *attempt {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last := l.lastLocked(row, l.clock+1); len(last) == 1 {
		return last[0]
	}
	return gone
}

// latest returns the last state that a row got, or may have got, by steps that came one after the
// other. A creation of unknown outcome has happened if a later step finds its link; a deletion of
// unknown outcome has not.
func (l *ledger) latest(row string) *attempt {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range slices.Backward(l.rows[row]) {
		if !a.refused && (a.acked != 0 || a.hits != nil) {
			return a
		}
	}
	return gone
}

// knows reports whether any change of a row was asked for by its name.
func (l *ledger) knows(row string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.rows[row]) > 0
}

// durable notes hits that a flush has committed.
func (l *ledger) durable(flushed map[uint64]uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, n := range flushed {
		if h := l.links[id]; h != nil {
			h.durable.Add(n)
		}
	}
}

// figures returns the figures of all links at this moment.
func (l *ledger) figures() map[*hits]figures {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make(map[*hits]figures, len(l.links))
	for _, h := range l.links {
		all[h] = h.figures()
	}
	return all
}

// hits are the hits of one link, by at most 64 visitors.
type hits struct {
	sent, answered, durable   atomic.Uint64
	sentVisitors, allVisitors atomic.Uint64 // one bit per visitor: of hits sent, and of hits answered
	id                        atomic.Uint64 // once it is known
	limit                     uint64        // the cap, which never changes; 0: no cap
}

// figures are the hits of a link at one moment.
type figures struct {
	sent, answered, durable   uint64
	sentVisitors, allVisitors uint64
}

func (h *hits) figures() figures {
	f := figures{durable: h.durable.Load(), answered: h.answered.Load(), allVisitors: h.allVisitors.Load()}
	f.sent, f.sentVisitors = h.sent.Load(), h.sentVisitors.Load()
	if h.limit != 0 {
		f.sent = min(f.sent, h.limit)
	}
	return f
}

// hit counts a redirect by a visitor from 0 to 63. do makes it.
func (h *hits) hit(visitor int, do func() bool) {
	h.sent.Add(1)
	h.sentVisitors.Or(1 << visitor)
	if do() {
		h.allVisitors.Or(1 << visitor)
		h.answered.Add(1)
	}
}

// recovered restarts the counts with the hits that were found.
func (h *hits) recovered(n, visitors uint64) {
	h.sent.Store(n)
	h.answered.Store(n)
	h.durable.Store(n)
	if uint64(bits.OnesCount64(h.sentVisitors.Load())) == visitors { // else the visitors are unknown: none can be missing
		h.allVisitors.Store(h.sentVisitors.Load())
	} else {
		h.allVisitors.Store(0)
	}
}

func TestTheLedgerFollowsStepsOfUnknownOutcome(t *testing.T) {
	l := newLedger()
	unknown := l.begin(attempt{row: "x", state: "made", hits: new(hits)})
	expect.Equal(t, l.latest("x"), unknown, "after a creation of unknown outcome")
	l.begin(attempt{row: "x"})
	expect.Equal(t, l.latest("x"), unknown, "after a deletion of unknown outcome")
	deleted := l.begin(attempt{row: "x"})
	l.acknowledge(deleted, "x", 0, 0)
	expect.Equal(t, l.latest("x"), deleted, "after a deletion")
	l.refuse(l.begin(attempt{row: "x", state: "again", hits: new(hits)}))
	expect.Equal(t, l.latest("x"), deleted, "after a creation that was refused")
}
