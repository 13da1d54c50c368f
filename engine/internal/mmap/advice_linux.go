//go:build !race

package mmap

import "golang.org/x/sys/unix"

// Advice for unix.Madvise.
const (
	madvHugePage      = unix.MADV_HUGEPAGE
	madvNoHugePage    = unix.MADV_NOHUGEPAGE
	madvPopulateWrite = unix.MADV_POPULATE_WRITE
	madvCollapse      = 25 // MADV_COLLAPSE of linux/mman.h
)
