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
		expect.Equal(t, residentPages(t, (*c.dir.Load())[last]), 1, "slab %d is the last, has one link and pages of memory", last)
	}
	for _, slab := range []int{0, 3, 4} {
		expect.Equal(t, c.at(idOf(slab)).Load(), 1, "a counter of slab %d hits after others followed", slab)
	}
}

// residentPages returns how many pages of a slab have memory.
func residentPages(t *testing.T, s *slab) (pages int) {
	t.Helper()
	resident := make([]byte, len(s.bytes())/os.Getpagesize())
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(s)), unsafe.Sizeof(*s), uintptr(unsafe.Pointer(&resident[0])))
	expect.MustThat(t, errno == 0, "%v", errno)
	for _, r := range resident {
		pages += int(r & 1)
	}
	return pages
}
