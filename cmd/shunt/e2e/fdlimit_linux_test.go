package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"golang.org/x/sys/unix"

	"shunt/engine/expect"
)

// In these tests the process may open no more files. Either it was started with few descriptors,
// and clients hold them all, or the limit is lowered while it runs, so that it also affects the
// store's own files: in a long run its tables (a log takes the descriptor of its predecessor).
const (
	fdLimitVariable = "SHUNTTEST_FDLIMIT" // seconds

	fewDescriptors = 256
	holders        = 4 * fewDescriptors
	newConnections = 16 // clients that open one for each redirect
	longestHeld    = 5 * time.Second
	newcomerWaits  = 500 * time.Millisecond
	flushedBytes   = 200 << 20   // of memtables: they double up to 128 MiB, and then the earlier ones become a table
	newcomerLimit  = time.Second // within which a new connection must be served after descriptors are free
)

func TestAServerWithoutDescriptorsKeepsConnectionsAndLosesNothing(t *testing.T) {
	lasts := secondsOf(t, fdLimitVariable)
	memory := newMounts(t).tmpfs(2 * fullDiskBytes) // so that only descriptors are waited for
	l := newSickLoad(t, filepath.Join(memory.dir, "data"))
	l.paths = strings.Repeat("a/", 3500) // so that memtables of the store fill up
	l.createClients, l.createInterval = connections, 20*time.Millisecond
	f := &fewFiles{sickLoad: l, lasts: lasts}
	begun := time.Now()
	for i := 0; i < 2 || time.Since(begun) < lasts; i++ {
		held := min(longestHeld, lasts/2)
		if i%2 == 0 {
			f.round([]string{"prlimit", fmt.Sprintf("--nofile=%d:%d", fewDescriptors, fewDescriptors)}, func() { f.holdConnections(held) })
		} else {
			f.round(nil, func() { f.lowerLimit(held) })
		}
	}
	l.summary(fmt.Sprintf("%v of rounds without descriptors", lasts), fmt.Sprintf(
		"%d rounds of %d connections at a limit of %d, %d of a limit lowered to what is open",
		f.heldRounds, holders, fewDescriptors, f.loweredRounds),
		fmt.Sprintf("in %d of them the store had to make a table, and did as soon as it could", f.flushedRounds),
		fmt.Sprintf("new connections meanwhile: %d redirected, %d not served within %v", f.served, f.unserved, newcomerWaits),
		fmt.Sprintf("after it the first new connection served within %v, the first create within %v", rounded(f.slowestNew), rounded(f.slowestCreate)))
	l.serve(nil)
	l.timed("all of it", l.check)
	l.server.terminate()
}

// fewFiles is a load on a server that may open few files.
type fewFiles struct {
	*sickLoad
	lasts                     time.Duration
	heldRounds, loweredRounds int
	flushedRounds             int // lowered rounds in which the store had to make a table
	slowestNew, slowestCreate time.Duration

	newcomers        sync.Mutex
	served, unserved int
}

// round starts a new process, which serves well for a moment, then sick, then well again.
func (f *fewFiles) round(starter []string, sick func()) {
	f.t.Helper()
	f.serve(starter)
	f.begin()
	time.Sleep(500 * time.Millisecond)
	f.during(f.sick, sick)
	time.Sleep(500 * time.Millisecond)
	f.end()
	expect.MustThat(f.t, !f.t.Failed(), "the server said:\n%s", f.server.lastWords())
	f.server.terminate()
}

// holdConnections opens far more connections than the server may have, and keeps them idle for the
// time held.
func (f *fewFiles) holdConnections(held time.Duration) {
	f.t.Helper()
	release := f.openIdle(holders)
	f.sendNewcomers(held)
	release()
	f.heldRounds++
	f.awaitService()
}

// openIdle opens up to n connections that send nothing, as many as fit into the kernel's queue.
func (f *fewFiles) openIdle(n int) (release func()) {
	var conns []net.Conn
	for range n {
		if c, err := net.DialTimeout("tcp", f.address(), newcomerWaits); err == nil {
			conns = append(conns, c)
		}
	}
	return func() {
		for _, c := range conns {
			c.Close()
		}
	}
}

