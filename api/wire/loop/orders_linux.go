package loop

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"shunt/api/wire/conns"
)

// This file is the orders that a loop carries out: from the sweep, from another loop, or because the server
// stops.

// obey carries out the orders that have come.
func (lp *loop) obey() {
	orders := lp.inbox.Take(lp.spare)
	for _, o := range orders {
		if o.Row == nil {
			lp.obeyAll(o.Kind)
		} else if o.Row.Owner.Load() == lp.number {
			lp.obeyOne(o.Kind, o.Row)
		}
	}
	clear(orders)
	lp.spare = orders
}

func (lp *loop) obeyAll(kind conns.OrderKind) {
	switch kind {
	case conns.Accept:
		lp.acceptAll()
	case conns.StopAccept:
		lp.stopAccepting()
	case conns.CloseKept:
		lp.eachOwned(lp.closeKept)
	case conns.CloseIdle:
		lp.closing = true
		lp.closeOwned(func(r *conns.Row) bool {
			_, busy := r.Noted()
			return !busy || !r.Heard() || r.Flags&flagLingers != 0
		})
		lp.eachOwned(func(r *conns.Row) {
			if r.InHead() { // fasthttp waits for the rest of it
				lp.handOver(r, r.Rest.In)
			}
		})
	case conns.CloseAll:
		lp.closeOwned(func(*conns.Row) bool { return true })
	case conns.End:
		lp.ended = true
	}
}

func (lp *loop) obeyOne(kind conns.OrderKind, r *conns.Row) {
	switch kind {
	case conns.Adopt:
		lp.adopt(r)
	case conns.Judge:
		lp.judge(r)
	case conns.Silence:
		if !r.Heard() {
			lp.close(r)
		}
	case conns.Evict:
		if lp.t.ConfirmEviction(r) {
			lp.close(r)
		}
	}
}

// CloseKept closes the connection of r if it has been answered and waits for another request. One that
// has come meanwhile is answered first; in a drain, that answer is the last.
func (lp *loop) closeKept(r *conns.Row) {
	if !lp.isKept(r) {
		return
	}
	if lp.live(r); lp.isKept(r) {
		lp.close(r)
	}
}

// isKept reports whether every request on r is answered, and there was one.
func (lp *loop) isKept(r *conns.Row) bool {
	_, busy := r.Noted()
	return r.Owner.Load() == lp.number && !busy && r.Heard() && r.Flags&flagLingers == 0
}

// adopt makes epoll report what comes on r, which another loop has accepted.
func (lp *loop) adopt(r *conns.Row) {
	if r.Flags&flagRegistered != 0 {
		return // the order was about the connection that had the row before
	}
	if _, busy := r.Noted(); lp.closing && !busy {
		lp.close(r)
		return
	}
	if !epollControl(lp.epoll, unix.EPOLL_CTL_ADD, int(r.FD), unix.EPOLLIN, int32(r.Number)) {
		lp.close(r)
		return
	}
	r.Flags |= flagRegistered
}

// judge ends the connection of r if it has taken too long.
func (lp *loop) judge(r *conns.Row) {
	switch lp.t.Patience.Judge(r, int64(r.Moved.Load())<<10, lp.t.Seconds.Load(), time.Duration(lp.t.First.Load())) {
	case conns.Idle:
		lp.t.Limits.Counts.Idle.Add(1)
		lp.close(r)
	case conns.Late:
		if r.Flags&flagLingers != 0 {
			lp.close(r)
		} else if r.InHead() {
			lp.refuseLate(r)
		}
	case conns.Dead:
		lp.t.Limits.Counts.Late.Add(1)
		lp.reset(r)
	}
}

// refuseLate answers a head that does not come to its end with a 408. Bytes of the head may come
// after all.
func (lp *loop) refuseLate(r *conns.Row) {
	lp.Out = lp.loops.Refusal(lp.Out[:0], os.ErrDeadlineExceeded)
	if _, errno := sendNow(r.FD, lp.Out); errno != 0 {
		lp.close(r)
		return
	}
	lp.linger(r)
}

// owned returns the rows that belong to the loop.
func (lp *loop) owned() (rows []*conns.Row) {
	lp.t.Each(func(r *conns.Row) {
		if r.Owner.Load() == lp.number {
			rows = append(rows, r)
		}
	})
	return rows
}

func (lp *loop) eachOwned(visit func(r *conns.Row)) {
	for _, r := range lp.owned() {
		visit(r)
	}
}

// closeOwned closes the connections that which selects.
func (lp *loop) closeOwned(which func(r *conns.Row) bool) {
	lp.eachOwned(func(r *conns.Row) {
		if which(r) {
			lp.close(r)
		}
	})
}
