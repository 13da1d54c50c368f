package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/engine/expect"
)

// This file has the clients of a server whose disk is sick (full, or stalled), or that has no
// descriptors left. They continue in any case, and note the answers and the times. Afterwards the
// checks are those of survivor_test.go: a request that was answered has its
// effect, once; a request with an unknown outcome has its whole effect, or none.
const (
	redirectClients = 2                     // one request after the other
	pacedClients    = 4                     // together pacedRate a second, independent of the others
	pacedRate       = 200                   // requests a second
	createClients   = 4                     // by default
	createInterval  = 50 * time.Millisecond // of each, by default
	readInterval    = 20 * time.Millisecond // of statistics
	watchInterval   = 20 * time.Millisecond // of the admin address

	// createLimit is the default time within which every create must be answered: 2 s, and some more
	// for a client that shares two cores with all others and the server.
	createLimit = 3 * time.Second

	// recoveryLimit is the time within which creates must succeed again.
	recoveryLimit = 10 * time.Second
)

// sickLoad is the clients. They count in one spell while all is well, and in another while it is
// not; both may recur.
type sickLoad struct {
	*survivors
	paths   string // of the targets: longer ones fill memtables faster
	unnamed bool   // half of the creates leave the code to the server

	createClients  int
	createInterval time.Duration
	createLimit    time.Duration

	well, sick   *spell
	now          atomic.Pointer[spell]
	wellSince    atomic.Int64 // Unix nanoseconds, 0 before the first sick spell
	lastRedirect atomic.Int64 // Unix nanoseconds
	lastCreate   atomic.Int64 // when the latest successful one was sent; Unix nanoseconds
	admin        atomic.Pointer[adminView]
	failures     atomic.Int64

	stopping chan struct{}
	clients  sync.WaitGroup

	repeats struct {
		sync.Mutex
		unknown []sentCreate
	}
}

// A sentCreate is a create whose outcome is unknown.
type sentCreate struct {
	draft
	key string
}

func newSickLoad(t *testing.T, dir string) *sickLoad {
	t.Helper()
	seed := numberOf(t, seedVariable, rand.Uint64())
	t.Logf("%s=%d", seedVariable, seed)
	return &sickLoad{
		survivors: &survivors{
			e2e: &e2e{t: t, random: rand.New(rand.NewPCG(seed, 0))}, dir: dir, seed: seed,
			lines: []string{"https://example.org/sick", "http://example.net/disk?x=1"},
		},
		createClients: createClients, createInterval: createInterval, createLimit: createLimit,
		well: newSpell("well"), sick: newSpell("sick"),
	}
}

// serve starts a server on the folder.
func (l *sickLoad) serve(starter []string, args ...string) {
	l.t.Helper()
	l.server = launchThrough(l.t, starter, l.dir, append(sickArgs(), args...)...).waitReady()
}

func sickArgs() []string {
	return []string{"--trusted-proxy", "127.0.0.1", "--base-url", "https://sho.rt", "--private-targets", "allow"}
}

// begin makes the first links, if there are none, and starts the clients.
func (l *sickLoad) begin() {
	l.t.Helper()
	l.now.Store(l.well)
	if l.token == "" {
		l.token = l.server.token("links:write", "links:read", "stats:read", "admin")
		l.each(firstLinks, func(c *fasthttp.HostClient, _ int) { l.create(c) })
	}
	if l.t.Failed() {
		l.t.FailNow()
	}
	l.stopping = make(chan struct{})
	l.lastRedirect.Store(time.Now().UnixNano())
	l.start(redirectClients, func(c *fasthttp.HostClient, random *rand.Rand) {
		l.follow(c, time.Now(), random, func(s *spell) *latencies { return &s.redirects })
	})
	l.startPaced(pacedClients, time.Second*pacedClients/pacedRate, func(c *fasthttp.HostClient, due time.Time, random *rand.Rand) {
		l.follow(c, due, random, func(s *spell) *latencies { return &s.paced })
	})
	l.startPaced(l.createClients, l.createInterval, func(c *fasthttp.HostClient, _ time.Time, _ *rand.Rand) { l.create(c) })
	l.startPaced(1, readInterval, func(c *fasthttp.HostClient, _ time.Time, random *rand.Rand) { l.readStats(c, random) })
	l.startPaced(1, watchInterval, func(*fasthttp.HostClient, time.Time, *rand.Rand) { l.watch() })
	l.t.Cleanup(l.end)
}

// end stops the clients and waits for them. It may be called twice.
func (l *sickLoad) end() {
	select {
	case <-l.stopping:
	default:
		close(l.stopping)
	}
	l.clients.Wait()
	http.DefaultClient.CloseIdleConnections()
}

