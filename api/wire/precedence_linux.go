package wire

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A precedence is the place of a loop's thread before the other threads on its core. A redirect takes
// some microseconds, a flush, a compaction or the garbage collector many milliseconds, and the kernel
// gives both equal shares of the core. So a redirect that comes during a flush waits, although loops
// need little.
//
// A preferred thread has a high priority (nice). But the kernel evens out its shares within moments: a
// thread that has waited for the loop runs next, for as long as the loop ran, and nothing takes the core
// from it until it waits or the next tick comes. An immediate thread (SCHED_FIFO) has the core as soon as
// something comes. It is immediate while it handles events, and while it waits for the next ones with its P
// held (hold), which the runtime takes for running. It is lowered before it yields, waits long, or has much
// to do, and in any case after some milliseconds of work (budget).
//
// A loop that keeps its core busy has no precedence: creates, the fold and everything else would get
// next to nothing. What counts is how long the thread ran or was ready to run, so a loop that is kept
// from running does not look idle.
//
// The kernel permits both to root, or within RLIMIT_NICE and RLIMIT_RTPRIO. Without them the thread still
// has a short slice. It belongs to the goroutine of the loop.
type precedence struct {
	stat    *os.File          // of the thread; nil: there is no precedence
	set     func(level) error // of the thread
	budget  *budget           // of the thread while it is immediate; nil: it never is
	taken   bool              // the loop does not keep its core busy
	level   level
	sinceMs int64
	usedNs  int64 // at sinceMs
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
// immediate if the loop may hold a P.
func (p *precedence) begin(mayHold bool) {
	a, err := unix.SchedGetAttr(0, 0)
	if err != nil || a.Policy != unix.SCHED_NORMAL {
		return
	}
	p.set = func(l level) error { return setLevel(l, a.Nice) }
	if p.taken = p.change(preferred); !p.taken {
		_ = p.set(usual)
		return
	}
	p.stat, _ = os.Open("/proc/thread-self/schedstat")
	if p.stat == nil { // then nobody could tell whether the loop is busy
		p.take(false)
		return
	}
	if mayHold {
		p.tryImmediate()
	}
}

// tryImmediate finds out whether the kernel lets the thread become immediate, and be lowered again.
func (p *precedence) tryImmediate() {
	var err error
	if p.budget, err = newBudget(); err != nil {
		return
	}
	p.rise()
	if p.level == immediate && p.lower() {
		return
	}
	p.budget.close()
	p.budget = nil
	if p.level == immediate {
		p.take(false)
	}
}

// end leaves the thread as it is, except that it is not immediate any more.
func (p *precedence) end() {
	p.lower()
	if p.budget != nil {
		p.budget.close()
	}
	if p.stat != nil {
		p.stat.Close()
	}
}

// check takes or gives up precedence, 10 times a second. The thread must not be immediate.
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
	if p.budget != nil && !areCaught() {
		p.budget.close()
		p.budget = nil
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

// take takes precedence, or gives it up. The thread must not be immediate.
func (p *precedence) take(precedence bool) {
	want := usual
	if precedence {
		want = preferred
	}
	if p.budget != nil {
		p.budget.stop() // its end would make the thread a preferred one
	}
	if precedence != p.taken && p.change(want) {
		p.taken = precedence
	}
}

// rise makes the thread immediate if it may be.
func (p *precedence) rise() {
	if p.budget != nil && p.taken && p.level != immediate && p.budget.begin() {
		p.change(immediate)
	}
}

// lower makes an immediate thread a preferred one. It returns whether it is none any more.
func (p *precedence) lower() bool { return p.level != immediate || p.change(preferred) }

// change gives the thread a level. It returns whether the thread has it.
func (p *precedence) change(to level) bool {
	if p.level != to && p.set(to) == nil {
		p.level = to
	}
	return p.level == to
}

// hold waits for events without giving up its P, so that the goroutine goes on at once, for ms milliseconds
// at most. It returns 0 after them, and when a signal interrupts it, which the runtime sends to stop the
// goroutine. The thread is not immediate any more then, though its level still says so; call lower. That is
// done before the runtime stops the goroutine, which it usually does at the next call of a function that
// may grow the stack: this one must not.
//
//go:norace
//go:nosplit
func (p *precedence) hold(epoll int, events []unix.EpollEvent, ms int64) int {
	n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll), uintptr(unsafe.Pointer(&events[0])),
		uintptr(len(events)), uintptr(ms), 0, 0)
	if errno == 0 && n > 0 {
		return int(n)
	}
	_, _, _ = syscall.RawSyscall(unix.SYS_SCHED_SETATTR, 0, uintptr(unsafe.Pointer(&preferredAttr)), 0)
	return 0
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

// setLevel gives a level to this thread.
func setLevel(l level, usualNice int32) error {
	a := preferredAttr
	switch l {
	case usual:
		a.Nice = usualNice
	case immediate:
		a.Policy, a.Nice, a.Runtime, a.Priority = unix.SCHED_FIFO, 0, 0, 1
	}
	// Raw: what the runtime knows of is a place where it may stop the goroutine.
	_, _, errno := syscall.RawSyscall(unix.SYS_SCHED_SETATTR, 0, uintptr(unsafe.Pointer(&a)), 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// preferredAttr is what a preferred thread is for the kernel. It has a time slice so short that the kernel
// runs it soon after it wakes up: since Linux 6.12 a thread whose slice is shorter than that of the running
// one takes its place, without a larger share of the core. Threads that it makes have neither.
var preferredAttr = unix.SchedAttr{
	Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL, Flags: unix.SCHED_FLAG_RESET_ON_FORK, Nice: preferredNice, Runtime: sliceNs,
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

// sparePsOfHolding is how many Ps there must be besides those that loops hold.
const sparePsOfHolding = 2

// mayHold reports whether the loops of one more listener of the group may wait with their Ps held, and be
// immediate: all or none, so that connections fare alike. There must be Ps for all other goroutines,
// and the runtime must be able to interrupt the wait. If so, the loops count in g.holders.
func (g *Group) mayHold() bool {
	if strings.Contains(os.Getenv("GODEBUG"), "asyncpreemptoff=1") {
		return false
	}
	loops := int32(g.Loops)
	if int(g.holders.Add(loops))+sparePsOfHolding > runtime.GOMAXPROCS(0) {
		g.holders.Add(-loops)
		return false
	}
	return true
}
