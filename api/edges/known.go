package edges

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// A State says whether a writer hears an edge.
type State string

// States of an edge.
const (
	Connected State = "connected" // it asks, or takes a copy
	Silent    State = "silent"    // it has not asked for silentAfter
	Revoked   State = "revoked"   // it has no token that is valid
	New       State = "new"       // it has a token, and was never here
)

// silentAfter is how long an edge that asks every second may be silent.
const silentAfter = 10 * time.Second

// An Edge is what a writer knows of one of its edges, as the API says it. What only an edge can say is nil until it has
// asked since the writer's start.
type Edge struct {
	Name       string     `json:"name"`
	State      State      `json:"state"`
	SeenAt     *time.Time `json:"seen_at"`
	Address    string     `json:"address"`                // of the connection
	Version    string     `json:"version"`                // of its program
	Position   *uint64    `json:"position"`               // sequence of the last entry of the log that it has applied
	Behind     *uint64    `json:"behind"`                 // entries of the log that it lacks; nil: it must take a copy
	Lag        *float64   `json:"lag_seconds"`            // time for which it may lack changes
	Hits       *uint64    `json:"hits_waiting"`           // that it had counted and not given when it last asked
	HitsBytes  *uint64    `json:"hits_waiting_bytes"`     // of their records
	ServesTill *time.Time `json:"certificate_expires_at"` // its certificate for visitors; nil: it has none, or says nothing
}

// Known is what a writer has heard from its edges since its start. Any goroutine may call its methods.
type Known struct {
	mu sync.Mutex
	by map[string]*heard
}

// heard is what an edge has said.
type heard struct {
	asks    int       // that are under way
	copies  bool      // it takes a copy
	at      time.Time // of the last word
	whole   time.Time // when it last had all entries; zero: never
	address string
	ask     Ask  // the last one
	lost    bool // its place is not in the log: it must take a copy

	who      Who
	replaced []string  // earlier processes on the same store, at most maxReplaced
	toldAt   time.Time // when Claim last returned a Rival to be told
}

// A Rival is another edge that uses the same token, and is heard.
type Rival struct {
	Address string
	Twin    bool // it has a copy of the same data folder
	Tell    bool // nobody was told for tellInterval
}

const (
	maxReplaced  = 4
	tellInterval = time.Minute
)

// of returns what the edge of that name has said, for the one who holds mu.
func (k *Known) of(name string) *heard {
	h := k.by[name]
	if h == nil {
		if k.by == nil {
			k.by = make(map[string]*heard)
		}
		h = new(heard)
		k.by[name] = h
	}
	return h
}

// Claim notes that an edge is the one that uses a token from now on, unless another one is heard: then it returns that
// one. An edge that is started again may come at once, and is known by its store. Then two machines with a copy of one
// folder look like one that was started again; the one that was there before comes back, and is refused. An edge
// without a store only learns whether it may come.
func (k *Known) Claim(name, address string, who Who, now time.Time) *Rival {
	k.mu.Lock()
	defer k.mu.Unlock()
	if who.Process == "" {
		return nil
	}
	h := k.by[name]
	if h != nil && h.isHeard(now) && !h.letsIn(who) {
		tell := now.Sub(h.toldAt) >= tellInterval
		if tell {
			h.toldAt = now
		}
		return &Rival{Address: h.address, Twin: who.Store == h.who.Store, Tell: tell}
	}
	if who.Store != "" {
		h = k.of(name)
		h.at, h.address = now, address
		h.replaceBy(who)
	}
	return nil
}

// Release lets others use a token whose edge was refused for another reason, such as for the folder of another server:
// however often it asks, it keeps out nobody.
func (k *Known) Release(name string, who Who) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if h := k.by[name]; h != nil && h.who == who && h.asks == 0 {
		h.who, h.replaced = Who{}, nil
	}
}

func (h *heard) isHeard(now time.Time) bool {
	return h.copies || h.asks > 0 || now.Sub(h.at) < silentAfter
}

// letsIn reports whether an edge may take the place of one that is heard, or is the same one.
func (h *heard) letsIn(who Who) bool {
	return h.who.Process == "" || who.Process == h.who.Process ||
		who.Store != "" && who.Store == h.who.Store && !slices.Contains(h.replaced, who.Process)
}

func (h *heard) replaceBy(who Who) {
	switch {
	case who.Store != h.who.Store:
		h.replaced = nil
	case who.Process != h.who.Process:
		h.replaced = append(h.replaced, h.who.Process)
		h.replaced = h.replaced[max(0, len(h.replaced)-maxReplaced):]
	}
	h.who = who
}

// Asks notes that an edge asks, from an address; head is the sequence of the last entry of the log. answered must be
// called with the answer, or nil.
func (k *Known) Asks(name, address string, ask *Ask, head uint64, now time.Time) (answered func(a *Answer, now time.Time)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	h := k.of(name)
	h.asks++
	h.at, h.address, h.ask = now, address, *ask
	if !h.lost && ask.Applied >= head {
		h.whole = now
	}
	return func(a *Answer, now time.Time) {
		k.mu.Lock()
		defer k.mu.Unlock()
		h.asks--
		h.at = now
		if a == nil {
			return
		}
		if h.lost = a.Copy != NotNeeded; !h.lost && ask.Applied >= a.Head {
			h.whole = now
		}
	}
}

// Copies notes that an edge takes a copy, until ended is called.
func (k *Known) Copies(name, address string, now time.Time) (ended func(now time.Time)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	h := k.of(name)
	h.copies, h.at, h.address = true, now, address
	return func(now time.Time) {
		k.mu.Lock()
		defer k.mu.Unlock()
		h.copies, h.at, h.lost = false, now, false
	}
}

// Forget forgets an edge.
func (k *Known) Forget(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.by, name)
}

// List returns edges by name: those that have a token, those that were met, and those that were heard. head is the
// sequence of the last entry of the log.
func (k *Known) List(tokens, met []string, head uint64, now time.Time) []Edge {
	k.mu.Lock()
	defer k.mu.Unlock()
	names := slices.Concat(tokens, met, slices.Collect(maps.Keys(k.by)))
	slices.Sort(names)
	names = slices.Compact(names)
	list := make([]Edge, len(names))
	for i, name := range names {
		list[i] = Edge{Name: name, State: Silent}
		h := k.by[name]
		if h != nil {
			h.describe(&list[i], head, now)
		}
		switch {
		case !slices.Contains(tokens, name):
			list[i].State = Revoked
		case h == nil && !slices.Contains(met, name):
			list[i].State = New
		}
	}
	return list
}

// describe sets in e what an edge has said.
func (h *heard) describe(e *Edge, head uint64, now time.Time) {
	if h.isHeard(now) {
		e.State = Connected
	}
	at := h.at.UTC().Truncate(time.Millisecond)
	e.SeenAt, e.Address, e.Version = &at, h.address, h.ask.Program
	if h.ask.Version == 0 { // it has only taken a copy
		return
	}
	e.Hits, e.HitsBytes = h.ask.Hits, &h.ask.HitsBytes
	if h.ask.ServesTill > 0 {
		till := time.Unix(h.ask.ServesTill, 0).UTC()
		e.ServesTill = &till
	}
	if at := h.ask.Applied; at > 0 && !h.lost {
		e.Position, e.Behind = &at, new(max(head, at)-at)
	}
	if !h.whole.IsZero() {
		e.Lag = new(max(0, now.Sub(h.whole).Seconds()))
	}
}
