package index

import (
	"encoding/binary"

	"shunt/engine/internal/hash"
	"shunt/engine/internal/limits"
)

// CodeLock is the right to write one code and all codes that differ from it only by case. A writer
// holds it from before it reads the link until its write is published or has failed, so that racing
// writers of a code have one order. The index does not ask for it: its users agree on it.
type CodeLock struct {
	shard  *shard
	tag    uint64
	word   uint64 // the case-folded code of at most eight bytes, filled up; 0: the code is longer
	folded string // a longer one
}

// CodeLock returns the lock of code. It does not take it.
func (x *Index) CodeLock(code string) CodeLock {
	var plain, folded [limits.MaxCodeBytes]byte
	b := plain[:copy(plain[:], code)]
	p := placeOf(&x.key, b)
	l := CodeLock{shard: &x.shards[p.shard], tag: p.tag}
	if len(b) <= wordBytes {
		l.word = hash.FoldCase(wordOf(b)) // fills up with spaces, which no code has
	} else {
		l.folded = string(foldCase(&folded, b))
	}
	return l
}

// Folded returns a text that stands for the case-folded code. Two codes have the same lock if their
// texts are equal. A caller that takes several locks takes them in the order of Folded, to avoid
// deadlock.
func (l CodeLock) Folded() string {
	if l.word == 0 {
		return l.folded
	}
	return string(binary.LittleEndian.AppendUint64(nil, l.word))
}

// heldLocks are the locks that are held. A channel is closed on Unlock; nil: nobody waits. Words have a map
// of their own, because nearly all codes are that short and need no text.
type heldLocks struct {
	words map[uint64]chan struct{}
	texts map[string]chan struct{}
}

func (h *heldLocks) init() {
	h.words, h.texts = make(map[uint64]chan struct{}), make(map[string]chan struct{})
}

// TryLock takes the lock and returns nil; or, if somebody holds it, returns a channel that is
// closed when the holder unlocks it.
func (l *CodeLock) TryLock() (held <-chan struct{}) {
	s := l.shard
	s.mu.Lock()
	defer s.mu.Unlock()
	return l.tryLocked()
}

// TryLockDrawn takes the lock of a drawn code and returns ok == true, or ok == false if somebody holds
// it. unknown reports that Variants would report nothing, neither records nor that they are known, as
// long as the lock is held.
func (l *CodeLock) TryLockDrawn() (ok, unknown bool) {
	s := l.shard
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.heldLocked() {
		return false, false
	}
	l.tryLocked()
	return true, len(s.mu.hidden) == 0 && !s.current.Load().hasTag(l.tag)
}

func (l *CodeLock) heldLocked() (held bool) {
	if l.word != 0 {
		_, held = l.shard.mu.held.words[l.word]
	} else {
		_, held = l.shard.mu.held.texts[l.folded]
	}
	return held
}

func (l *CodeLock) tryLocked() (held <-chan struct{}) {
	if l.word != 0 {
		return tryLock(l.shard.mu.held.words, l.word)
	}
	return tryLock(l.shard.mu.held.texts, l.folded)
}

func tryLock[K comparable](held map[K]chan struct{}, code K) <-chan struct{} {
	free, taken := held[code]
	switch {
	case !taken:
		held[code] = nil // mostly, nobody will wait
		return nil
	case free == nil:
		free = make(chan struct{})
		held[code] = free
	}
	return free
}

// Unlock releases the lock, which the caller must hold.
func (l *CodeLock) Unlock() {
	s := l.shard
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.word != 0 {
		unlock(s.mu.held.words, l.word)
	} else {
		unlock(s.mu.held.texts, l.folded)
	}
}

func unlock[K comparable](held map[K]chan struct{}, code K) {
	if free := held[code]; free != nil {
		close(free)
	}
	delete(held, code)
}
