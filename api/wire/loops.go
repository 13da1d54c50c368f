package wire

import (
	"slices"
	"sync"
	"sync/atomic"
)

// loops are the event loops of a listener. A nil *loops has none.
type loops struct {
	each []*loop
	left atomic.Int32  // loops that still accept
	done chan struct{} // closed when none accepts any more, and the socket is closed
}

// An order tells a loop what to do, with a connection that it owns or with all. The row may have
// changed hands since the order was given, so the loop checks first.
type order struct {
	kind orderKind
	row  *row // nil: all
}

type orderKind uint8

const (
	judge      orderKind = iota // end the connection if it has taken too long
	evict                       // close it if it was chosen for eviction
	silence                     // close it if it has never sent a byte
	adopt                       // own it from now on
	accept                      // try to accept again: there may be a slot
	stopAccept                  // accept what waits, and then no more
	closeKept                   // close connections whose requests are all answered
	closeIdle                   // close idle connections, and all others once nothing is under way
	closeAll                    // close every connection
	beat                        // nothing: the loop shows that it runs by taking the order
	end                         // close every connection and end
)

// maxOrders bounds the orders of a loop that the sweep and the drain repeat. Those beyond are dropped.
// Each connection has at most one of the other orders.
const maxOrders = 2 * MaxConnections

// An inbox has the orders of a loop, and wakes it.
type inbox struct {
	mu     sync.Mutex
	orders []order
	wake   func() // called with mu held; nil: the loop has ended
}

func (b *inbox) put(o order) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, repeated := len(b.orders), o.kind == judge || o.kind == silence
	if b.wake == nil || repeated && n >= maxOrders || o.kind == accept && n > 0 && b.orders[n-1] == o {
		return
	}
	if b.orders = append(b.orders, o); len(b.orders) == 1 {
		b.wake()
	}
}

// take returns the orders and leaves the memory of spare to the next ones.
func (b *inbox) take(spare []order) []order {
	b.mu.Lock()
	defer b.mu.Unlock()
	orders := b.orders
	b.orders = spare[:0]
	return orders
}

// tell gives an order to the loop with that number. Other owners of rows have no inbox.
func (ls *loops) tell(number int32, kind orderKind, r *row) {
	if ls != nil && number >= 0 {
		ls.each[number].inbox.put(order{kind, r})
	}
}

// tellAll gives every loop an order about all connections.
func (ls *loops) tellAll(kind orderKind) {
	if ls == nil {
		return
	}
	for i := range ls.each {
		ls.tell(int32(i), kind, nil)
	}
}

// beat reports whether every loop has taken the order of the last call, or waits in the kernel for
// something that is not ours, and gives the next.
func (ls *loops) beat() (all bool) {
	all = true
	if ls != nil {
		for _, lp := range ls.each {
			if lp.inbox.has(order{kind: beat}) {
				all = all && lp.waitsForKernel()
			} else {
				lp.inbox.put(order{kind: beat})
			}
		}
	}
	return all
}

// has reports whether o waits.
func (b *inbox) has(o order) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Contains(b.orders, o)
}

// run starts the loops.
func (ls *loops) run() *sync.WaitGroup {
	running := new(sync.WaitGroup)
	if ls != nil {
		for _, lp := range ls.each {
			running.Go(lp.run)
		}
	}
	return running
}

// awaitClosed waits until no loop accepts any more.
func (ls *loops) awaitClosed() {
	if ls != nil {
		<-ls.done
	}
}

// discard ends loops that have been told to accept no more, but have never run.
func (ls *loops) discard() error {
	if ls != nil {
		ls.tellAll(end)
		ls.run().Wait()
	}
	return nil
}

// open returns the number of connections of each loop.
func (ls *loops) open() (each []int) {
	if ls == nil {
		return nil
	}
	for _, lp := range ls.each {
		each = append(each, int(lp.conns.Load()))
	}
	return each
}

// lightest returns the loop with the fewest connections.
func (ls *loops) lightest() *loop {
	least := ls.each[0]
	for _, lp := range ls.each[1:] {
		if lp.conns.Load() < least.conns.Load() {
			least = lp
		}
	}
	return least
}

// pressedMs returns since when all loops are pressed, in Unix milliseconds; ok is false if one is
// not. Without loops it returns 0.
func (ls *loops) pressedMs() (latest int64, ok bool) {
	if ls == nil {
		return 0, true
	}
	for _, lp := range ls.each {
		since := lp.pressedMs.Load()
		if since == 0 {
			return 0, false
		}
		latest = max(latest, since)
	}
	return latest, true
}
