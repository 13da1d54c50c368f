package shed

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

const (
	pressedAfter   = 20 * time.Millisecond // longer than a burst that the loops work off
	sampleInterval = 20 * time.Millisecond
	sampleWeight   = 0.1 // so the level follows with a time constant of ten samples
	mostSamples    = 10  // of rest that one moment stands for, if nobody asked before it
	begins, ends   = 0.25, 0.1

	// createInterval is the time between two creates while they are shed. None at all would keep them
	// out for ever under a steady load of redirects.
	createInterval = 50 * time.Millisecond

	// A refused create is answered after refusalDelay, if not too many wait for that. A refusal costs
	// a third of a create (120 of 320 µs in a quarter of a core), so clients that repeat theirs at once
	// would be as expensive as before.
	refusalDelay = time.Second
	maxDelayed   = 1024

	// maxInFlight bounds the requests to the API that are being handled. Each holds up to 64 KiB of
	// body and some 20 KiB besides, so all of them 350 MiB at most; four in five wait for a commit
	// of the store, whose queue has 4,096 places too.
	maxInFlight = 4096
)

// Errors of Enter. Their texts are for clients.
var (
	ErrPressed  = errors.New("there are more redirects than the server can answer, so it makes few links at present; try again in a moment")
	ErrInFlight = errors.New("too many requests are under way; try again in a moment")
)

// A Kind is what a request does.
type Kind uint8

const (
	Create  Kind = iota // makes links: shed first
	Other               // shed only when too many are under way
	Freeing             // deletes, revokes or logs out: never shed
)

// A Shedder decides about requests. Any goroutine may use it.
type Shedder struct {
	pressed  func(now time.Time) time.Duration
	inFlight atomic.Int64
	refused  [2]atomic.Uint64 // ErrPressed, ErrInFlight
	delayed  atomic.Int64     // refusals that wait

	mu struct {
		sync.Mutex
		level     float64 // share of the time in which the loops were pressed
		sampledAt time.Time
		shedding  bool
		createdAt time.Time // when a create was last admitted
	}
}

// New returns a Shedder. pressed returns for how long all event loops have been pressed; 0: one of
// them rests.
func New(pressed func(now time.Time) time.Duration) *Shedder {
	return &Shedder{pressed: pressed}
}

// Enter admits a request, whose end Leave must report. Errors: ErrPressed, after refusalDelay, and
// ErrInFlight; then nothing was entered.
func (s *Shedder) Enter(k Kind) error {
	if s.inFlight.Add(1) > maxInFlight && k != Freeing {
		s.inFlight.Add(-1)
		s.refused[1].Add(1)
		return ErrInFlight
	}
	if k == Create && !s.mayCreate(time.Now()) {
		if s.delayed.Add(1) <= maxDelayed {
			time.Sleep(refusalDelay)
		}
		s.delayed.Add(-1)
		s.inFlight.Add(-1)
		s.refused[0].Add(1)
		return ErrPressed
	}
	return nil
}

// Leave ends a request that Enter admitted.
func (s *Shedder) Leave() { s.inFlight.Add(-1) }

// Refused returns how many requests were refused because the loops were pressed, and because too
// many were under way.
func (s *Shedder) Refused() (pressed, inFlight uint64) {
	return s.refused[0].Load(), s.refused[1].Load()
}

func (s *Shedder) mayCreate(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sampleLocked(now)
	if s.mu.shedding && now.Sub(s.mu.createdAt) < createInterval {
		return false
	}
	s.mu.createdAt = now
	return true
}

// sampleLocked brings the level up to date. A moment of rest after a pause stands for several, so that
// shedding ends soon where clients wait a second for each refusal. A pressed moment does not: it
// cannot begin to shed alone.
func (s *Shedder) sampleLocked(now time.Time) {
	since := now.Sub(s.mu.sampledAt)
	if since < sampleInterval && since >= 0 {
		return
	}
	s.mu.sampledAt = now
	if s.pressed(now) >= pressedAfter {
		s.mu.level += sampleWeight * (1 - s.mu.level)
	} else {
		for range min(mostSamples, max(1, since/sampleInterval)) {
			s.mu.level -= sampleWeight * s.mu.level
		}
	}
	switch {
	case s.mu.level >= begins:
		s.mu.shedding = true
	case s.mu.level < ends:
		s.mu.shedding = false
	}
}
