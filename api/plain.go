package api

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/exchange"
	"shunt/api/redirect"
	"shunt/api/wire/http1"
	"shunt/engine"
)

// This file answers plain requests for codes, which wire has read without fasthttp. Redirects are
// written here; every other answer is fasthttp's, from the handler that fasthttp calls too.

// answerPlain appends the whole answer to r to out, with the bytes that fasthttp would send for
// handle's. It sets r.Closes if the connection must be closed after it. If it appends nothing,
// fasthttp must answer r, because it would read r in another way, because this edge is out of service, or because the
// answer waits: for the store, as long as links are loaded or for a card, or for another server, if the link has a cap
// or the code is not known. Then nothing is counted. A redirect takes no lock, allocates nothing and calls no
// interface.
func (f *front) answerPlain(out []byte, r *http1.Plain) []byte {
	if f.drain.Begun() {
		r.Closes = true
	}
	q := redirect.Request{
		KeyView:   engine.KeyView{Domain: f.domains.Of(r.Host), Code: r.Segment},
		Query:     r.Query,
		UserAgent: r.UserAgent,
		Referrer:  r.Referrer,
		Headers:   r.Raw,
		Country:   r.Country,
		Client:    r.Client,
		NowMs:     f.readAt(r),
		Safe:      true,
		Head:      r.Head,
		Prefetch:  r.Purposes != nil && redirect.IsPrefetch(r.Purposes),
		Quick:     true,
		Heads:     f.heads.of(r),
		Memo:      &r.Memo,
	}
	if f.refused != nil && f.refused() {
		return out // fasthttp's handler says why
	}
	if len(q.Query) > 0 {
		q.Query, q.Scan = redirect.TakeScan(q.Query)
	}
	start := len(out)
	d, out := f.redirects.Decide(out, &q)
	if d.Outcome == redirect.UnknownCode && f.domains.SettingsOf(q.Domain).Folds {
		q.Fold = true
		d, out = f.redirects.Decide(out, &q)
	}
	switch {
	case d.Outcome == redirect.Redirected:
	case d.Unread, d.Outcome == redirect.Carded: // a loop must not wait for the store; fasthttp's goroutine may
		d.Release()
		return out
	default:
		if f.absent != nil && d.Outcome == redirect.UnknownCode && f.absent.MayAsk(q.KeyView, time.UnixMilli(q.NowMs)) {
			return out // fasthttp's goroutine may wait
		}
		return f.missPlain(out, r, &q, d, redirect.Redirected)
	}
	out = append(out, "\r\nCache-Control: "...)
	out = d.AppendCacheControl(out)
	if r.Closes {
		out = append(out, "\r\nConnection: close"...)
	}
	out = append(out, "\r\n\r\n"...)
	switch o := f.redirects.Commit(d, &q); o {
	case redirect.Redirected:
	case redirect.MustAsk:
		return out[:start]
	default:
		return f.missPlain(out[:start], r, &q, d, o)
	}
	if f.access != nil {
		f.noteAccess(r, d.Status, 0)
	}
	return out
}

// readAt returns when the server read a plain request, in Unix milliseconds.
func (f *front) readAt(r *http1.Plain) int64 {
	if f.now != nil {
		return f.now().UnixMilli()
	}
	return r.NowMs
}

// missPlain appends the answer to a request that is not redirected, because of what was decided, or
// because Commit has refused it, with the outcome refused.
func (f *front) missPlain(out []byte, r *http1.Plain, q *redirect.Request, d redirect.Decision, refused redirect.Outcome) []byte {
	m := detach(r)
	if m.read(r) == nil {
		takeHost(&m.ctx, f.proxies)
		o := refused
		if d.Outcome != redirect.Redirected {
			o = f.redirects.Commit(d, q)
		}
		f.miss(&m.ctx, q, d, o, time.UnixMilli(q.NowMs))
		out = m.appendTo(out, r)
		if f.access != nil {
			f.noteAccess(r, m.ctx.Response.StatusCode(), len(m.ctx.Response.Body()))
		}
	}
	m.free()
	return out
}

// answerPanic logs a panic of answerPlain with cause, and appends the answer that recovered gives.
// It sets r.Closes.
func (f *front) answerPanic(out []byte, r *http1.Plain, cause any) []byte {
	f.panics.Log(cause, slog.Attr{})
	r.Closes = true
	m := detach(r)
	exchange.AnswerInternal(&m.ctx)
	out = m.appendTo(out, r)
	if f.access != nil {
		f.noteAccess(r, m.ctx.Response.StatusCode(), len(m.ctx.Response.Body()))
	}
	m.free()
	return out
}

// dated are the heads of redirects in one second.
type dated struct {
	second    int64 // Unix time
	get, head redirect.Heads
}

// datedHeads has the heads of redirects in the present second. Any number of goroutines may use it.
type datedHeads struct{ now atomic.Pointer[dated] }

// of returns the heads of an answer to r. A goroutine whose wake-up was in the second before gets the
// present one's too, so that two of them do not make heads in turn.
func (h *datedHeads) of(r *http1.Plain) *redirect.Heads {
	second := r.NowMs / 1000
	now := h.now.Load()
	if now == nil || uint64(now.second-second) > 1 {
		now = h.renew(second)
	}
	if r.Head {
		return &now.head
	}
	return &now.get
}

// renew makes the heads of a second.
func (h *datedHeads) renew(second int64) *dated {
	now := &dated{second: second}
	date := fasthttp.AppendHTTPDate([]byte("\r\nDate: "), time.Unix(second, 0))
	for i, status := range redirect.Statuses {
		start := fmt.Sprintf("HTTP/1.1 %d %s%s\r\n", status, fasthttp.StatusMessage(status), date)
		now.get[i] = []byte(start + "Content-Length: 0\r\nLocation: ")
		now.head[i] = []byte(start + "Location: ") // to HEAD, fasthttp gives no length of an empty body
	}
	h.now.Store(now)
	return now
}
