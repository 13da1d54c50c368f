package wire

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestALoopHasPrecedenceUnlessItKeepsItsCoreBusy(t *testing.T) {
	name := filepath.Join(t.TempDir(), "schedstat")
	stat, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer stat.Close()
	var set []level
	p := precedence{stat: stat, taken: true, level: preferred, set: func(l level) error { set = append(set, l); return nil }}
	var nowMs, ranNs, waitedNs int64 = 1000, 0, 0
	for _, c := range []struct {
		ran, waited int // of 100 ms
		want        []level
	}{
		{50, 0, nil}, // the first shows nothing yet
		{74, 0, nil},
		{89, 0, nil},             // in between, nothing changes
		{88, 4, []level{usual}},  // as good as always
		{40, 60, []level{usual}}, // others keep it from running, so it is as busy as before
		{50, 30, []level{usual}},
		{60, 14, []level{usual, preferred}},
		{100, 0, []level{usual, preferred, usual}},
	} {
		nowMs, ranNs, waitedNs = nowMs+100, ranNs+int64(c.ran)*1e6, waitedNs+int64(c.waited)*1e6
		if err := os.WriteFile(name, fmt.Appendf(nil, "%d %d 17\n", ranNs, waitedNs), 0o600); err != nil {
			t.Fatal(err)
		}
		p.check(nowMs)
		p.check(nowMs + 50) // too early
		if !slices.Equal(set, c.want) {
			t.Fatalf("after %d and %d ms of 100: set %v, want %v", c.ran, c.waited, set, c.want)
		}
	}
}

func TestWithoutSchedstatALoopHasNoPrecedence(t *testing.T) {
	for _, text := range []string{"", "1 2", "1 2 3 4", "a 2 3", "1 -b 3", "99999999999999999999 1 1"} {
		if ns, ok := parseSchedstat([]byte(text)); ok {
			t.Errorf("%q: got %d", text, ns)
		}
	}
	if ns, ok := parseSchedstat([]byte("12 30 4\n")); !ok || ns != 42 {
		t.Errorf("got %d, %v, want 42", ns, ok)
	}
	stat, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer stat.Close()
	var set []level
	p := precedence{stat: stat, taken: true, level: preferred, set: func(l level) error { set = append(set, l); return nil }}
	p.check(1000)
	if !slices.Equal(set, []level{usual}) || p.taken {
		t.Errorf("set %v, want the usual priority", set)
	}
}

// Where the kernel permits it, a loop's thread has precedence; elsewhere it keeps its priority. No
// thread that runs anything else changes.
func TestOnlyTheThreadOfALoopHasPrecedence(t *testing.T) {
	usual := prioritiesOfThreads(t, 1)[0]
	want := usual
	if mayTakePrecedence() {
		want = 20 - preferredNice // as the system call counts
	}
	st := newLoopSite(t, 1, Limits{})
	lp := st.l.loops.each[0]
	deadline := time.Now().Add(10 * time.Second)
	for got := 0; got != want; {
		var err error
		if got, err = unix.Getpriority(unix.PRIO_PROCESS, int(lp.thread.Load())); time.Now().After(deadline) {
			t.Fatalf("the loop's thread has the priority %d (%v), want %d", got, err, want)
		}
		runtime.Gosched()
	}
	for _, got := range prioritiesOfThreads(t, 20) { // some are new
		if got != usual {
			t.Errorf("another thread has the priority %d, want %d", got, usual)
		}
	}
}

// mayTakePrecedence reports whether the kernel permits it, to a thread that ends then.
func mayTakePrecedence() bool {
	may := make(chan bool)
	go func() {
		runtime.LockOSThread()
		may <- setLevel(preferred, 0) == nil
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
	newLoopSite(t, 1, Limits{})
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		if err != nil {
			t.Fatal(err)
		}
		// An error: the thread has ended. Earlier kernels than 6.12 have no slices of threads, and say 0.
		if a, err := unix.SchedGetAttr(id, 0); err == nil && a.Policy == unix.SCHED_NORMAL && a.Runtime > otherSliceNs {
			t.Errorf("thread %d has a slice of %d ns, want at most %d", id, a.Runtime, otherSliceNs)
		}
	}
}

