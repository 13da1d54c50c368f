//go:build linux && !race

package index

import (
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestTheLastSlabTakesMemoryOnlyForItsLinks asks the kernel, which may be set to huge pages for all memory.
func TestTheLastSlabTakesMemoryOnlyForItsLinks(t *testing.T) {
	var c counters
	for k := range uint64(3) {
		id := k<<slabBits + 5
		must(t, c.ensure(id))
		c.at(id).Add(k + 1)
		if pages := residentPages(t, (*c.dir.Load())[k]); pages != 1 {
			t.Errorf("slab %d has one link and %d pages of memory", k, pages)
		}
	}
	for k := range uint64(3) {
		if hits := c.at(k<<slabBits + 5).Load(); hits != k+1 {
			t.Errorf("a counter of slab %d has %d hits after others followed, want %d", k, hits, k+1)
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
