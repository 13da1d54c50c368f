package conns

import (
	"slices"
	"sync"
)

// This file is the orders that the loops of a listener get from others: whatever concerns a connection is done by its
// owner.

// An Order tells a loop what to do, with a connection that it owns or with all. The row may have
// changed hands since the order was given, so the loop checks first.
type Order struct {
	Kind OrderKind
	Row  *Row // nil: all
}

// An OrderKind is what an order asks for.
type OrderKind uint8

const (
	Judge      OrderKind = iota // end the connection if it has taken too long
	Evict                       // close it if it was chosen for eviction
	Silence                     // close it if it has never sent a byte
	Adopt                       // own it from now on
	Accept                      // try to accept again: there may be a slot
	StopAccept                  // accept what waits, and then no more
	CloseKept                   // close connections whose requests are all answered
	CloseIdle                   // close idle connections, and all others once nothing is under way
	CloseAll                    // close every connection
	Beat                        // nothing: the loop shows that it runs by taking the order
	End                         // close every connection and end
)

// maxOrders bounds the orders of a loop that the sweep and the drain repeat. Those beyond are dropped.
// Each connection has at most one of the other orders.
const maxOrders = 2 * MaxConnections

// An Inbox has the orders of a loop, and wakes it.
type Inbox struct {
	mu     sync.Mutex
	orders []Order
	wake   func() // called with mu held; nil: the loop has ended
}

// Put gives an order, unless the loop has ended, or has been given the same already.
func (b *Inbox) Put(o Order) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, repeated := len(b.orders), o.Kind == Judge || o.Kind == Silence
	if b.wake == nil || repeated && n >= maxOrders || o.Kind == Accept && n > 0 && b.orders[n-1] == o {
		return
	}
	if b.orders = append(b.orders, o); len(b.orders) == 1 {
		b.wake()
	}
}

// Take returns the orders and leaves the memory of spare to the next ones.
func (b *Inbox) Take(spare []Order) []Order {
	b.mu.Lock()
	defer b.mu.Unlock()
	orders := b.orders
	b.orders = spare[:0]
	return orders
}

// Has reports whether o waits.
func (b *Inbox) Has(o Order) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Contains(b.orders, o)
}

// Open makes wake wake the loop for each first order.
func (b *Inbox) Open(wake func()) { b.wake = wake }

// Shut drops the orders that come. wake is not called any more.
func (b *Inbox) Shut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wake = nil
}