// lowerLimit leaves the running server almost no free descriptor for the time held.
func (f *fewFiles) lowerLimit(held time.Duration) {
	f.t.Helper()
	pid := f.server.cmd.Process.Pid
	var before unix.Rlimit
	expect.OK(f.t, unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &before))
	lowered := unix.Rlimit{Cur: highestDescriptor(f.t, pid) + 1, Max: before.Max}
	expect.OK(f.t, unix.Prlimit(pid, unix.RLIMIT_NOFILE, &lowered, nil))
	defer f.openIdle(fewDescriptors)() // they take the free descriptors below the highest one
	flushes, begun := f.admin.Load().flushes, time.Now()
	wants := func() bool { return f.admin.Load().memtables > flushedBytes }
	for time.Since(begun) < held || !wants() && time.Since(begun) < f.lasts {
		f.sendNewcomers(time.Second)
	}
	wanted := wants()
	expect.OK(f.t, unix.Prlimit(pid, unix.RLIMIT_NOFILE, &before, nil))
	f.loweredRounds++
	f.awaitService()
	if wanted {
		f.await("the store flushes its memtable", recoveryLimit, func() bool { return f.admin.Load().flushes > flushes })
		f.flushedRounds++
	}
}

func highestDescriptor(t *testing.T, pid int) (highest uint64) {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	expect.OK(t, err)
	for _, e := range entries {
		n, err := strconv.ParseUint(e.Name(), 10, 64)
		expect.OK(t, err)
		highest = max(highest, n)
	}
	return highest
}

func (f *fewFiles) address() string { return strings.TrimPrefix(f.server.public, "http://") }

// sendNewcomers opens a connection for each redirect for the time held. Some are served and some
// are not; both are counted.
func (f *fewFiles) sendNewcomers(held time.Duration) {
	var clients sync.WaitGroup
	until := time.Now().Add(held)
	for range newConnections {
		random := rand.New(rand.NewPCG(f.seed, f.random.Uint64()))
		clients.Go(func() {
			for time.Now().Before(until) {
				f.newcomer(f.draw(random), newcomerWaits)
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
	clients.Wait()
}

// newcomer follows a link over a new connection and reports whether it was redirected.
func (f *fewFiles) newcomer(v visit, waits time.Duration) (redirected bool) {
	begun := time.Now()
	c, err := net.DialTimeout("tcp", f.address(), waits)
	if err != nil {
		f.countNewcomer(false)
		return false
	}
	defer c.Close()
	_ = c.SetDeadline(begun.Add(waits))
	var request bytes.Buffer
	f.writeVisit(&request, v)
	response := new(fasthttp.Response)
	if _, err = c.Write(request.Bytes()); err == nil {
		err = response.Read(bufio.NewReaderSize(c, answerBytes))
	}
	if redirected = err == nil && response.StatusCode() != http.StatusServiceUnavailable; redirected || err != nil {
		f.visited(v, response, err)
	}
	if redirected {
		f.spellOf(begun).newConns.add(time.Since(begun))
	}
	f.countNewcomer(redirected)
	return redirected
}

func (f *fewFiles) countNewcomer(redirected bool) {
	f.newcomers.Lock()
	defer f.newcomers.Unlock()
	if redirected {
		f.served++
	} else {
		f.unserved++
	}
}

// awaitService waits until new connections are served and creates succeed, once descriptors are
// free again.
func (f *fewFiles) awaitService() {
	f.t.Helper()
	free := time.Now()
	took := f.await("a new connection is served", recoveryLimit, func() bool { return f.newcomer(f.draw(f.random), recoveryLimit) })
	expect.That(f.t, took <= newcomerLimit, "after descriptors were free, a new connection was served after %v", took)
	f.slowestNew = max(f.slowestNew, took)
	f.slowestCreate = max(f.slowestCreate, f.awaitCreate(free))
}
