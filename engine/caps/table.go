package caps

import (
	"sync"
	"sync/atomic"
)

// Table is the caps of this node: what it may admit, and what it must tell the leader. Any goroutine may
// call its methods. Take and Left take no lock but that of a look-up.
type Table struct {
	mu   sync.RWMutex
	caps map[uint64]*entry // by link

	asking struct {
		sync.Mutex
		links map[uint64]string // that the leader must hear of; with the code, if this node has no row of it
	}
	wake chan struct{} // has room for one: asking is not empty any more

	self    Session
	again   int          // of Load
	holding atomic.Int64 // links of which left is not 0
}

// entry is a link's cap. left is changed by anybody; the rest by who holds mu.
type entry struct {
	left   atomic.Uint64 // hits that this node may still admit
	low    atomic.Uint64 // when so many are left, it asks for more
	asked  atomic.Bool   // it is in Table.asking
	spent  atomic.Bool
	exists bool // there is a row

	mu       sync.Mutex
	cap      Cap
	granted  uint64 // what this node may have admitted in all, in the generation; so used is granted - left
	believes uint64 // the serial of the last report that released hits: earlier rows are not believed
	ended    bool   // this node has ended the generation before
	lastUsed uint64 // at the last look for hits to give back
	looked   bool   // there was one in this generation
}

// Init makes an empty table, for the process with that session.
func (t *Table) Init(node NodeID, session uint64) {
	t.caps, t.asking.links, t.wake = make(map[uint64]*entry), make(map[uint64]string), make(chan struct{}, 1)
	t.self = Session{Node: node, Number: session}
}

// Use is how many hits of a generation this node has admitted and stored.
type Use struct{ Generation, Hits uint64 }

// Load adds the cap of a link, of which the store has use.
func (t *Table) Load(id uint64, c Cap, use Use) {
	e := &entry{exists: true}
	e.begin(&c)
	if use.Generation == c.Generation {
		e.granted, e.ended = use.Hits, true
	}
	held := false
	if b := c.block(t.self.Node); b != nil { // also what a power cut took from the store
		e.granted = max(e.granted, b.Used)
		held = b.Granted > e.granted && !c.Spent
	}
	t.mu.Lock()
	t.caps[id] = e
	t.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	if held && t.again < maxAgain { // before the first redirect needs it
		t.again++
		t.ask(id, e)
	}
	t.settle(id, e)
}

// maxAgain bounds the blocks that a process asks for again because the one before it had them.
const maxAgain = 10000

// begin begins a generation without any hits.
func (e *entry) begin(c *Cap) {
	e.cap, e.granted, e.believes, e.ended, e.looked = *c, 0, 0, c.Born, false
	e.spent.Store(c.Spent)
}

func (t *Table) find(id uint64) *entry {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.caps[id]
}

// Put makes c the cap of a link. When it returns, this node admits no hit of an earlier generation.
func (t *Table) Put(id uint64, c Cap) {
	t.mu.Lock()
	e := t.caps[id]
	if e == nil {
		e = &entry{}
		t.caps[id] = e
	}
	t.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.exists || e.cap.Generation != c.Generation {
		e.exists = true
		t.left(e, func(uint64) uint64 { return 0 })
		e.begin(&c)
	}
	e.cap = c
	e.spent.Store(c.Spent)
	t.settle(id, e)
}

// settle takes what the leader grants, and has the leader hear of a link if that is due. The caller holds e.mu.
func (t *Table) settle(id uint64, e *entry) {
	c := &e.cap
	if b := t.own(c); b != nil && e.ended && b.Serial >= e.believes && b.Granted > e.granted {
		more := b.Granted - e.granted
		e.granted = b.Granted
		e.low.Store(more / 2)
		t.left(e, func(left uint64) uint64 { return left + more })
	}
	if short := !c.Spent && c.Free() == 0 && e.left.Load() > 0; short || !e.ended || !c.Open {
		t.ask(id, e)
	}
}

