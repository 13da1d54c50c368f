package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// In this test the server is killed again and again, on one data folder, while clients follow links
// and make new ones. Afterwards there are two kinds of requests. A request that was answered has
// its effect, once. A request that was cut off has its whole effect, once, or none. Figures that a
// restart has shown must not change: each round compares with those of the last one. So a record
// that is replayed twice is noticed, and a loss in one kill cannot be hidden by another kill.
//
// Three kills prove little about rare moments. To run more:
//
//	SHUNTTEST_KILLS=100 go test ./cmd/shunt/e2e -run '^TestAnsweredRequestsOutlive' \
//		-v -count=1 -timeout 30m
const (
	killsVariable = "SHUNTTEST_KILLS" // how many
	seedVariable  = "SHUNTTEST_SEED"  // of the moments and of the requests of each client; random by default

	firstLinks   = 64
	killVisitors = 1_000 // at most exactVisitors: unique is exact
	burstVisits  = 32    // at once, on one connection

	latestKill        = 700 * time.Millisecond // after the first answers
	latestKillAtStart = 150 * time.Millisecond // after the launch, which takes about 200 ms
)

// killIntervals are the flush intervals that the rounds use in turn: the hits of a killed server
// are in the journal only, in both journal and store, or the kill comes during one of many flushes.
var killIntervals = []string{"1h", "1s", "10ms"}

func TestAnsweredRequestsOutliveKillsAndCutOnesAreWhole(t *testing.T) {
	kills := numberOf(t, killsVariable, 3)
	seed := numberOf(t, seedVariable, rand.Uint64())
	t.Logf("%s=%d %s=%d", killsVariable, kills, seedVariable, seed)
	k := &killing{e2e: &e2e{t: t, random: rand.New(rand.NewPCG(seed, 0))}, dir: t.TempDir(), seed: seed, journal: journalInMemory(t)}
	k.lines = slices.DeleteFunc(append(readLines(t, "testdata/urls.txt"), readLines(t, "testdata/odd-urls.txt")...),
		func(line string) bool { return storedForm(line+"/1") == "" })

	k.start(0)
	k.token = k.server.token("links:write", "links:read", "stats:read", "admin")
	k.round = new(killRound)
	k.each(firstLinks, func(c *fasthttp.HostClient, _ int) { k.create(c) })
	for i, done := uint64(0), uint64(0); done < kills; i++ {
		if i > 4*kills {
			t.Fatalf("only %d of %d kills came while requests were under way", done, i)
		}
		k.timed(fmt.Sprintf("kill %d", i+1), func() {
			if k.killUnderLoad(i) > 0 { // otherwise all clients were just reading: try again
				done++
			}
			k.killAtStart(i)
			k.start(i + 1)
			k.check()
		})
	}
	if replayed := replayedRecords(t, k.started); replayed == 0 {
		t.Error("no hit was in the journal only")
	}
	k.server.terminate()
	orphans := k.findOrphans()
	if len(orphans) != k.orphans {
		t.Errorf("the store has %d links that no client was told of, want %d", len(orphans), k.orphans)
	}
	k.start(0)
	k.timed("all of it after SIGTERM", func() {
		k.round = new(killRound)
		k.each(len(orphans), func(c *fasthttp.HostClient, i int) { k.adopt(c, orphans[i].code, orphans[i].draft) })
		k.orphans = 0
		k.check()
	})
	k.server.terminate()
}

