//go:build linux && !race

package mmap

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAPartIsZeroAlthoughTheKernelTakesNoMemoryBack locks the pages, which the kernel then refuses to drop.
func TestAPartIsZeroAlthoughTheKernelTakesNoMemoryBack(t *testing.T) {
	s := NewShared()
	p := s.Alloc(8 << 10)
	if p.shared == nil {
		t.Fatal("the kernel has no shared memory")
	}
	if err := unix.Mlock(p.Bytes); err != nil {
		t.Fatalf("locking 8 KiB: %v", err)
	}
	if drop(p.Bytes) {
		t.Fatal("locked memory was dropped: the test shows nothing")
	}
	fill(p.Bytes, 7)
	p.Free()
	if p = s.Alloc(8 << 10); slices.Max(p.Bytes) != 0 {
		t.Error("a new part is not zero")
	}
	if err := unix.Munlock(p.Bytes); err != nil {
		t.Fatal(err)
	}
	p.Free()
}

func fill(b []byte, with byte) {
	for i := range b {
		b[i] = with
	}
}
