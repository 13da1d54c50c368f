package loop

import (
	"net"
	"sync"
	"sync/atomic"

	"shunt/api/wire/conns"
)

// A Use is what loops need of the server that uses them.
type Use struct {
	Door     Door
	Outlived bool // see Group.Outlived

	// TakeOver serves c, the connection of r, from now on, after the bytes that the loop has read ahead.
	TakeOver func(c net.Conn, r *conns.Row, ahead []byte)

	// Refusal appends the answer to a request that could not be read because of err.
	Refusal func(out []byte, err error) []byte

	// Fail ends serving, because no connection can be accepted.
	Fail func(cause error)
}

// Loops are the event loops of a listener. A nil *loops has none.
type Loops struct {
	Use
	t    *conns.Table
	ln   net.Listener
	each []*loop
	left atomic.Int32  // loops that still accept
	done chan struct{} // closed when none accepts any more, and the socket is closed
}

// Beat reports whether every loop has taken the order of the last call, or waits in the kernel for
// something that is not ours, and gives the next.
func (ls *Loops) Beat() (all bool) {
	all = true
	if ls != nil {
		for _, lp := range ls.each {
			if lp.inbox.Has(conns.Order{Kind: conns.Beat}) {
				all = all && lp.waitsForKernel()
			} else {
				lp.inbox.Put(conns.Order{Kind: conns.Beat})
			}
		}
	}
	return all
}

// Run starts the loops.
func (ls *Loops) Run() *sync.WaitGroup {
	running := new(sync.WaitGroup)
	if ls != nil {
		for _, lp := range ls.each {
			running.Go(lp.run)
		}
	}
	return running
}

// AwaitClosed waits until no loop accepts any more.
func (ls *Loops) AwaitClosed() {
	if ls != nil {
		<-ls.done
	}
}

// Discard ends loops that have been told to accept no more, but have never run.
func (ls *Loops) Discard() error {
	if ls != nil {
		ls.t.TellAll(conns.End)
		ls.Run().Wait()
	}
	return nil
}

// Open returns the number of connections of each loop.
func (ls *Loops) Open() (each []int) {
	if ls == nil {
		return nil
	}
	for _, lp := range ls.each {
		each = append(each, int(lp.conns.Load()))
	}
	return each
}

// lightest returns the loop with the fewest connections.
func (ls *Loops) lightest() *loop {
	least := ls.each[0]
	for _, lp := range ls.each[1:] {
		if lp.conns.Load() < least.conns.Load() {
			least = lp
		}
	}
	return least
}

// PressedMs returns since when all loops are pressed, in Unix milliseconds; ok is false if one is
// not. Without loops it returns 0.
func (ls *Loops) PressedMs() (latest int64, ok bool) {
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
