package absent

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"time"

	"shunt/api/rate"
	"shunt/engine"
)

const (
	// Patience is how long a visitor waits at most.
	Patience = 300 * time.Millisecond

	// MaxCodes bounds the codes of a question.
	MaxCodes = 100

	maxAsking = 4 * MaxCodes // codes that are asked for, or wait for it
)

// perNetwork is how often one network may have this server ask for nothing: codes that are found are given back.
var perNetwork = rate.Limit{Events: 120, Period: time.Minute, Burst: 60}

// A Source is where a server asks. Any goroutine may call its functions.
type Source struct {
	// Gone reports that nobody should be asked at present.
	Gone func() bool

	// Ask asks whether the other server has links of codes, of which there are at most MaxCodes. It is called by one
	// goroutine at a time.
	Ask func(ctx context.Context, codes []engine.Key) (Found, error)

	// Applied waits until this server has all that the other one had written at an answer's After, or ctx ends.
	Applied func(ctx context.Context, after uint64) error
}

// Question is a question, as JSON.
type Question struct {
	Codes []engine.Key `json:"codes"`
}

// Found is the answer, as JSON.
type Found struct {
	Found []bool `json:"found"` // one for each code
	After uint64 `json:"after"` // where the log of the other server ended
}

// An Asker asks about codes. Any goroutine may call its methods.
type Asker struct {
	source Source
	rates  *rate.Table
	turn   chan struct{} // held by who asks

	mu struct {
		sync.Mutex
		next   *question                // not asked yet; nil: none
		asking map[engine.Key]*question // all that are not answered, by code
		recent recent
	}
}

// question are codes that go together. After done is closed, nothing changes.
type question struct {
	codes []engine.Key
	done  chan struct{}
	found map[engine.Key]bool
	after uint64
}

// New returns an Asker. A time before epoch counts as epoch.
func New(s Source, epoch time.Time) *Asker {
	a := &Asker{source: s, rates: rate.NewTable(perNetwork, epoch), turn: make(chan struct{}, 1)}
	a.mu.asking = make(map[engine.Key]*question)
	return a
}

// MayAsk reports whether Ask might find the link of a code that this server does not know. It does not wait.
func (a *Asker) MayAsk(k engine.KeyView, now time.Time) bool {
	if a.source.Gone() {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.mu.recent.has(k, now)
}

// Ask asks whether the other server has a link of code, for a client of a network; it reports whether this server has
// it by now. It waits for Patience at most.
func (a *Asker) Ask(k engine.KeyView, network netip.Addr, now time.Time) bool {
	if !a.MayAsk(k, now) {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	q, begins, counted := a.join(k.Own(), network, now)
	switch {
	case q == nil:
		return false
	case begins:
		a.ask(ctx, q, now)
	}
	select {
	case <-q.done:
		if !q.found[k.Own()] {
			return false
		}
		if counted {
			key := network.As16()
			a.rates.GiveBack(key[:], now, 1)
		}
		return a.source.Applied(ctx, q.after) == nil
	case <-ctx.Done():
		return false
	}
}

// join returns the question that a code is in, or now goes into; nil: it is beyond a limit. begins: the caller must ask
// it. counted: the code was counted for its network.
func (a *Asker) join(code engine.Key, network netip.Addr, now time.Time) (q *question, begins, counted bool) {
	key := network.As16()
	a.mu.Lock()
	defer a.mu.Unlock()
	m := &a.mu
	if q := m.asking[code]; q != nil {
		return q, false, false
	}
	if len(m.asking) >= maxAsking || m.next != nil && len(m.next.codes) == MaxCodes || !a.rates.Take(key[:], now, 1).Allowed {
		return nil, false, false
	}
	if begins = m.next == nil; begins {
		m.next = &question{done: make(chan struct{})}
	}
	m.next.codes = append(m.next.codes, code)
	m.asking[code] = m.next
	return m.next, begins, true
}

var errLate = errors.New("the questions before took too long")

// ask asks q when it is its turn. Until then, other codes may join it.
func (a *Asker) ask(ctx context.Context, q *question, now time.Time) {
	err := errLate
	mine := false
	select {
	case a.turn <- struct{}{}:
		mine = true
	case <-ctx.Done():
	}
	a.mu.Lock()
	a.mu.next = nil
	a.mu.Unlock()
	var said Found
	if mine {
		said, err = a.source.Ask(ctx, slices.Clone(q.codes))
		<-a.turn
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	q.found, q.after = make(map[engine.Key]bool), said.After
	for i, code := range q.codes {
		delete(a.mu.asking, code)
		switch {
		case err != nil || len(said.Found) != len(q.codes):
		case said.Found[i]:
			q.found[code] = true
		default:
			a.mu.recent.add(code, now)
		}
	}
	close(q.done)
}
