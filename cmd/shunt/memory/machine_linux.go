package memory

import (
	"math"

	"golang.org/x/sys/unix"
)

// machineMemory returns how many bytes of memory the machine has; MaxUint64 if that is not known.
func machineMemory() uint64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return math.MaxUint64
	}
	return uint64(info.Totalram) * uint64(info.Unit)
}