func numberOf(t *testing.T, variable string, byDefault uint64) uint64 {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return byDefault
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// killing is what the clients know of a server that is killed.
type killing struct {
	*e2e
	dir     string
	seed    uint64
	journal []string // arguments
	lines   []string // addresses that new links begin with
	started []*process
	drafts  atomic.Uint64
	round   *killRound

	orphans  int      // links that no client was told of and whose codes are unknown
	unborn   []string // aliases of creates that were cut off and had not happened after the restart
	nameless []draft  // creates without an alias that were cut off

	mu struct {
		sync.Mutex
		survivors []*survivor
		cut       []draft // creates that were cut off in this round
		failures  []failure
	}
}

// killRound is what happens between a start and a kill.
type killRound struct {
	redirects, creates       atomic.Int64 // that were answered
	cutRedirects, cutCreates atomic.Int64
	countedCut, foundCut     atomic.Int64 // redirects that were cut off, but counted; creates that were cut off, but done
}

// A failure is a request without an answer.
type failure struct {
	begun, failed time.Time
	err           error
}

// A draft is a create as it is sent. No two have the same target.
type draft struct {
	URL   string   `json:"url"`
	Alias string   `json:"alias,omitempty"`
	Title string   `json:"title"`
	Tags  []string `json:"tags"`
}

// start starts the server of a round. The base URL is fixed, so that link objects can be compared
// across starts.
func (k *killing) start(round uint64) {
	k.server = startServer(k.t, k.dir, append(killArgs(round), k.journal...)...)
	k.started = append(k.started, k.server)
}

// killArgs returns the arguments of a round. Servers with either front take turns on one folder.
func killArgs(round uint64) []string {
	return []string{"--trusted-proxy", "127.0.0.1", "--base-url", "https://sho.rt", "--private-targets", "allow",
		"--front", turnFronts[round%uint64(len(turnFronts))],
		"--flush-interval", killIntervals[round%uint64(len(killIntervals))]}
}

// killAtStart kills a server that is starting, maybe while it replays.
func (k *killing) killAtStart(round uint64) {
	p := launch(k.t, k.dir, append(killArgs(round), k.journal...)...)
	time.Sleep(time.Duration(k.random.Int64N(int64(latestKillAtStart))))
	p.kill()
	k.started = append(k.started, p)
}

// killUnderLoad sends requests over all connections, on each until a request gets no answer, and
// kills the server meanwhile. It returns how many requests were under way.
func (k *killing) killUnderLoad(i uint64) (underWay int) {
	k.round = new(killRound)
	first, last := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(last)
		k.each(connections, func(c *fasthttp.HostClient, client int) {
			if client == 0 {
				k.create(c)
				k.visit(c, visit{})
				close(first)
			}
			k.request(c, client%4, rand.New(rand.NewPCG(k.seed, (i+1)<<32|uint64(client))))
		})
	}()
	<-first
	moment := time.Duration(k.random.Int64N(int64(latestKill)))
	signalled := killAfter(k.t, k.server, moment)
	<-last
	k.server.kill()
	if status, ok := k.server.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		k.t.Errorf("the server ended by itself: %v", k.server.cmd.ProcessState)
	}
	underWay = k.underWay(signalled)
	r := k.round
	k.t.Logf("flush interval %s, killed %v after the first answers: %d redirects and %d creates were answered, %d and %d cut off; %d were under way",
		killIntervals[i%uint64(len(killIntervals))], moment.Round(time.Millisecond),
		r.redirects.Load(), r.creates.Load(), r.cutRedirects.Load(), r.cutCreates.Load(), underWay)
	if r.redirects.Load() == 0 || r.creates.Load() == 0 {
		k.t.Error("no redirect or no create was answered before the kill")
	}
	return underWay
}

// request sends requests until one is cut off. A quarter of the clients only send creates.
func (k *killing) request(c *fasthttp.HostClient, role int, random *rand.Rand) {
	for answered := true; answered; {
		switch role {
		case 2, 3:
			answered = k.visit(c, k.draw(random))
		case 1:
			answered = k.burst(c.Addr, random)
		default:
			answered = k.create(c)
		}
	}
}

// draw draws a visit, every second one to one of the newest links.
func (k *killing) draw(random *rand.Rand) visit {
	k.mu.Lock()
	defer k.mu.Unlock()
	link := random.IntN(len(k.mu.survivors))
	if random.IntN(2) == 0 {
		link = len(k.mu.survivors) - 1 - random.IntN(connections)
	}
	return visit{link, random.IntN(killVisitors)}
}

