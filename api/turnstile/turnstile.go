package turnstile

import (
	"errors"
	"net/netip"
	"slices"
	"sync"
	"time"

	"shunt/engine"
)

// Errors of Enter. Their texts are for clients.
var (
	// ErrFull: every place is held, and the queue is full or the request has waited for Patience.
	ErrFull = errors.New("too many requests like this one are under way; try again in a moment")
	// ErrShare: the caller's share is used up.
	ErrShare = errors.New("you have too many requests like this one under way; let one of them end first")
)

// HalfTheCores returns how many requests that each keep a core busy may run at once: half of the
// cores, at least one, so that redirects have the others.
func HalfTheCores() int { return HalfOf(engine.Cores()) }

// HalfOf is HalfTheCores for a machine with that many cores.
func HalfOf(cores int) int { return max(1, cores/2) }

// A Key names a caller. The zero Key is nobody in particular.
type Key struct {
	User    uint32     // a user's id; 0: no user is known
	Network netip.Addr // the network of a client without a login; the zero Addr: not known
}

// Limits are the bounds of a Turnstile.
type Limits struct {
	Places    int           // held at a time
	PerCaller int           // places that a key holds and waits for, together; 0: unlimited
	Waiting   int           // requests that wait for a place; 0: none may wait
	Patience  time.Duration // how long each of them waits
}

// A Turnstile has a fixed number of places. Any number of goroutines may use it at once. The
// package comment says which request is next.
type Turnstile struct {
	limits Limits

	mu struct {
		sync.Mutex
		held    int
		waiting int
		present map[Key]*caller // callers that hold a place or wait
		queue   []*caller       // callers that wait, the next one first
	}
}

// A caller is the requests of a key that are present.
type caller struct {
	key     Key
	present int // places and requests that wait
	queue   []*request
}

// held returns how many places c holds.
func (c *caller) held() int { return c.present - len(c.queue) }

// A request waits for a place.
type request struct {
	of      *caller
	decided chan struct{} // closed when placed is known
	placed  bool          // false: a request of another caller took its place in the queue
}

// New returns a turnstile with every place free.
func New(l Limits) *Turnstile {
	t := &Turnstile{limits: l}
	t.mu.present = make(map[Key]*caller)
	return t
}

// Limits returns the bounds of t.
func (t *Turnstile) Limits() Limits { return t.limits }

// Enter takes a place for key, which Leave gives back. It waits for its turn if every place is
// held. After ErrFull or ErrShare there is nothing to give back.
func (t *Turnstile) Enter(key Key) error {
	r, err := t.arrive(key)
	if r == nil {
		return err
	}
	if !t.await(r, t.limits.Patience) {
		return ErrFull
	}
	return nil
}

// EnterPatiently does what Enter does, but also waits if the caller's share is used up, and if the
// queue has no room: up to patience, with at most waiting other requests of the caller.
func (t *Turnstile) EnterPatiently(key Key, waiting int, patience time.Duration) error {
	r, err := t.arrivePatiently(key, waiting)
	if r == nil || t.await(r, patience) {
		return err
	}
	if t.limits.PerCaller > 0 && t.heldBy(key) >= t.limits.PerCaller {
		return ErrShare
	}
	return ErrFull
}

// await waits until r is decided, or gives up, and reports whether r has a place.
func (t *Turnstile) await(r *request, atMost time.Duration) bool {
	patience := time.NewTimer(atMost)
	defer patience.Stop()
	select {
	case <-r.decided:
	case <-patience.C:
		t.giveUp(r)
	}
	return r.placed
}

// Do calls fn while it holds a place for key.
func (t *Turnstile) Do(key Key, fn func() error) error {
	if err := t.Enter(key); err != nil {
		return err
	}
	defer t.Leave(key)
	return fn()
}

// Leave gives a place of key back. The next waiting request gets it.
func (t *Turnstile) Leave(key Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.mu.present[key]
	if c == nil || c.held() == 0 {
		panic("turnstile: a place is given back that nobody has taken")
	}
	t.toEndLocked(c)
	t.partLocked(c)
	i := slices.IndexFunc(t.mu.queue, t.mayHoldLocked)
	if i < 0 {
		t.mu.held--
		return
	}
	next := t.mu.queue[i]
	r := next.queue[0]
	t.removeLocked(r)
	t.toEndLocked(next)
	r.placed = true
	close(r.decided)
}

