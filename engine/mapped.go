//go:build !race

package engine

import (
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapMemory returns sizeBytes of zeroed memory outside the Go heap, which unmap gives back. What is never touched of it
// takes no memory. From hugePageBytes on it begins at a huge page's boundary. That the kernel cannot map is out of
// memory, and ends the process as the runtime ends it.
func mapMemory(sizeBytes int) []byte {
	slack := 0
	if sizeBytes >= hugePageBytes {
		slack = hugePageBytes
	}
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(sizeBytes+slack), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		panic(fmt.Sprintf("engine: out of memory: mapping %d bytes: %v", sizeBytes, err))
	}
	if slack > 0 {
		before := int(-uintptr(p) & (hugePageBytes - 1))
		unmapPtr(p, before)
		p = unsafe.Add(p, before)
		unmapPtr(unsafe.Add(p, sizeBytes), slack-before)
	}
	return unsafe.Slice((*byte)(p), sizeBytes)
}

// mapHuge is mapMemory for memory that will be touched all over: it asks for huge pages from the start.
func mapHuge(sizeBytes int) []byte {
	b := mapMemory(sizeBytes)
	if sizeBytes >= hugePageBytes {
		_ = unix.Madvise(b, unix.MADV_HUGEPAGE) // advice: without it the pages are small
	}
	return b
}

// collapse turns full pages of a huge page's size and alignment into huge pages. It is advice: on a kernel before 6.1,
// or without free huge pages, they stay small, and look-ups cost some TLB misses more.
func collapse(b []byte) {
	const madvCollapse = 25 // MADV_COLLAPSE of linux/mman.h
	_ = unix.Madvise(b, madvCollapse)
}

// unmap gives back what mapMemory, mapHuge or mapFile returned.
func unmap(b []byte) { unmapPtr(unsafe.Pointer(unsafe.SliceData(b)), len(b)) }

func unmapPtr(p unsafe.Pointer, sizeBytes int) {
	if sizeBytes == 0 {
		return
	}
	if err := unix.MunmapPtr(p, uintptr(sizeBytes)); err != nil {
		panic(fmt.Sprintf("engine: unmapping: %v", err)) // only a wrong address fails
	}
}

// mapFile maps the first sizeBytes of f shared and writable: stores belong to the kernel as soon as they are done, so
// that they outlive the process.
func mapFile(f *os.File, sizeBytes int) ([]byte, error) {
	p, err := unix.MmapPtr(int(f.Fd()), 0, nil, uintptr(sizeBytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errNoMapping, f.Name(), err)
	}
	return unsafe.Slice((*byte)(p), sizeBytes), nil
}

// makeWritable does what the first store into each page of b would make the kernel do, b being of a mapped file. It may wait
// for the disk, and an error is one that would be SIGBUS in a store.
func makeWritable(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	page := uintptr(os.Getpagesize())
	start := unsafe.Pointer(unsafe.SliceData(b))
	before := uintptr(start) & (page - 1)
	pages := unsafe.Slice((*byte)(unsafe.Add(start, -int(before))), (before+uintptr(len(b))+page-1)&^(page-1))
	switch err := unix.Madvise(pages, unix.MADV_POPULATE_WRITE); err {
	case unix.EINVAL: // before Linux 5.14
		for i := 0; i < len(pages); i += int(page) {
			atomic.AddUint64((*uint64)(unsafe.Pointer(&pages[i])), 0)
		}
		return nil
	case unix.EINTR, unix.EAGAIN: // until the next time
		return nil
	default:
		return err
	}
}

// syncPages writes mapped pages of a file to the disk. That it cannot be done leaves what it was to prevent possible, and
// nothing else.
func syncPages(b []byte) { _ = unix.Msync(b, unix.MS_SYNC) }

// writeBack has nothing to do: stores into the mapping are stores into the file.
func writeBack(*os.File, []byte) error { return nil }

// storeWord stores into mapped memory. Another goroutine that reads it atomically sees the old word or the new one: a store of
// one word is never seen in part (https://go.dev/ref/mem).
func storeWord(p *uint64, w uint64) { *p = w }

// storeLast is storeWord after all stores before it. On amd64 every store is, and Go 1.26 compiles them in the order in which they
// are written (by the disassembly of Hit and ring.append); so it is spared the locked instruction of an atomic one, which would
// wait until their cache line has come.
func storeLast(p *uint64, w uint64) {
	if runtime.GOARCH == "amd64" {
		*p = w
	} else {
		atomic.StoreUint64(p, w)
	}
}
