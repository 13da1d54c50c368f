//go:build !race

package mmap

import (
	"fmt"
	"math/bits"
	"os"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Lazy reports whether memory of Memory costs something only where it is touched. On a 32-bit machine all of it
// costs addresses, of which a process has 2 or 3 GiB.
const Lazy = bits.UintSize == 64

// Memory returns sizeBytes of zeroed memory outside the Go heap; Unmap returns it to the kernel.
// Pages that are never touched take no memory, although the kernel may be set to huge pages for all. From
// HugePageBytes on it begins at the boundary of a huge page. If the kernel cannot map it, memory is used up: Memory
// panics, as the runtime ends a process that is out of memory.
func Memory(sizeBytes int) []byte {
	slack := 0
	if sizeBytes >= HugePageBytes {
		slack = HugePageBytes
	}
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(sizeBytes+slack), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		panic(fmt.Sprintf("mmap: out of memory: mapping %d bytes: %v", sizeBytes, err))
	}
	if slack > 0 {
		before := int(-uintptr(p) & (HugePageBytes - 1))
		unmapPtr(p, before)
		p = unsafe.Add(p, before)
		page := os.Getpagesize()
		unmapPtr(unsafe.Add(p, (sizeBytes+page-1)&^(page-1)), slack-before)
	}
	b := unsafe.Slice((*byte)(p), sizeBytes)
	if slack > 0 {
		_ = unix.Madvise(b, madvNoHugePage) // without it, one byte may take a huge page
	}
	return b
}

// HugeMemory is Memory for memory that will be touched everywhere: it asks for huge pages from the
// start.
func HugeMemory(sizeBytes int) []byte {
	b := Memory(sizeBytes)
	if sizeBytes >= HugePageBytes {
		_ = unix.Madvise(b, madvHugePage) // advice: without it the pages are small
	}
	return b
}

// MakeHuge asks for huge pages where memory of Memory will be touched everywhere from now on. What was touched
// is moved into one at once, and the rest gets one when it is touched. It is advice, as Collapse is.
func MakeHuge(b []byte) {
	_ = unix.Madvise(b, madvHugePage)
	_ = unix.Madvise(b, madvCollapse) // fails where nothing was touched
}

// Collapse turns full pages of a huge page's size and alignment into huge pages. It is advice: on a
// kernel before 6.1, or without free huge pages, they stay small, and look-ups have some more TLB
// misses.
//
// Pages that must not become huge by themselves (Memory) may do so only during the call. Afterwards the
// kernel leaves huge pages as they are, and does not fill up what is dropped of them.
func Collapse(b []byte) {
	_ = unix.Madvise(b, madvHugePage)
	_ = unix.Madvise(b, madvCollapse)
	_ = unix.Madvise(b, madvNoHugePage)
}

// Unmap returns memory of Memory, HugeMemory or File to the kernel.
func Unmap(b []byte) { unmapPtr(unsafe.Pointer(unsafe.SliceData(b)), len(b)) }

func unmapPtr(p unsafe.Pointer, sizeBytes int) {
	if sizeBytes == 0 {
		return
	}
	if err := unix.MunmapPtr(p, uintptr(sizeBytes)); err != nil {
		panic(fmt.Sprintf("mmap: unmapping: %v", err)) // only a wrong address fails
	}
}

// File maps the first sizeBytes of f, shared and writable. Stores belong to the kernel as soon as
// they are done, so they outlive the process.
func File(f *os.File, sizeBytes int) ([]byte, error) {
	p, err := unix.MmapPtr(int(f.Fd()), 0, nil, uintptr(sizeBytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrNoMapping, f.Name(), err)
	}
	return unsafe.Slice((*byte)(p), sizeBytes), nil
}

// MakeWritable makes the kernel do now for each page of b, part of a mapped file, the work that the
// first store into the page would cause. It may wait for the disk. It returns as an error a failure
// that would be SIGBUS in a store.
func MakeWritable(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	page := uintptr(os.Getpagesize())
	start := unsafe.Pointer(unsafe.SliceData(b))
	before := uintptr(start) & (page - 1)
	pages := unsafe.Slice((*byte)(unsafe.Add(start, -int(before))), (before+uintptr(len(b))+page-1)&^(page-1))
	switch err := unix.Madvise(pages, madvPopulateWrite); err {
	case unix.EINVAL: // before Linux 5.14, and elsewhere
		for i := 0; i < len(pages); i += int(page) {
			(*atomic.Uint64)(unsafe.Pointer(&pages[i])).Add(0)
		}
		return nil
	case unix.EINTR, unix.EAGAIN: // the next call tries again
		return nil
	default:
		return err
	}
}

// Sync writes mapped pages of a file to the disk. It reports no failure: after one the pages stay
// in the kernel, as if it had not been called.
func Sync(b []byte) { _ = unix.Msync(b, unix.MS_SYNC) }

// WriteBack does nothing in this build: stores into the mapping are stores into the file.
func WriteBack(*os.File, []byte) error { return nil }

// StoreWord stores into mapped memory. Another goroutine that reads the word atomically sees the
// old word or the new one: a store of one word is never seen in part (https://go.dev/ref/mem). A 32-bit machine
// needs two stores for it, so there it is an atomic store.
func StoreWord(p *atomic.Uint64, w uint64) {
	if bits.UintSize == 64 {
		*(*uint64)(unsafe.Pointer(p)) = w
	} else {
		p.Store(w)
	}
}

// StoreLast is StoreWord after all earlier stores. On amd64 every store is visible after earlier
// ones, and Go 1.26 compiles stores in the order in which they are written (checked in the
// disassembly of Hit, Ring.Put and the index's insertion of an entry). So it avoids the locked instruction
// of an atomic store, which would wait until their cache line has arrived. Elsewhere it is an atomic
// store, which publishes what was stored before. It is no full barrier: on amd64 a later load may be done before
// others see it, until a mutex is released or another locked instruction is done.
func StoreLast(p *atomic.Uint64, w uint64) {
	if runtime.GOARCH == "amd64" {
		*(*uint64)(unsafe.Pointer(p)) = w
	} else {
		p.Store(w)
	}
}

// StoreHalf is StoreLast for half a word.
func StoreHalf(p *atomic.Uint32, w uint32) {
	if runtime.GOARCH == "amd64" {
		*(*uint32)(unsafe.Pointer(p)) = w
	} else {
		p.Store(w)
	}
}
