package index

import (
	"encoding/binary"

	"shunt/engine/internal/hash"
	"shunt/engine/internal/limits"
)

// CodeLock is the right to write one code and all codes that differ from it only by case, in one domain. A writer
// holds it from before it reads the link until its write is published or has failed, so that racing
// writers of a code have one order. The index does not ask for it: its users agree on it.
type CodeLock struct {
	shard  *shard
	tag    uint64
	domain Domain
	word   uint64 // the case-folded code of at most eight bytes of ASCII, filled up; 0: it is another one
	folded string // that one
}

// CodeLock returns the lock of a key. It does not take it.
func (x *Index) CodeLock(k Key) CodeLock {
	var plain, folded [limits.MaxCodeBytes]byte
	b := plain[:copy(plain[:], k.Code)]
	p := placeOf(&x.key, KeyView{Domain: k.Domain, Code: b})
	l := CodeLock{shard: &x.shards[p.shard], tag: p.tag, domain: k.Domain}
	if !isASCII(b) {
		b = foldCase(&folded, b) // which may be ASCII
	}
	if len(b) <= wordBytes && isASCII(b) {
		l.word = hash.FoldCase(wordOf(b)) // fills up with spaces, which no code has
	} else {
		l.folded = string(foldCase(&folded, b))
	}
	return l
}

// Folded returns a key that stands for the lock's, with the case-folded code. Two keys have the same lock if these
// are equal. A caller that takes several locks takes them in the order of Folded (Key.Compare), over all
// domains, to avoid deadlock.
func (l CodeLock) Folded() Key {
	if l.word == 0 {
		return Key{Domain: l.domain, Code: l.folded}
	}
	return Key{Domain: l.domain, Code: string(binary.LittleEndian.AppendUint64(nil, l.word))}
}

// heldLocks are the locks that are held. A channel is closed on Unlock; nil: nobody waits. Words have a map
// of their own, because nearly all codes are that short and need no text.
type heldLocks struct {
	words map[heldWord]chan struct{}
	texts map[Key]chan struct{}
}

type heldWord struct {
	word   uint64
	domain Domain
}

func (h *heldLocks) init() {
	h.words, h.texts = make(map[heldWord]chan struct{}), make(map[Key]chan struct{})
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
		_, held = l.shard.mu.held.words[heldWord{l.word, l.domain}]
	} else {
		_, held = l.shard.mu.held.texts[Key{Domain: l.domain, Code: l.folded}]
	}
	return held
}

func (l *CodeLock) tryLocked() (held <-chan struct{}) {
	if l.word != 0 {
		return tryLock(l.shard.mu.held.words, heldWord{l.word, l.domain})
	}
	return tryLock(l.shard.mu.held.texts, Key{Domain: l.domain, Code: l.folded})
}

func tryLock[K comparable](held map[K]chan struct{}, key K) <-chan struct{} {
	free, taken := held[key]
	switch {
	case !taken:
		held[key] = nil // mostly, nobody will wait
		return nil
	case free == nil:
		free = make(chan struct{})
		held[key] = free
	}
	return free
}

// Unlock releases the lock, which the caller must hold.
func (l *CodeLock) Unlock() {
	s := l.shard
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.word != 0 {
		unlock(s.mu.held.words, heldWord{l.word, l.domain})
	} else {
		unlock(s.mu.held.texts, Key{Domain: l.domain, Code: l.folded})
	}
}

func unlock[K comparable](held map[K]chan struct{}, key K) {
	if free := held[key]; free != nil {
		close(free)
	}
	delete(held, key)
}