// DoInSteps does what Do does for work that takes longer than step. fn calls pause between parts of
// it: when the work has taken a step and other requests wait, it gives its place to them, and waits
// for its next turn as a new request does. After an error of pause, fn must return, without its
// place.
func (t *Turnstile) DoInSteps(key Key, step time.Duration, fn func(pause func() error) error) error {
	err := t.Enter(key)
	if err != nil {
		return err
	}
	defer func() {
		if err == nil {
			t.Leave(key)
		}
	}()
	began := time.Now()
	return fn(func() error {
		if err != nil || time.Since(began) < step {
			return err
		}
		if t.Waiting() > 0 {
			t.Leave(key)
			err = t.Enter(key)
		}
		began = time.Now()
		return err
	})
}

// Held returns how many places are held.
func (t *Turnstile) Held() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.held
}

// heldBy returns how many places key holds.
func (t *Turnstile) heldBy(key Key) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.callerLocked(key).held()
}

// Waiting returns how many requests wait for a place.
func (t *Turnstile) Waiting() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.waiting
}

// callerLocked returns the caller with that key, present or not.
func (t *Turnstile) callerLocked(key Key) *caller {
	if c := t.mu.present[key]; c != nil {
		return c
	}
	return &caller{key: key}
}

// arrive takes a place, or returns a request that waits for one, or returns an error.
func (t *Turnstile) arrive(key Key) (*request, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.callerLocked(key)
	switch most := t.limits.PerCaller; {
	case most > 0 && c.present >= most && key != Key{}:
		return nil, ErrShare
	case t.mu.held < t.limits.Places:
		t.mu.held++
	case t.limits.Waiting == 0, t.mu.waiting >= t.limits.Waiting && !t.crowdOutLocked(len(c.queue)+1):
		return nil, ErrFull
	default:
		t.joinLocked(c)
		return t.waitLocked(c), nil
	}
	t.joinLocked(c)
	return nil, nil
}

// arrivePatiently is arrive for EnterPatiently.
func (t *Turnstile) arrivePatiently(key Key, waiting int) (*request, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.callerLocked(key)
	mayHold := t.mayHoldLocked(c)
	switch {
	case mayHold && t.mu.held < t.limits.Places:
		t.mu.held++
		t.joinLocked(c)
		return nil, nil
	case len(c.queue) < waiting:
		t.joinLocked(c)
		return t.waitLocked(c), nil
	case !mayHold:
		return nil, ErrShare
	}
	return nil, ErrFull
}

// mayHoldLocked reports whether c may hold another place. Only requests of EnterPatiently wait while
// their caller may not.
func (t *Turnstile) mayHoldLocked(c *caller) bool {
	return t.limits.PerCaller == 0 || c.held() < t.limits.PerCaller || c.key == Key{}
}

// joinLocked adds a place or a waiting request of c.
func (t *Turnstile) joinLocked(c *caller) {
	c.present++
	t.mu.present[c.key] = c
}

// partLocked removes a place or a waiting request of c. The table has only callers that are
// present.
func (t *Turnstile) partLocked(c *caller) {
	if c.present--; c.present == 0 {
		delete(t.mu.present, c.key)
	}
}

func (t *Turnstile) waitLocked(c *caller) *request {
	r := &request{of: c, decided: make(chan struct{})}
	if len(c.queue) == 0 {
		t.mu.queue = append(t.mu.queue, c)
	}
	c.queue = append(c.queue, r)
	t.mu.waiting++
	return r
}

// removeLocked takes r out of its caller's queue.
func (t *Turnstile) removeLocked(r *request) {
	c := r.of
	c.queue = slices.Delete(c.queue, slices.Index(c.queue, r), slices.Index(c.queue, r)+1)
	if len(c.queue) == 0 {
		t.mu.queue = slices.Delete(t.mu.queue, slices.Index(t.mu.queue, c), slices.Index(t.mu.queue, c)+1)
	}
	t.mu.waiting--
}

// toEndLocked moves c, which was served, to the end of the queue.
func (t *Turnstile) toEndLocked(c *caller) {
	if i := slices.Index(t.mu.queue, c); i >= 0 {
		t.mu.queue = append(slices.Delete(t.mu.queue, i, i+1), c)
	}
}

// crowdOutLocked refuses the youngest request of the caller with the most waiting requests, if that
// caller still has at least asked of them afterwards.
func (t *Turnstile) crowdOutLocked(asked int) bool {
	var longest *caller
	for _, c := range t.mu.queue {
		if longest == nil || len(c.queue) > len(longest.queue) {
			longest = c
		}
	}
	if longest == nil || len(longest.queue)-1 < asked {
		return false
	}
	r := longest.queue[len(longest.queue)-1]
	t.removeLocked(r)
	t.partLocked(longest)
	close(r.decided)
	return true
}

// giveUp removes r from the queue, unless it has been decided meanwhile.
func (t *Turnstile) giveUp(r *request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-r.decided:
	default:
		t.removeLocked(r)
		t.partLocked(r.of)
	}
}
