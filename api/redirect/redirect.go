package redirect

import (
	"bytes"
	"net/netip"
	"strconv"
	"time"

	"shunt/api/lock"
	"shunt/api/turnstile"
	"shunt/api/visitor"
	"shunt/engine"
	"shunt/engine/extras"
	"shunt/engine/index"
)

// maxLocationBytes bounds a target together with the query that is added to it, as they go out.
const maxLocationBytes = engine.MaxTargetBytes

// A Request is what a redirect needs of an HTTP request. Its slices are read during Decide and
// Commit only.
type Request struct {
	engine.KeyView        // of the link
	Fold           bool   // the code may be typed in any case
	Rest           []byte // what follows the code in the path, from a slash on; then only a link is found that passes it on; nil: nothing does
	Query          []byte // what follows the first '?', without it and without the mark of a QR code: see TakeScan
	UserAgent      []byte
	Referrer       []byte // the Referer header
	Headers        []byte // the lines of the header, which rules may ask; a request line may come before them
	Country        []byte // the country's code, if a trusted proxy says one
	Client         netip.Addr
	NowMs          int64
	Safe           bool // GET or HEAD: what every link redirects
	Post           bool // POST, by which a visitor sends the password of a link
	Head           bool
	Prefetch       bool // see IsPrefetch
	Scan           bool // the address is that of a QR code: see TakeScan
	Quick          bool // who asks must not wait: see MustAsk

	Heads *Heads     // of the answer; nil: Decide appends the location only
	Memo  *[2]uint64 // what visit has found out about who asks; zero: nothing yet; nil: it is not kept
}

// Heads are what an answer begins with, up to its location, by Statuses.
type Heads [len(Statuses)][]byte

// A Decision is what a request for a code gets, before it is counted. It keeps the link that it is
// about valid until Commit or Release.
type Decision struct {
	Outcome Outcome
	Unread  bool       // with StillLoading: the store may have the link; see DecideUnread
	target  uint8      // the number of the target that was chosen; 0: the link has only one
	varies  bool       // others may get another answer
	ByPost  bool       // with WrongMethod: the link takes a POST, which brings its password
	Status  int        // with Redirected
	maxAge  int64      // with Redirected: how many seconds the answer may be stored; neverStored: not at all
	link    index.Link // with Redirected, Prefetched, Fallback, Locked and Carded
}

// A Redirector answers requests for codes. Everything in it is read-only or atomic, or has a lock
// of its own, so any number of goroutines may use it.
type Redirector struct {
	engine    *engine.Engine
	k0, k1    uint64    // the visitor key
	keys      lock.Keys // of the cookies of links with a password
	agents    *visitor.Agents
	countries *visitor.Countries // nil: no country is known
	blocks    *engine.BlockList  // nil: nothing is blocked
	counts    *counts
	missed    *misses              // has a lock of its own; only unknown codes take it
	unread    *turnstile.Turnstile // for reads of the store while links are loaded
}

// New returns a Redirector for the links of e. countries and blocks may be nil. The count of misses
// starts at now.
func New(e *engine.Engine, countries *visitor.Countries, blocks *engine.BlockList, now time.Time) *Redirector {
	k0, k1 := e.VisitorKey()
	return &Redirector{
		engine: e, k0: k0, k1: k1, keys: lock.KeysOf(k0, k1), agents: new(visitor.Agents), countries: countries, blocks: blocks,
		counts: new(counts), missed: newMisses(now), unread: newUnread(),
	}
}

// NeverStore is the Cache-Control of an answer that must be asked for again each time.
var NeverStore = []byte("private, no-store")

var storeBriefly = []byte("private, max-age=90")

const (
	storeBrieflySeconds = 90
	neverStored         = -1 // seconds
)

// Decide decides what a request for a code gets, and counts nothing. It appends the head, if q has
// any, and the location to buf; of a miss it appends nothing. The answer is not certain before
// Commit. Decide does no I/O, takes no lock, and allocates nothing if buf is large enough.
func (r *Redirector) Decide(buf []byte, q *Request) (Decision, []byte) {
	if !r.engine.Ready() {
		return r.decideLoading(buf, q)
	}
	l, ok := r.engine.Resolve(q.KeyView)
	if !ok && q.Fold {
		l, ok = r.engine.ResolveFolded(q.KeyView)
	}
	if !ok {
		return Decision{Outcome: UnknownCode}, buf
	}
	return r.follow(buf, l, q)
}

