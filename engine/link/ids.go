package link

import (
	"context"
	"errors"
	"sync"

	"shunt/engine/internal/errs"
)

// idBlock is the number of ids that are allocated at once: one small commit for 16,384 links. Ids
// of a block that a process does not use are never used.
const idBlock = 1 << 14

// ids hands out link ids from blocks that the store has allocated. Blocks are allocated in
// refillIDs, so that a stalled store does not hold up a writer for longer than the writer wants to
// wait.
type ids struct {
	want chan struct{} // a refill is wanted; one token

	mu struct {
		sync.Mutex
		blocks   []idRange
		left     uint64
		refilled chan struct{} // closed at the next refill
	}
}

type idRange struct{ next, end uint64 }

func (s *ids) init() {
	s.want = make(chan struct{}, 1)
	s.mu.refilled = make(chan struct{})
}

// take returns up to n unused ids, at least one. It waits for a refill until ctx is done:
// ErrOverloaded.
func (s *ids) take(ctx context.Context, n int) (idRange, error) {
	for {
		r, refilled := s.tryTake(uint64(n))
		if refilled == nil {
			return r, nil
		}
		select {
		case <-refilled:
		case <-ctx.Done():
			return idRange{}, errs.ErrOverloaded
		}
	}
}

func (s *ids) tryTake(n uint64) (r idRange, refilled <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.left < idBlock/2 {
		select {
		case s.want <- struct{}{}:
		default:
		}
	}
	if s.mu.left == 0 {
		return idRange{}, s.mu.refilled
	}
	b := &s.mu.blocks[0]
	n = min(n, b.end-b.next)
	r = idRange{next: b.next, end: b.next + n}
	b.next += n
	s.mu.left -= n
	if b.next == b.end {
		s.mu.blocks = s.mu.blocks[1:]
	}
	return r, nil
}

// refill adds the block that begins at first.
func (s *ids) refill(first uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.blocks = append(s.mu.blocks, idRange{next: first, end: first + idBlock})
	s.mu.left += idBlock
	close(s.mu.refilled)
	s.mu.refilled = make(chan struct{})
}

// drop forgets all ids that are left.
func (s *ids) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.blocks, s.mu.left = nil, 0
}

func (s *ids) enough() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.left >= idBlock/2
}

// refillIDs allocates blocks as they are wanted, until ctx is done.
func (ls *Links) refillIDs(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-ls.ids.want:
		}
		if ls.ids.enough() {
			continue
		}
		first, err := ls.allocateIDs()
		switch {
		case errors.Is(err, errs.ErrNotLeader):
			continue
		case err != nil:
			ls.log.Error("allocating link ids", "error", err)
			continue // the next writer asks again
		}
		ls.ids.refill(first)
	}
}

// allocateIDs allocates a block. It is a write like any other.
func (ls *Links) allocateIDs() (first uint64, err error) {
	if err := ls.gate.enter(); err != nil {
		return 0, err
	}
	defer ls.gate.leave()
	return ls.store.AllocateIDs(idBlock)
}