// visit follows a link and reports whether it got an answer.
func (k *killing) visit(c *fasthttp.HostClient, v visit) (answered bool) {
	k.mu.Lock()
	path := "/" + k.mu.survivors[v.link].code
	k.mu.Unlock()
	begun := time.Now()
	response, err := k.try(c, http.MethodGet, path, visitorHeader(v.visitor), nil)
	k.visited(v, response, begun, err)
	return err == nil
}

// burst sends many redirects before it reads their answers, maxBursts times or until they are cut
// off. The server sends such answers together, so that a kill finds redirects that are counted and
// not answered.
func (k *killing) burst(address string, random *rand.Rand) (answered bool) {
	begun := time.Now()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.wasCutLocked(&k.round.cutRedirects, begun, err)
		return false
	}
	defer conn.Close()
	answers := bufio.NewReader(conn)
	for n := 0; n < maxBursts && err == nil; n++ {
		var requests bytes.Buffer
		visits := make([]visit, burstVisits)
		for i := range visits {
			visits[i] = k.draw(random)
			k.writeVisit(&requests, visits[i])
		}
		begun = time.Now()
		_, err = conn.Write(requests.Bytes())
		for _, v := range visits {
			response := new(fasthttp.Response)
			if err == nil {
				err = response.Read(answers)
			}
			k.visited(v, response, begun, err)
		}
	}
	return err == nil
}

func (k *killing) writeVisit(to *bytes.Buffer, v visit) {
	k.mu.Lock()
	defer k.mu.Unlock()
	fmt.Fprintf(to, "GET /%s HTTP/1.1\r\nHost: sho.rt\r\n", k.mu.survivors[v.link].code)
	for name, value := range visitorHeader(v.visitor) {
		fmt.Fprintf(to, "%s: %s\r\n", name, value)
	}
	to.WriteString("\r\n")
}

// visited notes how a redirect ended: with an answer or with err.
func (k *killing) visited(v visit, response *fasthttp.Response, begun time.Time, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	l := k.mu.survivors[v.link]
	if err != nil {
		l.cut++
		if !l.visitors[v.visitor] {
			l.cutVisitors[v.visitor] = true
		}
		k.wasCutLocked(&k.round.cutRedirects, begun, err)
		return
	}
	k.checkLocation(&l.tracked, response)
	l.hits++
	l.visitors[v.visitor] = true
	delete(l.cutVisitors, v.visitor) // whether or not those were counted, this visit is
	k.round.redirects.Add(1)
}

// create makes a link and reports whether it got an answer.
func (k *killing) create(c *fasthttp.HostClient) (answered bool) {
	n := k.drafts.Add(1)
	d := draft{
		URL:   fmt.Sprintf("%s/%d", k.lines[n%uint64(len(k.lines))], n),
		Title: fmt.Sprintf("Nr. %d <ü>", n), Tags: []string{"kill", fmt.Sprint(n % 7)},
	}
	if n%2 == 0 {
		d.Alias = fmt.Sprintf("Kill-%d", n)
	}
	body, err := json.Marshal(d)
	if err != nil {
		k.t.Error(err)
	}
	begun := time.Now()
	response, err := k.tryAPI(c, http.MethodPost, "/shorten", body)
	if err != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.mu.cut = append(k.mu.cut, d)
		k.wasCutLocked(&k.round.cutCreates, begun, err)
		return false
	}
	k.add(d, response, http.StatusCreated)
	k.round.creates.Add(1)
	return true
}

// wasCutLocked counts a request that got no answer.
func (k *killing) wasCutLocked(count *atomic.Int64, begun time.Time, err error) {
	count.Add(1)
	k.mu.failures = append(k.mu.failures, failure{begun, time.Now(), err})
}

// underWay returns how many requests were sent before the signal and got no answer. None may have
// failed before the signal.
func (k *killing) underWay(signalled time.Time) (n int) {
	for _, f := range k.mu.failures {
		if f.failed.Before(signalled) {
			k.t.Errorf("%v before the kill: %v", signalled.Sub(f.failed), f.err)
		}
		if f.begun.Before(signalled) {
			n++
		}
	}
	k.mu.failures = nil
	return n
}
