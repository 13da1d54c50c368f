package replica

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"shunt/storage/clusterlog"
)

// memLog is a log in memory, which loses answers and deposes leaders when a test asks for it.
type memLog struct {
	mu       sync.Mutex
	changed  chan struct{} // closed and replaced at each change
	entries  [][]byte
	sealed   map[uint64][]byte // private parts, by sequence
	floor    uint64            // the first sequence that is kept
	head     clusterlog.Position
	leader   string
	epoch    uint64
	current  *memLeadership
	unknown  float64 // share of appends whose answer is lost
	servers  []clusterlog.Server
	together int // entries that Follow gives at once, at most
}

func newMemLog(id clusterlog.ID) *memLog {
	return &memLog{changed: make(chan struct{}), floor: 1, sealed: make(map[uint64][]byte), head: clusterlog.Origin(id), together: 7}
}

func (l *memLog) wakeLocked() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// depose ends the leadership, if there is one, without its leader's doing.
func (l *memLog) depose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current != nil {
		l.current.endLocked()
	}
}

func (l *memLog) Campaign(ctx context.Context, candidate string) (clusterlog.Leadership, error) {
	for {
		l.mu.Lock()
		if l.current == nil {
			l.epoch++
			l.leader = candidate
			l.current = &memLeadership{log: l, epoch: l.epoch, head: l.head, done: make(chan struct{})}
			lead := l.current
			l.wakeLocked()
			l.mu.Unlock()
			return lead, nil
		}
		changed := l.changed
		l.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (l *memLog) Follow(ctx context.Context, from clusterlog.Position, fn func(clusterlog.Progress) error) error {
	at := from
	for {
		l.mu.Lock()
		if at.Sequence+1 < l.floor {
			l.mu.Unlock()
			return clusterlog.ErrBelowFloor
		}
		p := clusterlog.Progress{Head: l.head.Sequence, Leader: clusterlog.Leader{Candidate: l.leader, Epoch: l.epoch}, AsOf: time.Now()}
		for len(p.Entries) < l.together && at.Sequence < l.head.Sequence {
			e, next, err := at.Follow(l.entries[at.Sequence+1-l.floor])
			if err == nil && e.Sealed != (clusterlog.Hash{}) {
				err = e.Attach(l.sealed[e.Sequence])
			}
			if err != nil {
				l.mu.Unlock()
				return err
			}
			p.Entries, at = append(p.Entries, e), next
		}
		p.After = at
		changed, more := l.changed, at.Sequence < l.head.Sequence
		l.mu.Unlock()
		if err := fn(p); err != nil {
			return err
		}
		if more {
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (l *memLog) Status(context.Context) (clusterlog.Status, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return clusterlog.Status{Head: l.head, Floor: l.floor, Leader: clusterlog.Leader{Candidate: l.leader, Epoch: l.epoch}, Servers: l.servers}, nil
}

type memLeadership struct {
	log     *memLog
	epoch   uint64
	head    clusterlog.Position
	done    chan struct{}
	over    bool               // log.mu's
	pending clusterlog.BatchID // log.mu's: what became of it the leader was not told
	outcome clusterlog.Position
	failed  bool
}

func (m *memLeadership) endLocked() {
	if !m.over {
		m.over = true
		m.log.current, m.log.leader = nil, ""
		close(m.done)
		m.log.wakeLocked()
	}
}

func (m *memLeadership) Epoch() uint64             { return m.epoch }
func (m *memLeadership) Head() clusterlog.Position { return m.head }
func (m *memLeadership) Done() <-chan struct{}     { return m.done }
func (m *memLeadership) Until() time.Time          { return time.Now() }

func (m *memLeadership) Valid() bool {
	m.log.mu.Lock()
	defer m.log.mu.Unlock()
	return !m.over
}

func (m *memLeadership) Run(ctx context.Context) error {
	select {
	case <-m.done:
		return clusterlog.ErrDeposed
	case <-ctx.Done():
		m.log.mu.Lock()
		defer m.log.mu.Unlock()
		m.endLocked()
		return nil
	}
}

func (m *memLeadership) Append(_ context.Context, batch clusterlog.BatchID, payload, private []byte) (clusterlog.Position, error) {
	l := m.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if m.pending == batch { // the second question about it
		m.pending = clusterlog.BatchID{}
		if m.failed {
			return clusterlog.Position{}, clusterlog.ErrDeposed
		}
		return m.outcome, nil
	}
	lost := rand.Float64() < l.unknown
	if lost && rand.IntN(2) == 0 { // it gets there after the leader was replaced
		m.endLocked()
	}
	after := clusterlog.Position{}
	if m.over {
		if lost {
			m.pending, m.failed = batch, true
			return after, clusterlog.ErrUnknownOutcome
		}
		return after, clusterlog.ErrDeposed
	}
	encoded, sealed, after := l.head.Next(m.epoch, batch, payload, private)
	l.entries, l.head = append(l.entries, encoded), after
	l.sealed[after.Sequence] = sealed
	l.wakeLocked()
	if lost {
		m.pending, m.outcome, m.failed = batch, after, false
		if rand.IntN(2) == 0 { // and another one leads before the answer is known
			m.endLocked()
		}
		return clusterlog.Position{}, clusterlog.ErrUnknownOutcome
	}
	return after, nil
}

func (m *memLeadership) Trim(_ context.Context, through uint64) error {
	l := m.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if m.over {
		return clusterlog.ErrDeposed
	}
	if through >= l.floor {
		l.entries, l.floor = l.entries[through+1-l.floor:], through+1
	}
	return nil
}

var _ clusterlog.Log = (*memLog)(nil)

// within returns a context that ends with the test.
func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}