// follow redirects along l, unless l or the request forbid it.
func (r *Redirector) follow(buf []byte, l index.Link, q *Request) (Decision, []byte) {
	d := Decision{Status: l.Flags().RedirectStatus(), link: l}
	if q.Rest != nil && !extras.ForwardsPath(l.Extras()) {
		return d.missed(UnknownCode), buf
	}
	if !q.Safe && !takesUnsafe(l, q) { // first: the method is wrong in every state of the link
		return d.wrongMethod(), buf
	}
	var query []byte
	if l.Flags()&engine.FlagForwardQuery != 0 {
		query = q.Query
	}
	var chosen []byte // instead of the link's own target
	if l.Unusual() {
		chosen, d.target = r.choose(l, q)
		d.varies = d.target != 0 || extras.HasCard(l.Extras()) || extras.Lock(l.Extras()) != 0
		if r.isLocked(l, asked(q), q.NowMs) {
			return r.closed(d, chosen, q.NowMs), buf
		}
	}
	start := len(buf)
	if q.Heads != nil {
		buf = append(buf, q.Heads[placeOf(d.Status)]...)
	}
	at := len(buf)
	if chosen != nil {
		buf = append(buf, chosen...)
	} else {
		buf = l.AppendTarget(buf)
	}
	if q.Rest != nil {
		if !engine.HasHost(buf[at:]) { // and so no path
			return d.missed(UnknownCode), buf[:start]
		}
		buf = addPath(buf, at, q.Rest)
	}
	if len(query) > 0 {
		buf = forward(buf, at, l, query)
	}
	if o := r.factsOf(l, buf[at:], q.NowMs).Verdict(); o != Redirected {
		return r.unfollowed(d, o), buf[:start]
	}
	if d.varies && r.getsCard(l, q) {
		if r.engine.UsedUp(l) { // Hit is not asked
			return r.unfollowed(d, Exhausted), buf[:start]
		}
		d.Outcome = Carded
		return d, buf[:start]
	}
	if (chosen != nil || l.Encoded() || len(query) > 0 || q.Rest != nil) && len(buf)-at <= maxLocationBytes { // what is longer does not get shorter
		buf = engine.ToASCII(buf, at)
	}
	if len(buf)-at > maxLocationBytes {
		if r.engine.UsedUp(l) { // Hit, which would say it, is not asked
			return r.unfollowed(d, Exhausted), buf[:start]
		}
		return d.missed(LocationTooLong), buf[:start]
	}
	if d.maxAge = neverStored; !d.varies && d.Status != 302 && d.Status != 307 && l.Flags()&engine.FlagCapped == 0 {
		d.maxAge = maxAge(l.ExpiresAtMs(), q.NowMs)
	}
	if q.Prefetch && !q.Head {
		d.Outcome = Prefetched
		return d, buf[:start]
	}
	return d, buf
}

// closed returns the decision about a link whose visitor has not typed its password: Locked, unless a state of the link
// comes first. Only the chosen target is looked at, nil for the link's own, and nothing that the visitor adds to it:
// the answer would tell something of the target.
func (r *Redirector) closed(d Decision, chosen []byte, nowMs int64) Decision {
	var target [256]byte
	if chosen == nil {
		chosen = d.link.AppendTarget(target[:0])
	}
	facts := r.factsOf(d.link, chosen, nowMs)
	facts.Exhausted = r.engine.UsedUp(d.link) // no Hit will say it
	if o := facts.Verdict(); o != Redirected {
		return r.unfollowed(d, o)
	}
	return Decision{Outcome: Locked, link: d.link}
}