// needsHandler skips a test of budgets where no thread has one.
func needsHandler(t *testing.T) {
	t.Helper()
	if onBudget() == 0 {
		t.Skip("there is no handler in assembly for " + runtime.GOARCH)
	}
}

// testBudget returns the budget of this thread.
func testBudget(t *testing.T) *budget {
	t.Helper()
	needsHandler(t)
	b, err := newBudget()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAThreadIsImmediateOnlyWhileItMayBe(t *testing.T) {
	runtime.LockOSThread() // the thread ends with the test
	budget := testBudget(t)
	defer budget.close()
	var set []level
	p := precedence{budget: budget, taken: true, level: preferred, set: func(l level) error { set = append(set, l); return nil }}
	wants := func(want ...level) {
		t.Helper()
		if !slices.Equal(set, want) {
			t.Errorf("set %v, want %v", set, want)
		}
		set = nil
	}
	p.rise()
	p.rise()
	wants(immediate)
	p.lower()
	p.lower()
	wants(preferred)
	p.take(false)
	p.rise()
	wants(usual)
	p.take(true)
	p.budget = nil
	p.rise()
	wants(preferred)
}

// A loop that runs on and on, as in a wait without rest for another thread, does not keep its core.
func TestAnImmediateThreadThatRunsOnIsLowered(t *testing.T) {
	runtime.LockOSThread()
	needsHandler(t)
	before := overruns.Load()
	var p precedence
	p.begin(true)
	defer p.end()
	if p.budget == nil { // the kernel does not permit it: then the signal alone
		if mayBeImmediate() {
			t.Fatal("the thread may be immediate, but is not")
		}
		p.budget = testBudget(t)
		p.budget.begin()
	} else if p.rise(); policy(t, 0) != unix.SCHED_FIFO {
		t.Fatalf("the policy is %d, want SCHED_FIFO", policy(t, 0))
	}
	awaitOverrun(t, before)
	if policy(t, 0) != unix.SCHED_NORMAL {
		t.Errorf("the policy is %d, want SCHED_NORMAL", policy(t, 0))
	}
}

// A loop that has given up its precedence does not get it back by the end of a budget.
func TestABudgetThatIsStoppedEndsWithoutASignal(t *testing.T) {
	runtime.LockOSThread()
	b := testBudget(t)
	defer b.close()
	other := testBudget(t)
	defer other.close()
	before := overruns.Load()
	b.begin()
	b.stop()
	other.setTime(2 * budgetNs)
	awaitOverrun(t, before)
	if got := overruns.Load() - before; got != 1 {
		t.Errorf("%d signals, want one", got)
	}
}

// The program that starts ours may have blocked all signals.
func TestABudgetEndsAlthoughItsSignalWasBlocked(t *testing.T) {
	runtime.LockOSThread()
	var all unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &all, nil); err != nil {
		t.Fatal(err)
	}
	b := testBudget(t)
	defer b.close()
	before := overruns.Load()
	b.begin()
	awaitOverrun(t, before)
}

// A package that has Go catch all signals takes the handler away; then no thread is immediate.
func TestWithoutItsHandlerABudgetIsGivenUp(t *testing.T) {
	runtime.LockOSThread()
	b := testBudget(t)
	ours, err := signalAction(budgetSignal, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if _, err := signalAction(budgetSignal, &ours); err != nil {
			t.Error(err)
		}
	}()
	stat, err := os.Open("/proc/thread-self/schedstat")
	if err != nil {
		t.Fatal(err)
	}
	defer stat.Close()
	p := precedence{stat: stat, budget: b, taken: true, level: preferred, set: func(level) error { return nil }}
	if p.check(1000); p.budget == nil {
		t.Fatal("the budget is given up, although its handler is there")
	}
	other := ours
	other.handler = 1 // SIG_IGN
	if _, err := signalAction(budgetSignal, &other); err != nil {
		t.Fatal(err)
	}
	if p.check(1100); p.budget != nil {
		t.Error("the budget has no handler, and is not given up")
	}
	if p.rise(); p.level == immediate {
		t.Error("the thread is immediate without a budget")
	}
}

