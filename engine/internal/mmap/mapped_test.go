//go:build !race

package mmap

import (
	"os"
	"testing"
	"unsafe"
)

// The kernel chooses where mappings begin, so each size is tried several times, with mappings of
// other sizes between.
func TestMemoryOfAnySizeCanBeUsedAndReturned(t *testing.T) {
	page := os.Getpagesize()
	var kept [][]byte
	for _, sizeBytes := range []int{
		1, page - 1, page, page + 1, HugePageBytes - 1, HugePageBytes, HugePageBytes + 1,
		HugePageBytes + 3*page + 256, 2*HugePageBytes - 1, 3*HugePageBytes + page,
	} {
		for range 20 {
			b := HugeMemory(sizeBytes)
			if len(b) != sizeBytes {
				t.Fatalf("%d bytes are mapped, want %d", len(b), sizeBytes)
			}
			start := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
			if sizeBytes >= HugePageBytes && start%uintptr(HugePageBytes) != 0 {
				t.Fatalf("%d bytes begin at %#x, not at the boundary of a huge page", sizeBytes, start)
			}
			if b[0]|b[sizeBytes-1] != 0 {
				t.Fatalf("%d bytes are not zero", sizeBytes)
			}
			b[0], b[sizeBytes-1] = 1, 2
			kept = append(kept, b, Memory(page))
		}
	}
	for _, b := range kept {
		if len(b) > page && (b[0] != 1 || b[len(b)-1] != 2) {
			t.Errorf("%d bytes were changed by another mapping", len(b))
		}
		Unmap(b)
	}
}
