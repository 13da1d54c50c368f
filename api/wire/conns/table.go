package conns

import (
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"shunt/api/turnstile"
)

// A Table is what a listener knows of its connections, whoever owns them. It limits how many there are and how long
// they take. This needs no deadline and no reading of the system's clock per request: a
// connection records when its state changed by the sweeper's own clock (one atomic store), and once
// a second the sweeper ends the connections that took too long. A byte now and then does not extend
// the time.
type Table struct {
	Patience Patience
	Limits   Limits
	age      func() time.Duration // since the table is there
	slots    chan struct{}        // each connection takes one, and so does an Accept under way
	Log      *slog.Logger
	Inboxes  []*Inbox // of the loops, by number; set before the first connection

	Seconds     atomic.Int64         // the sweeper's clock: seconds since it started; written by Sweep
	Large       *turnstile.Turnstile // places for large bodies
	Waiting     atomic.Int32         // Accepts and loops that wait for a slot
	Held        atomic.Int64         // bytes that loops keep for connections
	First       atomic.Int64         // how long a first head may take, in nanoseconds; written by Sweep
	fruitless   atomic.Int64         // the second in which EvictIdle last found nothing
	nextWarning atomic.Int64         // on the sweeper's clock; see WarnTrying
	joined      chan struct{}        // there is a connection again

	mu struct {
		sync.Mutex
		rows
		unswept   bool                       // the sweeper waits for a connection
		addresses map[netip.Addr]addressRows // those that are counted; see evict.go
	}
}

// An addressRows is the list of open connections of one address.
type addressRows struct {
	first uint16 // the number of a row
	n     int
}

// NewTable returns a table without connections. large has the places for large bodies.
func NewTable(lim Limits, p Patience, large *turnstile.Turnstile, log *slog.Logger) *Table {
	if lim.Counts == nil {
		lim.Counts = new(Counts)
	}
	t := &Table{Patience: p, Limits: lim, slots: make(chan struct{}, min(lim.Connections, MaxConnections)), Log: log, Large: large, joined: make(chan struct{}, 1)}
	t.fruitless.Store(-1)
	t.First.Store(int64(p.Head))
	begun := time.Now()
	t.age = func() time.Duration { return time.Since(begun) }
	t.mu.heads.networks = make(map[netip.Addr]*network)
	t.mu.addresses = make(map[netip.Addr]addressRows)
	return t
}

// TrySlot takes a slot if one is free.
func (t *Table) TrySlot() bool {
	select {
	case t.slots <- struct{}{}:
		return true
	default:
		return false
	}
}

// LeaveSlot gives a slot back.
func (t *Table) LeaveSlot() { <-t.slots }

// Open returns the number of open connections.
func (t *Table) Open() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.used
}

// A Usage is how much of a table is used at a moment: tests compare it with what must be left.
type Usage struct {
	Rows, Free, Made int // open connections, rows for more, both together
	Counted          int // connections that count for their address
	Addresses        int // those that have such connections
	Evicting         int // connections that were chosen for eviction
	Slots            int
	Waiting          int   // Accepts and loops without a slot
	Held             int64 // bytes
}

// Usage returns how much of the table is used.
func (t *Table) Usage() (u Usage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, of := range t.mu.addresses {
		u.Counted += of.n
	}
	u.Rows, u.Free, u.Made, u.Evicting = t.mu.used, len(t.mu.free), t.mu.made*rowsPerChunk, t.mu.evicting
	u.Addresses, u.Slots = len(t.mu.addresses), len(t.slots)
	u.Waiting, u.Held = int(t.Waiting.Load()), t.Held.Load()
	return u
}

// Each calls visit with every row, with the lock held.
func (t *Table) Each(visit func(r *Row)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.all(visit)
}

// At returns the row with that number. It takes no lock, because rows never move.
func (t *Table) At(number uint16) *Row { return t.mu.at(number) }

// EachServed calls visit with every connection that fasthttp owns, with the lock held.
func (t *Table) EachServed(visit func(c *Served)) {
	t.Each(func(r *Row) {
		if r.conn != nil {
			visit(r.conn)
		}
	})
}

// Tell gives an order to the loop with that number. Other owners of rows have no inbox.
func (t *Table) Tell(number int32, kind OrderKind, r *Row) {
	if number >= 0 && int(number) < len(t.Inboxes) {
		t.Inboxes[number].Put(Order{kind, r})
	}
}

// TellAll gives every loop an order about all connections.
func (t *Table) TellAll(kind OrderKind) {
	for i := range t.Inboxes {
		t.Tell(int32(i), kind, nil)
	}
}
