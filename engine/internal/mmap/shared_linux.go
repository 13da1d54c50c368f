//go:build linux && !race

package mmap

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sharedMemory maps addresses that take memory when they are used; nil if the kernel has none, or does not
// zero what it is given back, as emulators may not.
func sharedMemory(sizeBytes int) []byte {
	size := uintptr(sizeBytes + HugePageBytes)
	p, err := unix.MmapPtr(-1, 0, nil, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return nil
	}
	before := int(-uintptr(p) & (HugePageBytes - 1))
	unmapPtr(p, before)
	p = unsafe.Add(p, before)
	unmapPtr(unsafe.Add(p, sizeBytes), HugePageBytes-before)
	b := unsafe.Slice((*byte)(p), sizeBytes)
	if !dropZeroes(b) {
		Unmap(b)
		return nil
	}
	_ = unix.Madvise(b, madvHugePage)
	return b
}

// dropZeroes reports whether drop zeroes, which it tries with the first page of b.
func dropZeroes(b []byte) bool {
	page := b[:min(len(b), os.Getpagesize())]
	page[0] = 1
	return drop(page) && page[0] == 0
}

func sizeOfPages(sizeBytes int) int {
	page := os.Getpagesize()
	return (sizeBytes + page - 1) &^ (page - 1)
}

// drop gives the whole pages of b, which starts at a page, back to the kernel. If it returns true, they are
// zero; otherwise they are as they were, because the process has locked its memory (mlockall).
func drop(b []byte) bool {
	page := os.Getpagesize()
	b = b[:len(b)&^(page-1)]
	return len(b) == 0 || unix.Madvise(b, unix.MADV_DONTNEED) == nil
}