// own returns the block of this process; nil if it has none.
func (t *Table) own(c *Cap) *Block {
	if b := c.block(t.self.Node); b != nil && b.Session == t.self.Number {
		return b
	}
	return nil
}

// left changes e.left.
func (t *Table) left(e *entry, change func(uint64) uint64) (before, after uint64) {
	for {
		before = e.left.Load()
		if after = change(before); before == after || e.left.CompareAndSwap(before, after) {
			break
		}
	}
	switch {
	case before == 0 && after > 0:
		t.holding.Add(1)
	case before > 0 && after == 0:
		t.holding.Add(-1)
	}
	return before, after
}

// Remove forgets the cap of a link.
func (t *Table) Remove(id uint64) {
	t.mu.Lock()
	e := t.caps[id]
	delete(t.caps, id)
	t.mu.Unlock()
	if e != nil {
		t.left(e, func(uint64) uint64 { return 0 })
	}
}

// Take reports whether this node may admit a hit of a link, and takes it from the block. code is that of
// the link. It allocates nothing unless the leader must hear of the link.
func (t *Table) Take(id uint64, code func() string) bool {
	e := t.find(id)
	if e == nil {
		t.askFor(id, code())
		return false
	}
	before, after := t.left(e, func(left uint64) uint64 { return left - min(left, 1) })
	if after <= e.low.Load() && !e.spent.Load() {
		t.ask(id, e)
	}
	return before != after
}

// May reports whether Take is worth a try, and tells the leader if it is not.
func (t *Table) May(id uint64, code func() string) bool {
	e := t.find(id)
	switch {
	case e == nil:
		t.askFor(id, code())
		return false
	case e.left.Load() > 0:
		return true
	case !e.spent.Load():
		t.ask(id, e)
	}
	return false
}

// Spent reports whether the leader says that the cap of a link is used up.
func (t *Table) Spent(id uint64) bool {
	e := t.find(id)
	return e != nil && e.spent.Load()
}

// Cap returns the cap of a link, whose blocks must not be changed; false: there is none.
func (t *Table) Cap(id uint64) (Cap, bool) {
	e := t.find(id)
	if e == nil {
		return Cap{}, false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.cap, true
}

// Each calls fn with all caps of one moment, in no order.
func (t *Table) Each(fn func(id uint64, c Cap)) {
	t.mu.RLock()
	ids := make([]uint64, 0, len(t.caps))
	for id := range t.caps {
		ids = append(ids, id)
	}
	t.mu.RUnlock()
	for _, id := range ids {
		if c, ok := t.Cap(id); ok {
			fn(id, c)
		}
	}
}

// Holding returns the number of links of whose cap this node has hits left.
func (t *Table) Holding() int { return int(t.holding.Load()) }

// maxAsking bounds the links of which the leader is yet to hear. What has no room asks again when it is
// followed again.
const maxAsking = 1 << 17

// ask has the leader hear of a link.
func (t *Table) ask(id uint64, e *entry) {
	if e.asked.Load() || e.asked.Swap(true) {
		return
	}
	if !t.askFor(id, "") {
		e.asked.Store(false)
	}
}

func (t *Table) askFor(id uint64, code string) bool {
	a := &t.asking
	a.Lock()
	defer a.Unlock()
	if _, waits := a.links[id]; waits {
		return true
	}
	if len(a.links) >= maxAsking {
		return false
	}
	a.links[id] = code
	select {
	case t.wake <- struct{}{}:
	default:
	}
	return true
}

// Wake returns a channel that has a value when the leader is to hear of a link.
func (t *Table) Wake() <-chan struct{} { return t.wake }

// take removes up to MaxReports links of which the leader must hear.
func (t *Table) take() map[uint64]string {
	a := &t.asking
	a.Lock()
	defer a.Unlock()
	if len(a.links) <= MaxReports {
		taken := a.links
		a.links = make(map[uint64]string)
		return taken
	}
	taken := make(map[uint64]string, MaxReports)
	for id, code := range a.links {
		if taken[id] = code; len(taken) == MaxReports {
			break
		}
	}
	for id := range taken {
		delete(a.links, id)
	}
	return taken
}
