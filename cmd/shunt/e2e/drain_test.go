package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"shunt/engine/expect"
)

// In these tests the server stops under pipelined load, again and again, on one data folder: after
// SIGTERM or by SIGKILL. Clients send requests ahead, before they read answers, and connect again
// when they are told to. After each stop a new server must know every redirect that was answered,
// and no more than were sent:
//
//	answered ≤ counted ≤ sent, of each link
//
// No answer may be wrong, none may be cut off by SIGTERM, and after one with Connection: close none
// may come. `make drain N=100` runs them for longer.
const (
	drainsVariable = "SHUNTTEST_DRAINS" // how many stops

	drainLinks    = 16
	drainClients  = 8
	drainAhead    = 2_000 // requests of a connection without an answer
	latestDrain   = 250 * time.Millisecond
	drainPatience = 20 * time.Second // for an answer; nothing is measured with it
)

// turnFronts are the values of --front of servers that are stopped or killed, in turn.
var turnFronts = []string{"auto", "auto", "auto", "fasthttp"}

func TestADrainUnderPipelinedLoadLosesNothing(t *testing.T) {
	d := newDrain(t)
	for i := range d.stops {
		d.stop(turnFronts[i%len(turnFronts)], func(p *process) { p.terminate() })
		n := d.cut.Load()
		expect.That(t, n <= 0, "%d answers were cut off", n)
	}
}

func TestAKillUnderPipelinedLoadLosesNoHit(t *testing.T) {
	d := newDrain(t)
	for i := range d.stops {
		d.stop(turnFronts[i%len(turnFronts)], func(p *process) { p.kill() })
	}
}

// A drain is a server that is stopped, and what its clients know of it.
type drain struct {
	t       *testing.T
	dir     string
	journal []string // arguments
	token   string
	stops   int
	random  *rand.Rand
	server  *process

	counted        [drainLinks]int64        // hits at the last start
	sent, answered [drainLinks]atomic.Int64 // requests since then that count as hits

	allSent, allAnswered int64        // in all
	others               atomic.Int64 // other answers
	told                 atomic.Int64 // connections that ended after Connection: close
	untold               atomic.Int64 // connections that ended between two answers without it
	cut                  atomic.Int64 // answers that began and did not end
}

func newDrain(t *testing.T) *drain {
	byDefault := uint64(4)
	if testing.Short() {
		byDefault = 2
	}
	seed := numberOf(t, seedVariable, rand.Uint64())
	d := &drain{
		t: t, dir: filepath.Join(t.TempDir(), "data"), journal: journalInMemory(t), stops: int(numberOf(t, drainsVariable, byDefault)),
		random: rand.New(rand.NewPCG(seed, 0)),
	}
	t.Logf("%s=%d %s=%d", drainsVariable, d.stops, seedVariable, seed)
	t.Cleanup(d.report)
	d.start("auto")
	d.token = d.server.token()
	for i := range drainLinks {
		d.server.create(d.token, fmt.Sprintf("drain-%d", i), fmt.Sprintf("http://target/%d", i), drainStatus(i))
	}
	return d
}

// drainStatus is the status of a link. Half of them redirect every method.
func drainStatus(link int) int { return 302 + link%2*5 }

func (d *drain) report() {
	d.t.Logf("%d redirects were sent, %d answered; %d other answers; of the connections, %d were told to close, %d ended otherwise; %d answers cut off",
		d.allSent, d.allAnswered, d.others.Load(), d.told.Load(), d.untold.Load(), d.cut.Load())
}

func (d *drain) start(front string) {
	args := []string{"--front", front, "--limit-misses", "off", "--base-url", "https://sho.rt", "--private-targets", "allow"}
	d.server = startServer(d.t, d.dir, append(args, d.journal...)...)
}

// stop starts clients, stops the server among their requests, and compares what a new server with
// that door knows.
func (d *drain) stop(front string, end func(p *process)) {
	var clients sync.WaitGroup
	over := make(chan struct{})
	for range drainClients {
		random := rand.New(rand.NewPCG(d.random.Uint64(), 0))
		clients.Go(func() { d.visit(random, over) })
	}
	time.Sleep(time.Duration(d.random.Int64N(int64(latestDrain))))
	end(d.server)
	close(over)
	clients.Wait()
	d.start(front)
	d.compare()
	if d.t.Failed() {
		d.t.FailNow()
	}
}

// compare compares the hits of each link with the requests for it.
func (d *drain) compare() {
	for i := range drainLinks {
		status, text := d.api("GET", fmt.Sprintf("/stats/drain-%d", i), "")
		var got struct{ Hits int64 }
		expect.MustThat(d.t, json.Unmarshal([]byte(text), &got) == nil && status == 200, "stats: got %d %s", status, text)
		new, answered, sent := got.Hits-d.counted[i], d.answered[i].Swap(0), d.sent[i].Swap(0)
		expect.That(d.t, new >= answered && new <= sent, "link %d has %d new hits; %d redirects were answered, %d sent", i, new, answered, sent)
		d.counted[i] = got.Hits
		d.allSent += sent
		d.allAnswered += answered
	}
}

