//go:build linux && !race

package mmap

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"shunt/engine/expect"
)

// TestAPartIsZeroAlthoughTheKernelTakesNoMemoryBack locks the pages, which the kernel then refuses to drop.
func TestAPartIsZeroAlthoughTheKernelTakesNoMemoryBack(t *testing.T) {
	s := NewShared(512 << 20)
	p := s.Alloc(8 << 10)
	expect.MustThat(t, p.shared != nil, "the kernel has no shared memory")
	expect.OK(t, unix.Mlock(p.Bytes), "locking 8 KiB")
	expect.MustThat(t, !drop(p.Bytes), "locked memory was dropped: the test shows nothing")
	fill(p.Bytes, 7)
	p.Free()
	if p = s.Alloc(8 << 10); slices.Max(p.Bytes) != 0 {
		t.Error("a new part is not zero")
	}
	expect.OK(t, unix.Munlock(p.Bytes))
	p.Free()
}

// TestMemoryThatIsNotTouchedIsNotResident asks the kernel, which may be set to huge pages for all memory or
// not, what it was told and what it did.
func TestMemoryThatIsNotTouchedIsNotResident(t *testing.T) {
	b := Memory(3 * HugePageBytes)
	defer Unmap(b)
	b[0] = 1
	got := residentBytes(t, b)
	expect.That(t, got <= os.Getpagesize(), "one byte takes %d bytes", got)
	fill(b[:HugePageBytes], 1)
	Collapse(b[:HugePageBytes])
	b[HugePageBytes] = 1
	if got := residentBytes(t, b); got > HugePageBytes+os.Getpagesize() {
		t.Errorf("a huge page and one byte take %d bytes", got)
	}
	for at := 0; at < len(b); at += HugePageBytes {
		flags := vmFlags(t, b[at:])
		expect.That(t, slices.Contains(flags, "nh"), "at byte %d the kernel may make huge pages: flags %v", at, flags)
	}
}

// TestMakeHugeLeavesTheMemoryToBeMadeHuge: a huge page can be made at once only where something was touched. So
// the kernel must know that it may make the others later.
func TestMakeHugeLeavesTheMemoryToBeMadeHuge(t *testing.T) {
	touched, untouched := Memory(HugePageBytes), Memory(HugePageBytes)
	defer Unmap(touched)
	defer Unmap(untouched)
	touched[5] = 7
	for _, b := range [][]byte{touched, untouched} {
		MakeHuge(b)
		flags := vmFlags(t, b)
		expect.That(t, slices.Contains(flags, "hg") && !slices.Contains(flags, "nh"), "the kernel was not asked for huge pages: flags %v", flags)
	}
	expect.That(t, touched[5] == 7 && untouched[5] == 0, "bytes are %d and %d, want 7 and 0", touched[5], untouched[5])
}

func TestADroppedPartTakesNoMemoryWhenWhatLiesBesideBecomesHuge(t *testing.T) {
	s := NewShared(HugePageBytes)
	first, second := s.Alloc(HugePageBytes/2), s.Alloc(HugePageBytes/2)
	fill(first.Bytes, 1)
	fill(second.Bytes, 2)
	first.Drop()
	second.Collapse()
	expect.Equal(t, residentBytes(t, first.Bytes), 0, "the dropped part bytes")
	first.Free()
	first = s.Alloc(HugePageBytes / 2)
	fill(first.Bytes, 3)
	first.Collapse()
	expect.That(t, slices.Min(second.Bytes) == 2 && slices.Max(second.Bytes) == 2, "the other part was changed")
	first.Free()
	second.Free()
}

// residentBytes returns how much of b has memory.
func residentBytes(t *testing.T, b []byte) (sizeBytes int) {
	page := os.Getpagesize()
	resident := make([]byte, (len(b)+page-1)/page)
	_, _, err := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), uintptr(unsafe.Pointer(&resident[0])))
	expect.MustThat(t, err == 0, "%v", err)
	for _, r := range resident {
		sizeBytes += int(r&1) * page
	}
	return sizeBytes
}

// vmFlags returns the flags of the mapping that has the first byte of b, as /proc/self/smaps shows them.
func vmFlags(t *testing.T, b []byte) []string {
	f, err := os.Open("/proc/self/smaps")
	expect.OK(t, err)
	defer f.Close()
	at, here := uint64(uintptr(unsafe.Pointer(&b[0]))), false
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var start, end uint64
		if n, _ := fmt.Sscanf(lines.Text(), "%x-%x ", &start, &end); n == 2 {
			here = start <= at && at < end
		} else if flags, ok := strings.CutPrefix(lines.Text(), "VmFlags:"); ok && here {
			return strings.Fields(flags)
		}
	}
	t.Fatalf("no mapping has %#x", at)
	return nil
}

func fill(b []byte, with byte) {
	for i := range b {
		b[i] = with
	}
}
