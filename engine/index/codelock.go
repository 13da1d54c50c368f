package index

import "shunt/engine/internal/limits"

// CodeLock is the right to write one code and all codes that differ from it only by case. A writer
// holds it from before it reads the link until its write is published or has failed, so that racing
// writers of a code have one order. The index does not ask for it: its users agree on it.
type CodeLock struct {
	shard  *shard
	folded string
}

// CodeLock returns the lock of code. It does not take it.
func (x *Index) CodeLock(code string) CodeLock {
	var folded [limits.MaxCodeBytes]byte
	p := placeOf(&x.key, []byte(code))
	return CodeLock{shard: &x.shards[p.shard], folded: string(foldCase(&folded, []byte(code)))}
}

// Folded returns the case-folded code. Two codes have the same lock if their folded codes are
// equal. A caller that takes several locks takes them in the order of Folded, to avoid deadlock.
func (l CodeLock) Folded() string { return l.folded }

// TryLock takes the lock and returns nil; or, if somebody holds it, returns a channel that is
// closed when the holder unlocks it.
func (l CodeLock) TryLock() (held <-chan struct{}) {
	s := l.shard
	s.mu.Lock()
	defer s.mu.Unlock()
	free, taken := s.mu.locked[l.folded]
	switch {
	case !taken:
		s.mu.locked[l.folded] = nil // mostly, nobody will wait
		return nil
	case free == nil:
		free = make(chan struct{})
		s.mu.locked[l.folded] = free
	}
	return free
}

// Unlock releases the lock, which the caller must hold.
func (l CodeLock) Unlock() {
	s := l.shard
	s.mu.Lock()
	defer s.mu.Unlock()
	if free := s.mu.locked[l.folded]; free != nil {
		close(free)
	}
	delete(s.mu.locked, l.folded)
}
