package mmap

import (
	"runtime"
	"slices"
	"sync"
)

// Shared hands out memory in parts that need not be as large as a huge page, but lie in huge pages
// together. So what is a little smaller than a huge page is in one, too, and takes no more memory than
// its own pages. Its memory is unmapped when neither it nor a part is reachable.
//
// The lowest free part that is large enough is taken. So what replaces smaller parts in turn finds the
// room that they left, side by side.
type Shared struct {
	memory []byte // nil: the kernel has none

	mu      sync.Mutex
	free    []extent // by place; no two touch
	dropped []extent // not free, and without memory
}

// extent is part of a Shared's memory: whole pages.
type extent struct{ start, end int }

// Part is memory of a Shared, or a mapping of its own where that has no room.
type Part struct {
	Bytes  []byte // zeroed
	shared *Shared
	extent extent // empty: a mapping of its own
}

// NewShared returns sizeBytes of memory, whole huge pages, of which all is free. They are addresses, which
// cost nothing until they are used.
func NewShared(sizeBytes int) *Shared {
	s := &Shared{memory: sharedMemory(sizeBytes)}
	if s.memory != nil {
		s.free = []extent{{0, len(s.memory)}}
		runtime.AddCleanup(s, Unmap, s.memory)
	}
	return s
}

// Alloc returns sizeBytes of zeroed memory. The caller sees to it that Free is called.
func (s *Shared) Alloc(sizeBytes int) Part {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := sizeOfPages(sizeBytes)
	i := slices.IndexFunc(s.free, func(e extent) bool { return e.end-e.start >= taken })
	if i < 0 {
		return Part{Bytes: HugeMemory(sizeBytes)}
	}
	start := s.free[i].start
	if s.free[i].start += taken; s.free[i].start == s.free[i].end {
		s.free = slices.Delete(s.free, i, i+1)
	}
	return Part{Bytes: s.memory[start : start+sizeBytes : start+taken], shared: s, extent: extent{start, start + taken}}
}

// Free takes a part back, which nobody uses any more.
func (p Part) Free() {
	if p.shared == nil {
		Unmap(p.Bytes)
		return
	}
	s := p.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.memory[p.extent.start:p.extent.end]; !drop(b) {
		clear(b) // it stays resident, but must be zero
	}
	s.dropped = slices.DeleteFunc(s.dropped, func(e extent) bool { return e == p.extent })
	i, _ := slices.BinarySearchFunc(s.free, p.extent, func(e, of extent) int { return e.start - of.start })
	s.free = slices.Insert(s.free, i, p.extent)
	for _, k := range []int{i + 1, i} { // unite it with the next one and the one before
		if k > 0 && k < len(s.free) && s.free[k-1].end == s.free[k].start {
			s.free[k-1].end = s.free[k].end
			s.free = slices.Delete(s.free, k, k+1)
		}
	}
}

// Drop gives the memory of a part back to the kernel, before its Free. Who still reads it finds the old
// bytes or zeros.
func (p Part) Drop() {
	if s := p.shared; s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.dropped = append(s.dropped, p.extent)
	}
	drop(p.Bytes[:cap(p.Bytes)])
}

// Collapse makes huge pages of the part and of what lies in the same pages, where all of it is in use: a
// huge page takes all its memory.
func (p Part) Collapse() {
	if p.shared == nil {
		return
	}
	s := p.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	for start := p.extent.start &^ (HugePageBytes - 1); start < p.extent.end; start += HugePageBytes {
		if end := start + HugePageBytes; end <= len(s.memory) && s.allUsedLocked(extent{start, end}) {
			Collapse(s.memory[start:end])
		}
	}
}

// allUsedLocked reports whether nothing of e is free or dropped.
func (s *Shared) allUsedLocked(e extent) bool {
	meets := func(f extent) bool { return f.start < e.end && e.start < f.end }
	return !slices.ContainsFunc(s.free, meets) && !slices.ContainsFunc(s.dropped, meets)
}
