package loop

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"shunt/engine/expect"
)

func TestALoopHasPrecedenceUnlessItKeepsItsCoreBusy(t *testing.T) {
	name := filepath.Join(t.TempDir(), "schedstat")
	stat, err := os.Create(name)
	expect.OK(t, err)
	defer stat.Close()
	var set []bool
	p := precedence{stat: stat, taken: true, set: func(preferred bool) error { set = append(set, preferred); return nil }}
	var nowMs, ranNs, waitedNs int64 = 1000, 0, 0
	for _, c := range []struct {
		ran, waited int // of 100 ms
		want        []bool
	}{
		{50, 0, nil}, // the first shows nothing yet
		{74, 0, nil},
		{89, 0, nil},            // in between, nothing changes
		{88, 4, []bool{false}},  // as good as always
		{40, 60, []bool{false}}, // others keep it from running, so it is as busy as before
		{50, 30, []bool{false}},
		{60, 14, []bool{false, true}},
		{100, 0, []bool{false, true, false}},
	} {
		nowMs, ranNs, waitedNs = nowMs+100, ranNs+int64(c.ran)*1e6, waitedNs+int64(c.waited)*1e6
		expect.OK(t, os.WriteFile(name, fmt.Appendf(nil, "%d %d 17\n", ranNs, waitedNs), 0o600))
		p.check(nowMs)
		p.check(nowMs + 50) // too early
		expect.MustSlices(t, set, c.want, "after %d and %d ms of 100: set", c.ran, c.waited)
	}
}

func TestWithoutSchedstatALoopHasNoPrecedence(t *testing.T) {
	for _, text := range []string{"", "1 2", "1 2 3 4", "a 2 3", "1 -b 3", "99999999999999999999 1 1"} {
		ns, ok := parseSchedstat([]byte(text))
		expect.That(t, !ok, "%q: got %d", text, ns)
	}
	ns, ok := parseSchedstat([]byte("12 30 4\n"))
	expect.That(t, ok && ns == 42, "got %d, %v, want 42", ns, ok)
	stat, err := os.Open(os.DevNull)
	expect.OK(t, err)
	defer stat.Close()
	var set []bool
	p := precedence{stat: stat, taken: true, set: func(preferred bool) error { set = append(set, preferred); return nil }}
	p.check(1000)
	expect.That(t, slices.Equal(set, []bool{false}) && !p.taken, "set %v, want the usual priority", set)
}

// Where the kernel permits it, a loop's thread has precedence; elsewhere it keeps its priority. No
// thread that runs anything else changes.
func TestOnlyTheThreadOfALoopHasPrecedence(t *testing.T) {
	usual := prioritiesOfThreads(t, 1)[0]
	want := usual
	if mayTakePrecedence() {
		want = 20 - preferredNice // as the system call counts
	}
	ls := stoppedLoops(t, 1)
	ls.run()
	lp := ls.each[0]
	deadline := time.Now().Add(10 * time.Second)
	for got := 0; got != want; {
		var err error
		if got, err = unix.Getpriority(unix.PRIO_PROCESS, int(lp.thread.Load())); time.Now().After(deadline) {
			t.Fatalf("the loop's thread has the priority %d (%v), want %d", got, err, want)
		}
		runtime.Gosched()
	}
	for _, got := range prioritiesOfThreads(t, 20) { // some are new
		expect.Equal(t, got, usual, "another thread has the priority")
	}
}

// mayTakePrecedence reports whether the kernel permits it, to a thread that ends then.
func mayTakePrecedence() bool {
	may := make(chan bool)
	go func() {
		runtime.LockOSThread()
		may <- prefer(true, 0) == nil
	}()
	return <-may
}

// prioritiesOfThreads returns the priorities of n threads, each of which runs a goroutine.
func prioritiesOfThreads(t *testing.T, n int) (all []int) {
	t.Helper()
	got, done := make(chan int), make(chan bool)
	for range n {
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			priority, err := unix.Getpriority(unix.PRIO_PROCESS, unix.Gettid())
			if err != nil {
				priority = -1
			}
			got <- priority
			<-done
		}()
	}
	for range n {
		all = append(all, <-got)
	}
	close(done)
	return all
}

func TestNoThreadHasALongSliceBesideLoops(t *testing.T) {
	stoppedLoops(t, 1)
	threads, err := os.ReadDir("/proc/self/task")
	expect.OK(t, err)
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		expect.OK(t, err)
		// An error: the thread has ended. Earlier kernels than 6.12 have no slices of threads, and say 0.
		if a, err := unix.SchedGetAttr(id, 0); err == nil && a.Policy == unix.SCHED_NORMAL && a.Runtime > otherSliceNs {
			t.Errorf("thread %d has a slice of %d ns, want at most %d", id, a.Runtime, otherSliceNs)
		}
	}
}
