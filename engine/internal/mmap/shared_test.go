package mmap

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"shunt/engine/expect"
)

// TestPartsAreZeroedAndNeverOverlap allocates, fills, drops and frees parts at random.
func TestPartsAreZeroedAndNeverOverlap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	s := NewShared(512 << 20)
	parts := make(map[byte]Part)
	for n := range 3000 {
		mark := byte(1 + n%100)
		if p, ok := parts[mark]; ok {
			expect.MustThat(t, !slices.ContainsFunc(p.Bytes, func(b byte) bool { return b != mark }), "part %d was overwritten", mark)
			if n%3 == 0 {
				p.Drop()
			}
			p.Free()
		}
		p := s.Alloc(8 * (1 + rng.IntN(20_000)))
		expect.MustThat(t, !slices.ContainsFunc(p.Bytes, func(b byte) bool { return b != 0 }), "a new part is not zero")
		for i := range p.Bytes {
			p.Bytes[i] = mark
		}
		p.Collapse()
		parts[mark] = p
	}
	for _, p := range parts {
		p.Free()
	}
	expect.That(t, s.memory == nil || slices.Equal(s.free, []extent{{0, len(s.memory)}}), "%d extents are free at the end, want one", len(s.free))
}

func TestAPartThatSharedMemoryHasNoRoomForIsAMappingOfItsOwn(t *testing.T) {
	s := NewShared(512 << 20)
	s.memory, s.free = nil, nil
	p := s.Alloc(3 * HugePageBytes)
	p.Bytes[0], p.Bytes[len(p.Bytes)-1] = 1, 2
	p.Collapse()
	p.Drop()
	p.Free()
	runtime.KeepAlive(s)
}
