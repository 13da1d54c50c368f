package wire

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// A precedence lets a loop's thread run before the other threads on its core. A redirect takes
// some microseconds, a flush, a compaction or the garbage collector many milliseconds, and the kernel
// gives both equal shares of the core. So without precedence a redirect that comes during a flush
// waits, although loops need little. A preferred thread has a high priority (nice) and a short time slice.
//
// A loop that keeps its core busy has no precedence: creates, the fold and everything else would get
// next to nothing. What counts is how long the thread ran or was ready to run, so a loop that is kept
// from running does not look idle.
//
// The kernel permits the priority to root, or within RLIMIT_NICE. Without it the thread still has the short
// slice. The precedence belongs to the goroutine of the loop.
type precedence struct {
	stat    *os.File                   // of the thread; nil: there is no precedence
	set     func(preferred bool) error // of the thread
	taken   bool                       // the loop does not keep its core busy
	sinceMs int64
	usedNs  int64 // at sinceMs
}

const (
	preferredNice     = -19
	sliceNs           = 100_000 // the shortest that the kernel gives
	otherSliceNs      = 200_000 // of all other threads; the kernel's own is some 3 ms
	precedenceEveryMs = 100

	// A loop counts as busy once it runs, or is ready to run, for the first share of the time, and as idle again
	// below the second.
	busyShare, calmShare = 0.9, 0.75
)

// begin gives precedence to the thread that calls it, if the kernel permits that.
func (p *precedence) begin() {
	a, err := unix.SchedGetAttr(0, 0)
	if err != nil || a.Policy != unix.SCHED_NORMAL {
		return
	}
	p.set = func(preferred bool) error { return prefer(preferred, a.Nice) }
	if p.take(true); !p.taken {
		_ = p.set(false) // the short slice needs no permission
		return
	}
	p.stat, _ = os.Open("/proc/thread-self/schedstat")
	if p.stat == nil { // then it is not known whether the loop is busy
		p.take(false)
	}
}

func (p *precedence) end() {
	if p.stat != nil {
		p.stat.Close()
	}
}

// check takes or gives up precedence, 10 times a second.
func (p *precedence) check(nowMs int64) {
	passed := nowMs - p.sinceMs
	if p.stat == nil || passed < precedenceEveryMs {
		return
	}
	used, ok := p.used()
	if !ok {
		p.take(false)
		return
	}
	share := float64(used-p.usedNs) / 1e6 / float64(passed)
	first := p.sinceMs == 0
	p.sinceMs, p.usedNs = nowMs, used
	switch {
	case first:
	case share >= busyShare:
		p.take(false)
	case share < calmShare:
		p.take(true)
	}
}

// take takes precedence, or gives it up.
func (p *precedence) take(precedence bool) {
	if precedence != p.taken && p.set(precedence) == nil {
		p.taken = precedence
	}
}

// used returns how many nanoseconds the thread has run or been ready to run.
func (p *precedence) used() (ns int64, ok bool) {
	var b [96]byte
	n, _ := p.stat.ReadAt(b[:], 0)
	return parseSchedstat(b[:n])
}

// parseSchedstat reads the schedstat of a thread: nanoseconds on a core, nanoseconds ready to run, and
// a count (sched-stats.rst of the kernel).
func parseSchedstat(text []byte) (ns int64, ok bool) {
	fields := bytes.Fields(text)
	if len(fields) != 3 {
		return 0, false
	}
	for _, field := range fields[:2] {
		part, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return 0, false
		}
		ns += part
	}
	return ns, true
}

// prefer makes this thread a preferred one, or one with the given priority and a short slice. Since
// Linux 6.12 a thread whose slice is shorter than that of the running one takes its place when it wakes
// up, without a larger share of the core. Threads that it makes have neither.
func prefer(preferred bool, usualNice int32) error {
	a := unix.SchedAttr{
		Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL, Flags: unix.SCHED_FLAG_RESET_ON_FORK, Nice: usualNice, Runtime: sliceNs,
	}
	if preferred {
		a.Nice = preferredNice
	}
	return unix.SchedSetAttr(0, &a, 0)
}

// shortenSlices gives short time slices to the threads of this process that have longer ones; those
// that they make have them, too. A loop that yields needs another thread, which gives its P back. While
// a flush has the core, that thread waits for the end of a slice, and so do redirects. It gets no
// larger share of the core; before Linux 6.12, and where the kernel refuses, nothing changes.
func shortenSlices() {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		if err != nil {
			continue
		}
		a, err := unix.SchedGetAttr(id, 0)
		if err == nil && a.Policy == unix.SCHED_NORMAL && a.Runtime > otherSliceNs {
			a.Runtime = otherSliceNs
			_ = unix.SchedSetAttr(id, a, 0)
		}
	}
}