// takesUnsafe reports whether l takes a request that is neither GET nor HEAD: to pass it on, or for its password, which
// a POST brings.
func takesUnsafe(l index.Link, q *Request) bool {
	if extras.Lock(l.Extras()) != 0 {
		return q.Post
	}
	return l.Flags().RedirectStatus() >= 307
}

// missed lets go of the link and returns a miss.
func (d Decision) missed(o Outcome) Decision {
	d.Release()
	return Decision{Outcome: o}
}

// wrongMethod lets go of the link, which does not take the method of the request.
func (d Decision) wrongMethod() Decision {
	defer d.Release()
	return Decision{Outcome: WrongMethod, ByPost: extras.Lock(d.link.Extras()) != 0}
}

// unfollowed returns the decision about a link whose verdict is not Redirected.
func (r *Redirector) unfollowed(d Decision, o Outcome) Decision {
	if o = r.orFallback(d.link, o); o == Fallback {
		return Decision{Outcome: o, link: d.link}
	}
	return d.missed(o)
}

// orFallback returns Fallback in place of an outcome that says that the link is over, if its visitors are sent
// elsewhere then.
func (r *Redirector) orFallback(l index.Link, o Outcome) Outcome {
	if (o == Expired || o == Exhausted) && r.fallbackOf(l) != nil {
		return Fallback
	}
	return o
}

// fallbackOf returns where visitors of a link that is over are sent; nil: nowhere. It is the link's own address;
// package public knows that of its domain. One that is on the block list is not used.
func (r *Redirector) fallbackOf(l index.Link) []byte {
	if url := extras.ExpiredURL(l.Extras()); url != nil && !r.blocks.Blocks(url) {
		return url
	}
	return nil
}

// AppendFallback appends the location of a decision for which Commit has returned Fallback, and releases it. The answer
// is a 302 that must be asked for again each time. It is no hit of the link, because that is over: a prefetch gets it
// too, and no query is passed on.
func (r *Redirector) AppendFallback(buf []byte, d Decision) []byte {
	defer d.Release()
	return engine.AppendASCII(buf, extras.ExpiredURL(d.link.Extras()))
}

// A Gate is a link whose visitors must type a password.
type Gate struct {
	engine.Key
	ID   uint64
	Lock uint64 // changes with the password
}

// Gate returns the link of a decision for which Commit has returned Locked, and releases it.
func (d Decision) Gate() Gate {
	defer d.Release()
	return Gate{d.link.Key(nil).Own(), d.link.ID(), extras.Lock(d.link.Extras())}
}

// Cookie returns the value of the cookie that opens g from now on, for lock.Life.
func (r *Redirector) Cookie(g Gate, nowMs int64) string { return r.keys.Value(g.ID, g.Lock, nowMs) }

// isLocked reports whether link l has a password that whoever asks with headers has not typed.
func (r *Redirector) isLocked(l index.Link, headers []byte, nowMs int64) bool {
	lock := extras.Lock(l.Extras())
	return lock != 0 && !r.keys.Opens(headers, l.ID(), lock, nowMs)
}

// asked returns the header in which q may have the cookie of a link with a password. A POST has none: it always asks to
// open the link, and is never sent on with the password in its body, not even to the target of a 307.
func asked(q *Request) []byte {
	if !q.Safe {
		return nil
	}
	return q.Headers
}

// getsCard reports whether q gets the card of a link in place of a redirect.
func (r *Redirector) getsCard(l index.Link, q *Request) bool {
	if !q.Safe || !extras.HasCard(l.Extras()) {
		return false
	}
	_, agent, _ := r.asks(q)
	return agent.Unfurls()
}

// A CardAsked is a link whose card a program gets, copied.
type CardAsked struct {
	engine.Key
	ID   uint64
	More []byte // what follows the code in the address, of what the link passes on
}

// Card returns the link of a decision about q for which Commit has returned Carded, and releases the decision. The card
// is in the store.
func (r *Redirector) Card(d Decision, q *Request) CardAsked {
	defer d.Release()
	more := bytes.Clone(q.Rest)
	if d.link.Flags()&engine.FlagForwardQuery != 0 && len(q.Query) > 0 {
		more = append(append(more, '?'), q.Query...)
	}
	return CardAsked{d.link.Key(nil).Own(), d.link.ID(), more}
}

