package api

import (
	"bytes"
	"net/netip"
	"strconv"
	"sync/atomic"

	"shunt/api/visitor"
	"shunt/engine"
)

// The hot path. It knows nothing of fasthttp: front.go is one caller of it, and a cheaper front door can become another.

// maxLocationBytes bounds a target together with the query that is put onto it.
const maxLocationBytes = engine.MaxTargetBytes

// A request is what a redirect needs of an HTTP request. Its slices are read during answer only.
type request struct {
	code      []byte
	query     []byte // what follows the first '?', without it
	userAgent []byte
	referrer  []byte // the Referer header
	country   []byte // the country's code, if a trusted proxy says one
	client    netip.Addr
	nowMs     int64
	safe      bool // GET or HEAD: what every link redirects
	head      bool
	prefetch  bool // a header says that nobody looks at the answer yet
}

// An outcome is how a request for a code ends. It is the label reason of redirect_misses_total, if it is none.
type outcome uint8

const (
	redirected outcome = iota
	unknownCode
	expired
	exhausted
	stillLoading
	wrongMethod
	locationTooLong
	tooManyMisses // an unknown code, of a client who has asked for too many: front.go finds out
	targetBlocked
	numOutcomes
)

// An answer is what to send. Its slices alias the buffer given to answer, or are constants.
type answer struct {
	outcome      outcome
	status       int // with redirected
	location     []byte
	cacheControl []byte
}

// redirector answers requests for codes. Everything in it is read-only or atomic.
type redirector struct {
	engine    *engine.Engine
	k0, k1    uint64 // the visitor key
	agents    *visitor.Agents
	countries *visitor.Countries // nil: none are known
	blocks    *engine.BlockList  // nil: nothing is blocked
	counts    *redirectCounts
	missed    *misses // has locks of its own; only unknown codes take them
}

var (
	neverStore   = []byte("private, no-store")
	storeBriefly = []byte("private, max-age=90")
)

const storeBrieflySeconds = 90

// answer decides what a request for a code gets, and counts it. It appends to buf what the answer's slices need and
// returns it, so that it can be used again. It takes no lock, except to count an unknown code, and does no I/O; if buf is large enough, and User-Agent and
// referrer were seen before, it allocates nothing.
func (h *redirector) answer(buf []byte, r *request) (answer, []byte) {
	if !h.engine.Ready() {
		return h.miss(stillLoading), buf
	}
	l, ok := h.engine.Resolve(r.code)
	if !ok {
		return h.unknown(r.code), buf
	}
	a, buf := h.follow(buf, l, r)
	l.Release()
	return a, buf
}

// follow redirects along l, unless l or the request forbid it. Only what passes every other check counts as a hit.
func (h *redirector) follow(buf []byte, l engine.Link, r *request) (answer, []byte) {
	status := l.Flags().RedirectStatus()
	switch {
	case !r.safe && status < 307: // first: the method is wrong whatever has become of the link
		return h.miss(wrongMethod), buf
	case l.Expired(r.nowMs):
		return h.miss(expired), buf
	}
	var query []byte
	if l.Flags()&engine.FlagForwardQuery != 0 {
		query = r.query
	}
	buf = appendLocation(buf, l.Target(), query)
	if len(buf) > maxLocationBytes {
		return h.miss(locationTooLong), buf
	}
	if h.blocks.Blocks(buf) {
		return h.miss(targetBlocked), buf
	}
	visit := h.visit(r)
	if !h.engine.Hit(l, visit) {
		return h.miss(exhausted), buf
	}
	h.counts.redirected(status, visit.Visitor)
	a := answer{outcome: redirected, status: status, location: buf}
	if status == 302 || status == 307 || l.Flags()&engine.FlagCapped != 0 {
		a.cacheControl = neverStore
	} else {
		a.cacheControl, buf = appendMaxAge(buf, l.ExpiresAtMs(), r.nowMs)
	}
	return a, buf
}

// unknown counts a request for a code that no link has.
func (h *redirector) unknown(code []byte) answer {
	h.missed.add(code)
	return h.miss(unknownCode)
}

func (h *redirector) miss(o outcome) answer {
	h.counts.misses[o].Add(1)
	return answer{outcome: o}
}

// appendLocation appends target, with query, if there is one, put before the fragment.
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

// appendMaxAge returns how long a permanent redirect may be kept: briefly, so that an edit shows and most hits are
// counted, and never past its expiry. What is always to be asked for again, because it is temporary or its hits are
// counted one by one, has neverStore.
func appendMaxAge(buf []byte, expiresAtMs, nowMs int64) (value, rest []byte) {
	left := (expiresAtMs - nowMs) / 1000
	if expiresAtMs == 0 || left >= storeBrieflySeconds {
		return storeBriefly, buf
	}
	start := len(buf)
	buf = strconv.AppendInt(append(buf, "private, max-age="...), left, 10)
	return buf[start:], buf
}

// redirectCounts count what codes were answered, since start. Redirects are spread over shards by visitor, so that
// cores do not fight over one cache line; misses are rare enough for one.
type redirectCounts struct {
	shards [8]struct {
		redirects [4]atomic.Uint64
		_         [128 - 4*8]byte // two cache lines: the prefetcher fetches pairs
	}
	misses [numOutcomes]atomic.Uint64
}

// countedStatuses are the statuses in redirectCounts' order.
var countedStatuses = [4]int{301, 302, 307, 308}

func (c *redirectCounts) redirected(status int, visitor uint64) {
	i := status - 301 // 301, 302
	if status >= 307 {
		i = status - 305 // 307, 308
	}
	c.shards[visitor%uint64(len(c.shards))].redirects[i].Add(1)
}

// sum returns the redirects of countedStatuses.
func (c *redirectCounts) sum() (total [4]uint64) {
	for s := range c.shards {
		for i := range total {
			total[i] += c.shards[s].redirects[i].Load()
		}
	}
	return total
}
