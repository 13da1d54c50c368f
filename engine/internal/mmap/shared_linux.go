//go:build linux && !race

package mmap

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sharedMemory maps addresses that take memory when they are used; nil if the kernel has none.
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
	_ = unix.Madvise(b, madvHugePage)
	return b
}

func sizeOfPages(sizeBytes int) int {
	page := os.Getpagesize()
	return (sizeBytes + page - 1) &^ (page - 1)
}

// drop gives pages back to the kernel, which are zero afterwards.
func drop(b []byte) {
	page := os.Getpagesize()
	if b = b[:len(b)&^(page-1)]; len(b) > 0 {
		_ = unix.Madvise(b, unix.MADV_DONTNEED)
	}
}