// Release drops a decision without counting it. A decision that Commit has counted needs none.
func (d Decision) Release() { d.link.Release() }

// Commit counts what was decided about q, and releases the decision, unless it returns Fallback, Locked or Carded:
// AppendFallback, Gate or Card does then. It returns the outcome that the client must get: of all outcomes only
// Redirected and Prefetched may differ from the decision's, because only Hit decides whether a cap is Exhausted (or
// Fallback because of that), or in a cluster the node that leads (CapElsewhere, MustAsk). Hit comes last, so that only
// what passes every other check counts. Commit does no I/O but for a link with a cap in a cluster, takes no lock except
// to count an unknown code, and allocates nothing if User-Agent and referrer were seen before.
func (r *Redirector) Commit(d Decision, q *Request) Outcome {
	switch d.Outcome {
	case Redirected:
	case UnknownCode:
		return r.unknown(q.KeyView)
	case Prefetched:
		return r.prefetched(d, q)
	default:
		return r.miss(d.Outcome, q.Domain)
	}
	visit := r.visit(q)
	if d.target != 0 && visit.Class() == engine.ClassHit {
		visit.Kind = engine.KindOf(engine.ClassHit, d.target)
	}
	if !r.engine.Hit(d.link, visit) {
		if o := r.refused(d, q, visit); o != Redirected {
			return o
		}
	}
	d.Release()
	r.counts.redirected(d.Status, visit.Visitor)
	return Redirected
}

// refused returns the outcome of a decision whose visit Hit has refused. It releases the decision and counts the miss,
// unless the node that leads a cluster has admitted the visit. With Fallback it does not release the decision.
func (r *Redirector) refused(d Decision, q *Request, visit engine.Visit) Outcome {
	o := Exhausted
	if visit.Class() == engine.ClassHit && r.engine.CapAsks(d.link) {
		if q.Quick {
			d.Release()
			return MustAsk
		}
		switch admitted, decided := r.engine.HitAsked(d.link, visit); {
		case admitted:
			return Redirected
		case !decided:
			o = CapElsewhere
		}
	}
	if o = r.orFallback(d.link, o); o != Fallback {
		d.Release()
	}
	return r.miss(o, q.Domain)
}

// prefetched counts a prefetch, unless the link's cap is used up: a prefetch uses nothing up, but it
// must not hide that a click would be in vain.
func (r *Redirector) prefetched(d Decision, q *Request) Outcome {
	visit := engine.Visit{NowMs: q.NowMs, Kind: engine.Kind(engine.ClassPrefetch)}
	if !r.engine.Hit(d.link, visit) {
		return r.refused(d, q, visit)
	}
	d.Release()
	return r.miss(Prefetched, q.Domain)
}

// unknown counts a request for a code that no link has.
func (r *Redirector) unknown(k engine.KeyView) Outcome {
	r.missed.add(k)
	return r.miss(UnknownCode, k.Domain)
}

func (r *Redirector) miss(o Outcome, in engine.Domain) Outcome {
	r.counts.misses[o].Add(1)
	if o.Reason() != "" {
		r.counts.missesIn[in].Add(1)
	}
	return o
}

// maxAge returns for how many seconds a permanent redirect may be cached: briefly, so that an edit
// shows and most hits are counted, and never past its expiry. A redirect that must be asked for again
// each time, because it is temporary, each of its hits counts or others get another target, is neverStored.
func maxAge(expiresAtMs, nowMs int64) int64 {
	if expiresAtMs == 0 {
		return storeBrieflySeconds
	}
	return min((expiresAtMs-nowMs)/1000, storeBrieflySeconds)
}

// AppendCacheControl appends the Cache-Control of the redirect to buf.
func (d Decision) AppendCacheControl(buf []byte) []byte {
	switch d.maxAge {
	case neverStored:
		return append(buf, NeverStore...)
	case storeBrieflySeconds:
		return append(buf, storeBriefly...)
	}
	return strconv.AppendInt(append(buf, "private, max-age="...), d.maxAge, 10)
}
