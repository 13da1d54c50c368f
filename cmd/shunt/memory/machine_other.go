//go:build !linux

package memory

import "math"

// On other systems the memory of the machine is not known.

func machineMemory() uint64 { return math.MaxUint64 }
