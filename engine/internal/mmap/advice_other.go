//go:build !linux && !race

package mmap

// Advice that only Linux knows; other kernels answer EINVAL.
const (
	madvHugePage      = -1
	madvNoHugePage    = -1
	madvPopulateWrite = -1
	madvCollapse      = -1
)
