package memory

import (
	"io/fs"
	"math"
	"math/bits"
	"path"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"shunt/storage"
)

const (
	// By default it is a sixteenth of the memory that the process may use: as much as the index
	// takes that has the same number of links, roughly, and little beside the memtables' 320 MiB on
	// a machine of 2 GiB. The lower bound is what a page of links reads, many times over; blocks of
	// some 5 million links fill the upper one.
	cacheShare   = 16
	minAutoCache = 64 << 20
	maxAutoCache = 1 << 30

	// During heavy writes there are five memtables, and two or three stay: with a thirty-second each, they take a sixth
	// of a small machine's memory, and leave the rest to links. With a sixteenth, an import of a million links made a
	// process that may use 1 GiB grow by 360 MB, and so by 250; it took as long.
	memTableShare    = 32
	minMemTableBytes = 8 << 20
)

// CacheBytes returns the size of the cache of a process that may use memory bytes; 0: it is not
// known how many.
func CacheBytes(memory uint64) int64 {
	return int64(min(max(memory/cacheShare, minAutoCache), maxAutoCache))
}

// MemTableBytes returns the size of the store's memtables in a process that may use memory bytes; 0:
// it is not known how many.
func MemTableBytes(memory uint64) int64 {
	if memory == 0 {
		return storage.DefaultMemTableBytes
	}
	return int64(min(max(memory/memTableShare, minMemTableBytes), storage.DefaultMemTableBytes))
}

// Usable returns how many bytes of memory this process may use: the machine's, or what its control
// groups or GOMEMLIMIT say, if that is less; 0 if none is known.
func Usable(root fs.FS) uint64 {
	limit := min(physical(root), uint64(debug.SetMemoryLimit(-1)))
	if limit >= math.MaxInt64 {
		return 0
	}
	return limit
}

// physical returns how many bytes the machine has, or the control groups or the addresses of this process
// allow if that is less; MaxInt64 or more if none is known.
func physical(root fs.FS) uint64 { return min(groupMemory(root), machineMemory(), addressable) }

// addressable is how much memory fits the addresses of a process. One of 32 bits has 2 GiB of them on some kernels, and
// half of that is for mapped files, for gaps, and for the copies that growing makes.
const addressable = math.MaxUint64 >> (34 * (1 - bits.UintSize/64))

// groupMemory returns the lowest limit of the control groups that this process is in, of either
// version (cgroups(7)). In a container the path of a group may be the host's; then only the root is
// there, which is the container's own group.
func groupMemory(root fs.FS) uint64 {
	limit := uint64(math.MaxUint64)
	groups, _ := fs.ReadFile(root, "proc/self/cgroup") // without it there are no limits
	for line := range strings.Lines(string(groups)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3) // number:controllers:path
		if len(fields) < 3 {
			continue
		}
		top, name := "sys/fs/cgroup", "memory.max"
		if controllers := fields[1]; controllers != "" {
			if !slices.Contains(strings.Split(controllers, ","), "memory") {
				continue
			}
			top, name = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		for group := path.Clean("/" + fields[2]); ; group = path.Dir(group) {
			limit = min(limit, readLimit(root, path.Join(top, group, name)))
			if group == "/" {
				break
			}
		}
	}
	return limit
}

// readLimit reads a file with a number of bytes; without a number there is no limit.
func readLimit(root fs.FS, name string) uint64 {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return math.MaxUint64
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || n == 0 {
		return math.MaxUint64
	}
	return n
}
