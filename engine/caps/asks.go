package caps

import (
	"context"
	"sync"
	"time"

	"shunt/engine/index"
)

// Ask is a question to the node that leads: how many of a number of hits of a link may be admitted.
type Ask struct {
	ID     uint64       `json:"id"`
	Domain index.Domain `json:"domain,omitempty"`
	Code   string       `json:"code"`
	Hits   uint64       `json:"hits"` // at least 1

	// Visits are who the hits are of, if the one that answers records those that it admits; otherwise nil. The first
	// hits of an Ask are admitted, if not all are.
	Visits []Visit `json:"visits,omitempty"`
}

// Visit is a hit, as another machine can record it.
type Visit struct {
	Visitor  uint64 `json:"visitor"`          // under the key of visitors that both have
	Target   uint8  `json:"target,omitempty"` // the number of the one that it was sent to, of several
	Agent    uint16 `json:"agent,omitempty"`
	Country  uint8  `json:"country,omitempty"`
	Referrer string `json:"referrer,omitempty"` // a host
	Other    bool   `json:"other,omitempty"`    // the referrer has no name of its own
}

// Key returns the key of the link.
func (a *Ask) Key() index.Key { return index.Key{Domain: a.Domain, Code: a.Code} }

// Answer is the answer to an Ask. If not all hits are granted, nobody can say at present whether the others
// may be, unless Spent.
type Answer struct {
	Granted    uint64 `json:"granted"`
	Generation uint64 `json:"generation"` // of the cap
	Spent      bool   `json:"spent"`      // the cap is used up
}

const (
	// MaxAsks bounds the links of one message to the leader.
	MaxAsks = 1000

	// maxWaiting bounds the redirects that wait at a node. Those beyond it are not decided.
	maxWaiting = 1 << 14

	// patience bounds how long a redirect waits until it is asked for. One that is older would be granted to a
	// client that may be gone.
	patience = 2 * time.Second
)

// Asks are the redirects of a node that wait for the leader's decision.
type Asks struct {
	wake chan struct{} // has room for one: there are some

	mu struct {
		sync.Mutex
		running bool
		waiting int // redirects that were not taken yet
		links   map[uint64]*waiting
	}
}

// waiting are the redirects of one link that wait.
type waiting struct {
	key  index.Key
	hits []hit // the oldest first
}

type hit struct {
	since  time.Time
	visit  *Visit        // nil: this node records the hit
	answer chan<- Answer // has room for one
}

// Init makes a no longer zero.
func (a *Asks) Init() { a.wake = make(chan struct{}, 1) }

// Hit asks for one hit of a link, which visit is of if the leader records it, and waits for an answer. It does not
// wait longer than Run's send does, and patience: nothing is granted then, or if Run is not running.
func (a *Asks) Hit(id uint64, k index.Key, visit *Visit) Answer {
	answer := make(chan Answer, 1)
	if !a.add(id, k, hit{time.Now(), visit, answer}) {
		return Answer{}
	}
	return <-answer
}

func (a *Asks) add(id uint64, k index.Key, h hit) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.mu.running || a.mu.waiting >= maxWaiting {
		return false
	}
	w := a.mu.links[id]
	if w == nil {
		w = &waiting{key: k}
		a.mu.links[id] = w
	}
	w.hits = append(w.hits, h)
	a.mu.waiting++
	select {
	case a.wake <- struct{}{}:
	default:
	}
	return true
}

// Run has send ask the leader, until ctx is done. send must return soon, with an answer to each Ask.
func (a *Asks) Run(ctx context.Context, send func(ctx context.Context, asks []Ask) ([]Answer, error)) {
	a.mu.Lock()
	a.mu.running, a.mu.links = true, make(map[uint64]*waiting)
	a.mu.Unlock()
	defer a.stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.wake:
		}
		for ctx.Err() == nil {
			asks, taken := a.take()
			if len(asks) == 0 {
				break
			}
			answers, err := send(ctx, asks)
			if err != nil || len(answers) != len(asks) {
				answers = make([]Answer, len(asks))
			}
			for i, w := range taken {
				w.settle(answers[i])
			}
		}
	}
}

// stop answers all who wait, and refuses others.
func (a *Asks) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mu.running = false
	for _, w := range a.mu.links {
		w.settle(Answer{})
	}
	a.mu.links, a.mu.waiting = nil, 0
}

// take returns what to ask, of at most MaxAsks links, with who waits for each answer. It answers those who
// have waited for too long.
func (a *Asks) take() (asks []Ask, taken []*waiting) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, w := range a.mu.links {
		if len(asks) == MaxAsks {
			break
		}
		delete(a.mu.links, id)
		a.mu.waiting -= len(w.hits)
		for len(w.hits) > 0 && time.Since(w.hits[0].since) > patience {
			w.hits[0].answer <- Answer{}
			w.hits = w.hits[1:]
		}
		if len(w.hits) > 0 {
			asks = append(asks, Ask{ID: id, Domain: w.key.Domain, Code: w.key.Code, Hits: uint64(len(w.hits)), Visits: w.visits()})
			taken = append(taken, w)
		}
	}
	return asks, taken
}

// visits returns whom the hits are of, if somebody else records them.
func (w *waiting) visits() (all []Visit) {
	for _, h := range w.hits {
		if h.visit != nil {
			all = append(all, *h.visit)
		}
	}
	return all
}

// settle tells each redirect what the answer means for it: those who came first are granted.
func (w *waiting) settle(all Answer) {
	for i, h := range w.hits {
		one := Answer{Generation: all.Generation, Spent: all.Spent}
		if uint64(i) < all.Granted {
			one.Granted, one.Spent = 1, false
		}
		h.answer <- one
	}
}
