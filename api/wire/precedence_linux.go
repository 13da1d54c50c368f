package wire

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// A precedence is the place of a loop's thread before the other threads on its core. A redirect takes
// some microseconds, a flush, a compaction or the garbage collector many milliseconds, and the kernel
// gives both equal shares of the core. So a redirect that comes during a flush waits, although loops
// need little.
//
// A thread that is preferred has a high priority (nice). But the kernel's shares count over short times,
// too: a thread that has waited while the loop ran has as much again before the loop, whatever its
// priority, and keeps it until it waits or the next tick comes. An immediate thread (SCHED_FIFO) has
// the core as soon as something comes. It is that only while it handles events and waits for the next ones:
//
//   - Never when it waits for another thread of the process in a loop without rest, for that thread would
//     not run on this core; the kernel ends that after a second. The runtime waits so for a goroutine that
//     is in a system call or whose stack the collector reads. So an immediate thread waits for events
//     without giving up its P (epollHold), and is not immediate when the loop yields and during a collection
//     (Group.WithoutImmediate).
//   - Never when nothing has come for some milliseconds, because a P that is held is missing elsewhere.
//
// A loop that keeps its core busy has no precedence: creates, the fold and everything else would get
// next to nothing. What counts is how long the thread ran or was ready to run, so a loop that is kept
// from running does not look idle.
//
// The kernel permits both to root, or within RLIMIT_NICE and RLIMIT_RTPRIO. Without them the thread still
// has a short slice. All methods but lower, which others may call, belong to the loop's goroutine.
type precedence struct {
	stat         *os.File          // of the thread; nil: there is no precedence
	set          func(level) error // of the thread
	mayImmediate bool              // the kernel permits it, and it is safe
	suspended    *atomic.Int32     // above 0: no thread may be immediate now
	taken        bool              // the loop does not keep its core busy
	sinceMs      int64
	usedNs       int64 // at sinceMs

	mu struct {
		sync.Mutex
		level level
	}
}

// A level is how soon the kernel runs a thread that wakes up.
type level uint8

const (
	usual     level = iota // as all others
	preferred              // soon
	immediate              // at once
)

const (
	preferredNice     = -19
	sliceNs           = 100_000 // the shortest that the kernel gives
	otherSliceNs      = 200_000 // of all other threads; the kernel's own is some 3 ms
	precedenceEveryMs = 100

	// The shares of the time in which a loop runs or is ready to run from which on it keeps its core
	// busy, and below which it does no more.
	busyShare, calmShare = 0.9, 0.75
)

// begin gives precedence to the thread that calls it, if the kernel permits that. The thread may become
// immediate if holding says that it can wait with its P held.
func (p *precedence) begin(holding bool) {
	a, err := unix.SchedGetAttr(0, 0)
	if err != nil || a.Policy != unix.SCHED_NORMAL {
		return
	}
	thread := unix.Gettid()
	p.set = func(l level) error { return setLevel(thread, l, a.Nice) }
	if p.taken = p.change(preferred); !p.taken {
		_ = p.set(usual)
		return
	}
	p.stat, _ = os.Open("/proc/thread-self/schedstat")
	if p.stat == nil { // then nobody could tell whether the loop is busy
		p.take(false)
		return
	}
	p.mayImmediate = holding && p.set(immediate) == nil && p.set(preferred) == nil
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

// take takes precedence, or gives it up. An immediate thread must be lowered before.
func (p *precedence) take(precedence bool) {
	want := usual
	if precedence {
		want = preferred
	}
	if precedence != p.taken && p.change(want) {
		p.taken = precedence
	}
}

// rise makes the thread immediate if it may be.
func (p *precedence) rise() {
	if !p.mayImmediate || !p.taken {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.level == preferred && p.suspended.Load() == 0 && p.set(immediate) == nil {
		p.mu.level = immediate
	}
}

// lower makes an immediate thread a preferred one. It may be called by any goroutine.
func (p *precedence) lower() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.level == immediate && p.set(preferred) == nil {
		p.mu.level = preferred
	}
}

// change gives the thread a level. It returns whether the thread has it.
func (p *precedence) change(to level) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.level != to && p.set(to) == nil {
		p.mu.level = to
	}
	return p.mu.level == to
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

// setLevel gives a level to a thread, and, unless it is immediate, a time slice so short that the kernel
// runs it soon after it wakes up: since Linux 6.12 a thread whose slice is shorter than that of the
// running one takes its place, without a larger share of the core. Threads that it makes have neither.
func setLevel(thread int, l level, usualNice int32) error {
	a := unix.SchedAttr{
		Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL, Flags: unix.SCHED_FLAG_RESET_ON_FORK, Nice: usualNice, Runtime: sliceNs,
	}
	switch l {
	case preferred:
		a.Nice = preferredNice
	case immediate:
		a.Policy, a.Nice, a.Runtime, a.Priority = unix.SCHED_FIFO, 0, 0, 1
	}
	return unix.SchedSetAttr(thread, &a, 0)
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

// sparePsOfHolding is how many Ps there must be besides one for each loop, so that loops may hold theirs.
const sparePsOfHolding = 2

// mayHold reports whether n loops can wait with their Ps held. There must be Ps for all other goroutines,
// and the runtime must be able to interrupt the waits.
func mayHold(n int) bool {
	return runtime.GOMAXPROCS(0) >= n+sparePsOfHolding && !strings.Contains(os.Getenv("GODEBUG"), "asyncpreemptoff=1")
}

func (lp *loop) lower() { lp.precedence.lower() }