func (l *sickLoad) client() *fasthttp.HostClient {
	return &fasthttp.HostClient{
		Addr: strings.TrimPrefix(l.server.public, "http://"), MaxConns: 1, MaxIdemponentCallAttempts: 1,
		DisablePathNormalizing: true, NoDefaultUserAgentHeader: true, ReadTimeout: time.Minute, ReadBufferSize: answerBytes,
	}
}

// start starts n clients that each call do again and again.
func (l *sickLoad) start(n int, do func(c *fasthttp.HostClient, random *rand.Rand)) {
	for range n {
		random := rand.New(rand.NewPCG(l.seed, l.random.Uint64()))
		l.clients.Go(func() {
			c := l.client()
			defer c.CloseIdleConnections() // a server that stops waits for idle ones
			for !l.stopped() {
				do(c, random)
			}
		})
	}
}

// startPaced starts n clients that each call do at fixed times. A client that is late makes the
// calls that are due at once.
func (l *sickLoad) startPaced(n int, interval time.Duration, do func(c *fasthttp.HostClient, due time.Time, random *rand.Rand)) {
	l.start(n, func(c *fasthttp.HostClient, random *rand.Rand) {
		for due := time.Now(); !l.stopped(); due = due.Add(interval) {
			time.Sleep(time.Until(due))
			do(c, due, random)
		}
	})
}

func (l *sickLoad) stopped() bool {
	return closed(l.stopping)
}

// during counts what the clients see in spell s while step runs.
func (l *sickLoad) during(s *spell, step func()) {
	l.now.Store(s)
	step()
	l.wellSince.Store(time.Now().UnixNano())
	l.now.Store(l.well)
}

// spellOf returns the spell of a request that ends now and was due at a time: if the disk was sick
// at any time in between, the sick one.
func (l *sickLoad) spellOf(due time.Time) *spell {
	if due.UnixNano() < l.wellSince.Load() {
		return l.sick
	}
	return l.now.Load()
}

// follow follows a link at a time when that is due; of selects the latencies of a spell that it
// adds to. Every redirect must get the right answer.
func (l *sickLoad) follow(c *fasthttp.HostClient, due time.Time, random *rand.Rand, of func(*spell) *latencies) {
	v := l.draw(random)
	if !l.visit(c, v) {
		l.failed("a redirect was not answered")
		return
	}
	now := time.Now()
	s := l.spellOf(due)
	of(s).add(now.Sub(due))
	gap := now.UnixNano() - l.lastRedirect.Swap(now.UnixNano())
	for longest := s.longestGap.Load(); gap > longest && !s.longestGap.CompareAndSwap(longest, gap); {
		longest = s.longestGap.Load()
	}
}

// failed fails the test, and prints the first failures.
func (l *sickLoad) failed(format string, args ...any) {
	const often = 20
	if l.failures.Add(1) <= often {
		l.t.Errorf(format, args...)
	} else {
		l.t.Fail()
	}
}

// create makes a link. The answer must be one that a sick disk allows, and come in time.
func (l *sickLoad) create(c *fasthttp.HostClient) {
	n := l.drafts.Add(1)
	d := sentCreate{l.draft(n), fmt.Sprintf("sick-%d", n)}
	begun := time.Now()
	response, err := l.post(c, d)
	took, s := time.Since(begun), l.spellOf(begun)
	if err != nil {
		l.failed("a create was not answered after %v: %v", took, err)
		l.unknown(d)
		return
	}
	s.creates.add(took)
	if took > l.createLimit {
		l.failed("a create took %v", took)
	}
	s.count(s.outcomes, l.settle(d, response, begun))
}

func (l *sickLoad) draft(n uint64) draft {
	d := draft{
		URL:   fmt.Sprintf("%s/%s%d", l.lines[n%uint64(len(l.lines))], l.paths, n),
		Title: fmt.Sprintf("Nr. %d <ü>", n), Tags: []string{"sick", fmt.Sprint(n % 7)},
	}
	if !l.unnamed || n%2 == 0 {
		d.Alias = fmt.Sprintf("Sick-%d", n)
	}
	return d
}

func (l *sickLoad) post(c *fasthttp.HostClient, d sentCreate) (*fasthttp.Response, error) {
	body, err := json.Marshal(d.draft)
	if err != nil {
		return nil, err
	}
	header := map[string]string{
		"Authorization": "Bearer " + l.token, "Content-Type": "application/json", "Idempotency-Key": d.key,
	}
	return l.try(c, http.MethodPost, "/api/v1/shorten", header, body)
}

