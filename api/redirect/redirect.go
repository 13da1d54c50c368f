package redirect

import (
	"bytes"
	"net/netip"
	"strconv"
	"time"

	"shunt/api/visitor"
	"shunt/engine"
)

// maxLocationBytes bounds a target together with the query that is added to it.
const maxLocationBytes = engine.MaxTargetBytes

// A Request is what a redirect needs of an HTTP request. Its slices are read during Answer only.
type Request struct {
	Code      []byte
	Query     []byte // what follows the first '?', without it
	UserAgent []byte
	Referrer  []byte // the Referer header
	Country   []byte // the country's code, if a trusted proxy says one
	Client    netip.Addr
	NowMs     int64
	Safe      bool // GET or HEAD: what every link redirects
	Head      bool
	Prefetch  bool // see IsPrefetch
}

// An Answer is what to send. Its slices alias the buffer given to Redirector.Answer, or are
// constants.
type Answer struct {
	Outcome      Outcome
	Status       int // with Redirected
	Location     []byte
	CacheControl []byte
}

// A Redirector answers requests for codes. Everything in it is read-only or atomic, or has a lock
// of its own, so any number of goroutines may use it.
type Redirector struct {
	engine    *engine.Engine
	k0, k1    uint64 // the visitor key
	agents    *visitor.Agents
	countries *visitor.Countries // nil: no country is known
	blocks    *engine.BlockList  // nil: nothing is blocked
	counts    *counts
	missed    *misses // has a lock of its own; only unknown codes take it
}

// New returns a Redirector for the links of e. countries and blocks may be nil. The count of misses
// starts at now.
func New(e *engine.Engine, countries *visitor.Countries, blocks *engine.BlockList, now time.Time) *Redirector {
	k0, k1 := e.VisitorKey()
	return &Redirector{
		engine: e, k0: k0, k1: k1, agents: new(visitor.Agents), countries: countries, blocks: blocks,
		counts: new(counts), missed: newMisses(now),
	}
}

// NeverStore is the Cache-Control of an answer that must be asked for again each time.
var NeverStore = []byte("private, no-store")

var storeBriefly = []byte("private, max-age=90")

const storeBrieflySeconds = 90

// Answer decides what a request for a code gets, and counts it. It appends the bytes of the
// answer's slices to buf and returns the grown buffer for reuse. It does no I/O and takes no lock,
// except to count an unknown code. It allocates nothing if buf is large enough and User-Agent and
// referrer were seen before.
func (r *Redirector) Answer(buf []byte, q *Request) (Answer, []byte) {
	if !r.engine.Ready() {
		return r.miss(StillLoading), buf
	}
	l, ok := r.engine.Resolve(q.Code)
	if !ok {
		return r.unknown(q.Code), buf
	}
	a, buf := r.follow(buf, l, q)
	l.Release()
	return a, buf
}

// follow redirects along l, unless l or the request forbid it. Hit comes last, so that only what
// passes every other check counts; it decides Exhausted, because a cap must be exact.
func (r *Redirector) follow(buf []byte, l engine.Link, q *Request) (Answer, []byte) {
	status := l.Flags().RedirectStatus()
	if !q.Safe && status < 307 { // first: the method is wrong in every state of the link
		return r.miss(WrongMethod), buf
	}
	var query []byte
	if l.Flags()&engine.FlagForwardQuery != 0 {
		query = q.Query
	}
	buf = appendLocation(buf, l.Target(), query)
	if o := r.factsOf(l, buf, q.NowMs).Verdict(); o != Redirected {
		return r.miss(o), buf
	}
	if len(buf) > maxLocationBytes {
		return r.miss(LocationTooLong), buf
	}
	visit := r.visit(q)
	if !r.engine.Hit(l, visit) {
		return r.miss(Exhausted), buf
	}
	r.counts.redirected(status, visit.Visitor)
	a := Answer{Outcome: Redirected, Status: status, Location: buf}
	if status == 302 || status == 307 || l.Flags()&engine.FlagCapped != 0 {
		a.CacheControl = NeverStore
	} else {
		a.CacheControl, buf = appendMaxAge(buf, l.ExpiresAtMs(), q.NowMs)
	}
	return a, buf
}

// unknown counts a request for a code that no link has.
func (r *Redirector) unknown(code []byte) Answer {
	r.missed.add(code)
	return r.miss(UnknownCode)
}

func (r *Redirector) miss(o Outcome) Answer {
	r.counts.misses[o].Add(1)
	return Answer{Outcome: o}
}

// appendLocation appends target and query, which goes before target's fragment.
func appendLocation(buf, target, query []byte) []byte {
	if len(query) == 0 {
		return append(buf, target...)
	}
	head, fragment := target, []byte(nil)
	if i := bytes.IndexByte(head, '#'); i >= 0 {
		head, fragment = head[:i], head[i:]
	}
	buf = append(buf, head...)
	switch mark := bytes.IndexByte(head, '?'); {
	case mark < 0:
		buf = append(buf, '?')
	case mark < len(head)-1 && head[len(head)-1] != '&':
		buf = append(buf, '&')
	}
	return append(append(buf, query...), fragment...)
}

// appendMaxAge returns the Cache-Control of a permanent redirect. It may be cached briefly, so that
// an edit shows and most hits are counted, and never past its expiry. A redirect that must be asked
// for again each time, because it is temporary or each of its hits counts, has NeverStore.
func appendMaxAge(buf []byte, expiresAtMs, nowMs int64) (value, rest []byte) {
	left := (expiresAtMs - nowMs) / 1000
	if expiresAtMs == 0 || left >= storeBrieflySeconds {
		return storeBriefly, buf
	}
	start := len(buf)
	buf = strconv.AppendInt(append(buf, "private, max-age="...), left, 10)
	return buf[start:], buf
}
