//go:build !race

package mmap

import (
	"os"
	"testing"
	"unsafe"

	"shunt/engine/expect"
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
			expect.MustEqual(t, len(b), sizeBytes, "bytes are mapped")
			start := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
			expect.MustThat(t, sizeBytes < HugePageBytes || start%uintptr(HugePageBytes) == 0,
				"%d bytes begin at %#x, not at the boundary of a huge page", sizeBytes, start)
			expect.MustEqual(t, b[0]|b[sizeBytes-1], 0, "%d bytes are not zero", sizeBytes)
			b[0], b[sizeBytes-1] = 1, 2
			kept = append(kept, b, Memory(page))
		}
	}
	for _, b := range kept {
		expect.That(t, len(b) <= page || b[0] == 1 && b[len(b)-1] == 2, "%d bytes were changed by another mapping", len(b))
		Unmap(b)
	}
}