// settle notes the outcome of a create, and returns it as one word.
func (l *sickLoad) settle(d sentCreate, response *fasthttp.Response, begun time.Time) (outcome string) {
	if response.StatusCode() == http.StatusCreated {
		l.add(d.draft, response, http.StatusCreated)
		l.lastCreate.Store(max(l.lastCreate.Load(), begun.UnixNano()))
		return "201"
	}
	problem := struct{ Code string }{}
	_ = json.Unmarshal(response.Body(), &problem) // without a problem there is no code
	switch {
	case response.StatusCode() != http.StatusServiceUnavailable:
	case problem.Code == "outcome_unknown":
		l.unknown(d)
		return problem.Code
	case problem.Code == "read_only":
		l.mu.Lock()
		defer l.mu.Unlock()
		if d.Alias != "" {
			l.unborn = append(l.unborn, d.Alias)
		}
		expect.That(l.t, len(response.Header.Peek("Retry-After")) != 0, "read_only without Retry-After")
		return problem.Code
	}
	l.failed("a create: got %d %s", response.StatusCode(), response.Body())
	return fmt.Sprint(response.StatusCode(), " ", problem.Code)
}

// unknowns returns the number of creates with an unknown outcome.
func (l *sickLoad) unknowns() int {
	l.repeats.Lock()
	defer l.repeats.Unlock()
	return len(l.repeats.unknown)
}

func (l *sickLoad) unknown(d sentCreate) {
	l.repeats.Lock()
	l.repeats.unknown = append(l.repeats.unknown, d)
	l.repeats.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.cut = append(l.mu.cut, d.draft)
}

// repeatUnknown sends every create with an unknown outcome again, with its key. Afterwards each
// link must exist, once.
func (l *sickLoad) repeatUnknown() {
	unknown := l.repeats.unknown
	l.each(len(unknown), func(c *fasthttp.HostClient, i int) {
		response, err := l.post(c, unknown[i])
		if err != nil {
			l.t.Errorf("repeating a create: %v", err)
			return
		}
		status := http.StatusCreated
		if unknown[i].Alias != "" && response.StatusCode() == http.StatusOK {
			status = http.StatusOK // an equal link of the same owner
		}
		l.add(unknown[i].draft, response, status)
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.cut, l.repeats.unknown = nil, nil
}

func (l *sickLoad) readStats(c *fasthttp.HostClient, random *rand.Rand) {
	v, begun := l.draw(random), time.Now()
	l.mu.Lock()
	path := "/stats/" + l.mu.links[v.link].code
	l.mu.Unlock()
	response, err := l.tryAPI(c, http.MethodGet, path, nil)
	s := l.spellOf(begun)
	s.reads.add(time.Since(begun))
	switch {
	case err != nil:
		l.failed("GET %s: %v", path, err)
	case response.StatusCode() != http.StatusOK:
		s.count(s.refused, fmt.Sprint(response.StatusCode()))
	}
}

// await waits until isSo returns true, and returns how long that took. It fails the test after the
// limit.
func (l *sickLoad) await(what string, limit time.Duration, isSo func() bool) time.Duration {
	l.t.Helper()
	begun := time.Now()
	for !isSo() {
		if time.Since(begun) > limit {
			l.t.Fatalf("after %v still not: %s (the admin address reports %+v; blocked threads: %v)\n%s", limit, what, l.admin.Load(),
				blockedThreads(l.server.cmd.Process.Pid), l.server.lastWords())
		}
		time.Sleep(time.Millisecond)
	}
	return time.Since(begun)
}

// awaitCreate waits until a create that was sent after a time succeeds.
func (l *sickLoad) awaitCreate(after time.Time) time.Duration {
	l.t.Helper()
	return l.await("a create succeeds", recoveryLimit, func() bool { return l.lastCreate.Load() > after.UnixNano() })
}

// restart ends the server, starts it again, and checks the effect of every request.
func (l *sickLoad) restart(args ...string) {
	l.t.Helper()
	l.server.terminate()
	l.serve(nil, args...)
	l.timed("all of it after a restart", l.check)
}

// secondsOf returns how long a test of a sick disk runs. It skips a test that was not requested.
func secondsOf(t *testing.T, variable string) time.Duration {
	t.Helper()
	if os.Getenv(variable) == "" {
		t.Skipf("this test needs root and takes long; %s=SECONDS runs it, and so does make", variable)
	}
	return time.Duration(numberOf(t, variable, 0)) * time.Second
}

// blockedThreads returns the kernel stacks of the threads of a process that wait uninterruptibly,
// with the number of threads for each. There are none where the system does not show them.
func blockedThreads(pid int) (stacks map[string]int) {
	stacks = map[string]int{}
	tasks, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*"))
	for _, task := range tasks {
		stat, err := os.ReadFile(filepath.Join(task, "stat"))
		if err != nil || !strings.Contains(string(stat), ") D ") {
			continue
		}
		stack, err := os.ReadFile(filepath.Join(task, "stack"))
		if err == nil {
			stacks[frames(string(stack))]++
		}
	}
	return stacks
}

// frames returns the functions of a kernel stack, outermost last.
func frames(stack string) string {
	var names []string
	for line := range strings.SplitSeq(stack, "\n") {
		if _, name, found := strings.Cut(line, "] "); found {
			name, _, _ = strings.Cut(name, "+")
			names = append(names, name)
		}
	}
	return strings.Join(names, " < ")
}
