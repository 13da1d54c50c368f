//go:build linux && !race

package index

import (
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"shunt/engine/expect"
)

// TestTheLastSlabTakesMemoryOnlyForItsLinks asks the kernel, which may be set to huge pages for all memory.
func TestTheLastSlabTakesMemoryOnlyForItsLinks(t *testing.T) {
	var c counters
	idOf := func(slab int) uint64 { return uint64(slab)<<slabBits + 5 }
	for _, last := range []int{0, 3, 4} {
		expect.OK(t, c.ensure(idOf(last)))
		c.at(idOf(last)).Add(1)
		if pages := residentPages(t, (*c.dir.Load())[last]); pages != 1 {
			t.Errorf("slab %d is the last, has one link and %d pages of memory", last, pages)
		}
	}
	for _, slab := range []int{0, 3, 4} {
		if hits := c.at(idOf(slab)).Load(); hits != 1 {
			t.Errorf("a counter of slab %d has %d hits after others followed, want 1", slab, hits)
		}
	}
}

// residentPages returns how many pages of a slab have memory.
func residentPages(t *testing.T, s *slab) (pages int) {
	t.Helper()
	resident := make([]byte, len(s.bytes())/os.Getpagesize())
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(s)), unsafe.Sizeof(*s), uintptr(unsafe.Pointer(&resident[0])))
	if errno != 0 {
		t.Fatal(errno)
	}
	for _, r := range resident {
		pages += int(r & 1)
	}
	return pages
}