// awaitOverrun runs on until a budget has ended with a signal.
func awaitOverrun(t *testing.T, before uint64) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); overruns.Load() == before; {
		if time.Now().After(deadline) {
			t.Fatal("no signal has ended the budget")
		}
	}
}

// Loops that wait with their Ps held keep neither a collection, which stops all goroutines, nor another
// goroutine from running.
func TestLoopsThatHoldTheirPsHoldNothingUp(t *testing.T) {
	const loops = 2
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(loops + sparePsOfHolding))
	st := newLoopSite(t, loops, Limits{Connections: 10})
	var ended atomic.Bool
	var traffic sync.WaitGroup
	defer traffic.Wait()
	defer ended.Store(true)
	for range 4 {
		c, answers := st.dial(requestText("GET", "/x"))
		traffic.Go(func() {
			for !ended.Load() {
				answer, err := http.ReadResponse(answers, nil)
				if err != nil || answer.StatusCode != http.StatusFound {
					t.Errorf("got %v, %v", answer, err)
					return
				}
				if _, err := io.WriteString(c, requestText("GET", "/x")); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	if onBudget() != 0 && mayTakePrecedence() && mayBeImmediate() {
		awaitHold(t, st)
	}
	for range 20 {
		if got := st.talk(requestText("GET", "/a/b")); !bytes.Contains(got, []byte("Via: fasthttp")) { // from another goroutine
			t.Errorf("got %q", got)
		}
		runtime.GC()
	}
}

// policy returns the policy of the kernel's scheduler for a thread; 0: this one.
func policy(t *testing.T, thread int) uint32 {
	a, err := unix.SchedGetAttr(thread, 0)
	if err != nil {
		t.Fatal(err)
	}
	return a.Policy
}

// awaitHold waits until a loop's thread sleeps and is immediate, which is so only while it holds its P.
// Another loop may have no connection.
func awaitHold(t *testing.T, st *loopSite) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; runtime.Gosched() {
		for _, lp := range st.l.loops.each {
			thread := int(lp.thread.Load())
			stat, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/stat", thread))
			if err == nil && bytes.Contains(stat, []byte(") S ")) && policy(t, thread) == unix.SCHED_FIFO {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatal("no loop holds its P while it waits")
		}
	}
}

// mayBeImmediate reports whether the kernel permits it, to a thread that ends then.
func mayBeImmediate() bool {
	may := make(chan bool)
	go func() {
		runtime.LockOSThread()
		may <- setLevel(immediate, 0) == nil && setLevel(preferred, 0) == nil
	}()
	return <-may
}

func TestPsAreHeldOnlyWhereThereAreOthers(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(7))
	g := &Group{Loops: 2}
	for listener, want := range []bool{true, true, false} {
		if got := g.mayHold(); got != want {
			t.Errorf("listener %d with 2 loops and 7 Ps: got %v", listener, got)
		}
	}
	g.holders.Add(-2)
	if !g.mayHold() {
		t.Error("two loops have ended, but no others may hold their Ps")
	}
	t.Setenv("GODEBUG", "gctrace=0,asyncpreemptoff=1")
	if (&Group{Loops: 1}).mayHold() {
		t.Error("nothing interrupts a wait, but a loop may hold its P")
	}
}

// If the kernel permits only to raise a thread, or only to lower it, the thread is not immediate.
func TestAThreadThatCannotBeLoweredIsNeverImmediate(t *testing.T) {
	runtime.LockOSThread()
	for _, denied := range []level{preferred, immediate} {
		was := []level{usual, preferred}[denied-preferred]
		var set []level
		p := precedence{level: was, taken: true, set: func(l level) error {
			if set = append(set, l); l == denied {
				return unix.EPERM
			}
			return nil
		}}
		p.tryImmediate()
		if p.rise(); p.level != was || p.budget != nil {
			t.Errorf("%d is denied: level %d after %v", denied, p.level, set)
		}
	}
}
