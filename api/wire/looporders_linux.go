package wire

import (
	"bytes"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/valyala/fasthttp"
)

// This file is the orders that a loop carries out: from the sweep, from another loop, or because the server
// stops.

// obey carries out the orders that have come.
func (lp *loop) obey() {
	orders := lp.inbox.take(lp.spare)
	for _, o := range orders {
		if o.row == nil {
			lp.obeyAll(o.kind)
		} else if o.row.owner.Load() == lp.number {
			lp.obeyOne(o.kind, o.row)
		}
	}
	clear(orders)
	lp.spare = orders
}

func (lp *loop) obeyAll(kind orderKind) {
	switch kind {
	case accept:
		lp.acceptAll()
	case stopAccept:
		lp.stopAccepting()
	case closeKept:
		lp.eachOwned(lp.closeKept)
	case closeIdle:
		lp.closing = true
		lp.closeOwned(func(r *row) bool {
			_, busy := r.noted()
			return !busy || !r.heard() || r.flags&flagLingers != 0
		})
		lp.eachOwned(func(r *row) {
			if r.inHead() { // fasthttp waits for the rest of it
				lp.handOver(r, r.rest.in)
			}
		})
	case closeAll:
		lp.closeOwned(func(*row) bool { return true })
	case end:
		lp.ended = true
	}
}

func (lp *loop) obeyOne(kind orderKind, r *row) {
	switch kind {
	case adopt:
		lp.adopt(r)
	case judge:
		lp.judge(r)
	case silence:
		if !r.heard() {
			lp.close(r)
		}
	case evict:
		if lp.l.confirmEviction(r) {
			lp.close(r)
		}
	}
}

// closeKept closes the connection of r if it has been answered and waits for another request. One that
// has come meanwhile is answered first; in a drain, that answer is the last.
func (lp *loop) closeKept(r *row) {
	if !lp.isKept(r) {
		return
	}
	if lp.live(r); lp.isKept(r) {
		lp.close(r)
	}
}

// isKept reports whether every request on r is answered, and there was one.
func (lp *loop) isKept(r *row) bool {
	_, busy := r.noted()
	return r.owner.Load() == lp.number && !busy && r.heard() && r.flags&flagLingers == 0
}

// adopt makes epoll report what comes on r, which another loop has accepted.
func (lp *loop) adopt(r *row) {
	if r.flags&flagRegistered != 0 {
		return // the order was about the connection that had the row before
	}
	if _, busy := r.noted(); lp.closing && !busy {
		lp.close(r)
		return
	}
	if !epollControl(lp.epoll, unix.EPOLL_CTL_ADD, int(r.fd), unix.EPOLLIN, int32(r.number)) {
		lp.close(r)
		return
	}
	r.flags |= flagRegistered
}

// judge ends the connection of r if it has taken too long.
func (lp *loop) judge(r *row) {
	switch lp.l.patience.judge(r, int64(r.moved.Load())<<10, lp.l.seconds.Load(), time.Duration(lp.l.first.Load())) {
	case idle:
		lp.l.limits.Counts.Idle.Add(1)
		lp.close(r)
	case late:
		if r.flags&flagLingers != 0 {
			lp.close(r)
		} else if r.inHead() {
			lp.refuseLate(r)
		}
	case dead:
		lp.l.limits.Counts.Late.Add(1)
		lp.reset(r)
	}
}

// refuseLate answers a head that does not come to its end with a 408. Bytes of the head may come
// after all.
func (lp *loop) refuseLate(r *row) {
	lp.out = lp.g.appendRefusal(lp.out[:0], os.ErrDeadlineExceeded)
	if _, errno := sendNow(r.fd, lp.out); errno != 0 {
		lp.close(r)
		return
	}
	lp.linger(r)
}

// appendRefusal appends the answer to a request that could not be read because of err.
func (g *Group) appendRefusal(out []byte, err error) []byte {
	var ctx fasthttp.RequestCtx
	ctx.Init2(nil, silent{}, true)
	ctx.Response.Header.SetNoDefaultContentType(true)
	g.refuseUnread(&ctx, err)
	ctx.SetConnectionClose()
	w := bytes.NewBuffer(out)
	_, _ = ctx.Response.WriteTo(w) // a Buffer never fails
	return w.Bytes()
}

// owned returns the rows that belong to the loop.
func (lp *loop) owned() (rows []*row) {
	lp.l.mu.Lock()
	defer lp.l.mu.Unlock()
	lp.l.mu.all(func(r *row) {
		if r.owner.Load() == lp.number {
			rows = append(rows, r)
		}
	})
	return rows
}

func (lp *loop) eachOwned(visit func(r *row)) {
	for _, r := range lp.owned() {
		visit(r)
	}
}

// closeOwned closes the connections that which selects.
func (lp *loop) closeOwned(which func(r *row) bool) {
	lp.eachOwned(func(r *row) {
		if which(r) {
			lp.close(r)
		}
	})
}
