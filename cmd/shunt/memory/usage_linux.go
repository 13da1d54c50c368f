package memory

import (
	"bytes"
	"os"
	"strconv"
)

// kernelUsage reads what the kernel says about the memory of this process (proc_pid_status(5)). Its
// file stays open, so that a process without free descriptors still knows its memory.
type kernelUsage struct{ status *os.File }

// openKernelUsage opens the file. Without /proc read returns ok == false.
func openKernelUsage() kernelUsage {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return kernelUsage{}
	}
	return kernelUsage{f}
}

func (k kernelUsage) close() {
	if k.status != nil {
		_ = k.status.Close()
	}
}

// read returns the resident bytes of anonymous memory, with those in swap, and of files in memory.
func (k kernelUsage) read() (anonymous, shared uint64, ok bool) {
	if k.status == nil {
		return 0, 0, false
	}
	var text [8 << 10]byte // it has some 1.5 KB
	n, _ := k.status.ReadAt(text[:], 0)
	return parseStatus(text[:n])
}

func parseStatus(text []byte) (anonymous, shared uint64, ok bool) {
	resident, okAnon := statusBytes(text, "\nRssAnon:")
	shared, okShared := statusBytes(text, "\nRssShmem:")
	swapped, _ := statusBytes(text, "\nVmSwap:") // no such line without swap
	return resident + swapped, shared, okAnon && okShared
}

// statusBytes reads a line such as "RssAnon:     16956 kB".
func statusBytes(text []byte, name string) (n uint64, ok bool) {
	_, rest, found := bytes.Cut(text, []byte(name))
	fields := bytes.Fields(rest[:min(len(rest), 64)])
	if !found || len(fields) < 2 || string(fields[1]) != "kB" {
		return 0, false
	}
	kib, err := strconv.ParseUint(string(fields[0]), 10, 54)
	return kib << 10, err == nil
}
