package crashtest

import (
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// attempt is one thing that a row was asked to become.
type attempt struct {
	row     string
	state   string // what it shows of itself; "" is gone
	version uint64 // of a link; 0: not known before it is acknowledged
	hits    *hits  // of a link that is there

	begun, acked int64 // by the ledger's clock; acked is 0 until it is
	refused      bool  // it has not happened and will not
}

// ledger is what was asked for and what was acknowledged, row by row. A row is a link's code or the
// key of an account.
type ledger struct {
	mu    sync.Mutex
	clock int64
	rows  map[string][]*attempt
	drawn []*attempt       // creations that have no code yet
	links map[uint64]*hits // by id
}

func newLedger() *ledger {
	return &ledger{rows: make(map[string][]*attempt), links: make(map[uint64]*hits)}
}

// tick returns a moment: whatever was begun or acknowledged before it has a smaller number.
func (l *ledger) tick() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clock++
	return l.clock
}

// begin notes what is about to be asked for. A row "" is a link whose code is not drawn yet.
func (l *ledger) begin(a attempt) *attempt {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clock++
	a.begun = l.clock
	if a.row == "" {
		l.drawn = append(l.drawn, &a)
	} else {
		l.rows[a.row] = append(l.rows[a.row], &a)
	}
	return &a
}

// acknowledge notes that a has happened. What is known of a link only now comes along.
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

// gone is what a row is before anything was asked of it.
var gone = new(attempt)

// candidates returns what a row may be after a crash between two moments: what was acknowledged
// last before it, and what was under way. Of two that were under way together the ledger does not
// know which came last.
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

// lastLocked returns what was acknowledged before a moment and not followed by what was begun, and
// acknowledged, after it.
func (l *ledger) lastLocked(row string, before int64) (last []*attempt) {
	newest := int64(0) // when the last of them all was begun
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

// nameless returns the creation under way that row may be the outcome of: its code was not known
// when the crash came.
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

// found is what a row turned out to be after a crash.
type found struct {
	state   string
	version uint64
	id      uint64
	hits    *hits

	counted, unique uint64
}

// settle begins the ledger again with what was found: it is durable, since it was seen.
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

// last returns what a row was last acknowledged to be; gone if that is not certain.
func (l *ledger) last(row string) *attempt {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last := l.lastLocked(row, l.clock+1); len(last) == 1 {
		return last[0]
	}
	return gone
}

// latest returns what a row was last made by steps that came one after the other, or may have been:
// a creation whose outcome stayed unknown has happened if a later step finds its link, and a
// deletion has not.
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

// knows reports whether anything was asked of a row by its name.
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

// figures returns those of all links at this moment.
func (l *ledger) figures() map[*hits]figures {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make(map[*hits]figures, len(l.links))
	for _, h := range l.links {
		all[h] = h.figures()
	}
	return all
}

// hits are a link's, of at most 64 visitors.
type hits struct {
	sent, answered, durable   atomic.Uint64
	sentVisitors, allVisitors atomic.Uint64 // a bit each: of hits sent, and answered
	id                        atomic.Uint64 // once it is known
	limit                     uint64        // the cap; 0: none. It never changes
}

// figures are hits at a moment.
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

// hit counts a redirect by a visitor from 0 to 63, which do makes.
func (h *hits) hit(visitor int, do func() bool) {
	h.sent.Add(1)
	h.sentVisitors.Or(1 << visitor)
	if do() {
		h.allVisitors.Or(1 << visitor)
		h.answered.Add(1)
	}
}

// recovered begins again with what was found.
func (h *hits) recovered(n, visitors uint64) {
	h.sent.Store(n)
	h.answered.Store(n)
	h.durable.Store(n)
	if uint64(bits.OnesCount64(h.sentVisitors.Load())) == visitors { // else who they are is not known: nobody is missed
		h.allVisitors.Store(h.sentVisitors.Load())
	} else {
		h.allVisitors.Store(0)
	}
}

func TestTheLedgerFollowsStepsOfUnknownOutcome(t *testing.T) {
	l := newLedger()
	unknown := l.begin(attempt{row: "x", state: "made", hits: new(hits)})
	if got := l.latest("x"); got != unknown {
		t.Errorf("after a creation of unknown outcome: got %+v", got)
	}
	l.begin(attempt{row: "x"})
	if got := l.latest("x"); got != unknown {
		t.Errorf("after a deletion of unknown outcome: got %+v", got)
	}
	deleted := l.begin(attempt{row: "x"})
	l.acknowledge(deleted, "x", 0, 0)
	if got := l.latest("x"); got != deleted {
		t.Errorf("after a deletion: got %+v", got)
	}
	l.refuse(l.begin(attempt{row: "x", state: "again", hits: new(hits)}))
	if got := l.latest("x"); got != deleted {
		t.Errorf("after a creation that was refused: got %+v", got)
	}
}