// api sends a call of the API.
func (d *drain) api(method, path, body string) (status int, text string) {
	d.t.Helper()
	r := do(d.t, method, d.server.public+"/api/v1"+path, body, withToken(d.token)...)
	return r.StatusCode, r.text
}

// visit sends requests on one connection after the other, until none can be opened or over is
// closed.
func (d *drain) visit(random *rand.Rand, over <-chan struct{}) {
	for !closed(over) {
		c, err := net.Dial("tcp", strings.TrimPrefix(d.server.public, "http://"))
		if err != nil {
			continue // the server is stopping
		}
		d.converse(c, random)
	}
}

// converse sends requests on c ahead, and reads the answers, until the connection ends.
func (d *drain) converse(c net.Conn, random *rand.Rand) {
	waiting, gone := make(chan drainRequest, drainAhead), make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		defer close(waiting)
		d.write(c, random, waiting, gone)
	})
	d.read(c, waiting)
	_ = c.Close()
	close(gone)
	writing.Wait()
}

// A drainRequest is a request that waits for its answer.
type drainRequest struct {
	link   int // none: -1
	method string
}

// write sends requests in bursts until that fails, or gone is closed.
func (d *drain) write(c net.Conn, random *rand.Rand, waiting chan<- drainRequest, gone <-chan struct{}) {
	mixed := random.IntN(3) == 0 // otherwise all requests are plain
	for {
		var burst bytes.Buffer
		for range 1 + random.IntN(64) {
			r := drawDrain(&burst, random, mixed)
			if r.link >= 0 && r.method != "HEAD" {
				d.sent[r.link].Add(1)
			}
			select {
			case waiting <- r:
			case <-gone:
				return
			}
		}
		if _, err := c.Write(burst.Bytes()); err != nil {
			return
		}
	}
}

// drawDrain draws a request and writes it to burst.
func drawDrain(burst *bytes.Buffer, random *rand.Rand, mixed bool) drainRequest {
	r := drainRequest{random.IntN(drainLinks), "GET"}
	target, fields := fmt.Sprintf("/drain-%d", r.link), ""
	switch random.IntN(20) {
	case 0:
		r.method = "HEAD"
	case 1:
		r.link, target = -1, "/drain-none"
	case 2:
		fields = "User-Agent: Mozilla/5.0 Firefox/127.0\r\nReferer: https://www.example.com/\r\nAccept-Encoding: gzip\r\n"
	case 3:
		if mixed {
			r.link, target = -1, "/robots.txt"
		}
	case 4:
		if mixed {
			r.link |= 1
			r.method, target, fields = "POST", fmt.Sprintf("/drain-%d", r.link), "Content-Length: 0\r\n"
		}
	}
	fmt.Fprintf(burst, "%s %s HTTP/1.1\r\nHost: sho.rt\r\n%s\r\n", r.method, target, fields)
	return r
}

// read reads the answers to the requests that wait, until the connection ends.
func (d *drain) read(c net.Conn, waiting <-chan drainRequest) {
	answers := bufio.NewReader(c)
	for r := range waiting {
		_ = c.SetReadDeadline(time.Now().Add(drainPatience))
		if _, err := answers.Peek(1); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
				d.untold.Add(1)
			} else {
				d.t.Errorf("%s of link %d: %v", r.method, r.link, err)
			}
			return
		}
		response, err := http.ReadResponse(answers, &http.Request{Method: r.method})
		if err == nil {
			_, err = io.Copy(io.Discard, response.Body)
		}
		if err != nil {
			d.cut.Add(1)
			return
		}
		d.check(r, response)
		if response.Close {
			d.told.Add(1)
			n, _ := io.Copy(io.Discard, answers)
			expect.That(d.t, n <= 0, "%d bytes came after Connection: close", n)
			return
		}
	}
}

// check checks an answer.
func (d *drain) check(r drainRequest, response *http.Response) {
	location, want := response.Header.Get("Location"), fmt.Sprintf("http://target/%d", r.link)
	switch {
	case r.link < 0:
		if location != "" || response.StatusCode != 200 && response.StatusCode != 404 {
			d.t.Errorf("got %d to %q, want no redirect", response.StatusCode, location)
		}
		d.others.Add(1)
	case response.StatusCode != drainStatus(r.link) || location != want:
		d.t.Errorf("%s of link %d: got %d to %q", r.method, r.link, response.StatusCode, location)
	case r.method == "HEAD":
		d.others.Add(1)
	default:
		d.answered[r.link].Add(1)
	}
}
