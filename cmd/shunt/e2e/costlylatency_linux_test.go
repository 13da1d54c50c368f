package e2e

import (
	"bytes"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"shunt/engine/expect"
)

const (
	pairsVariable   = "SHUNTTEST_LATENCY_PAIRS"
	windowVariable  = "SHUNTTEST_LATENCY_SECONDS"
	openLoopRate    = 5_000 // redirects a second, whatever the server does
	openLoopClients = 50
	shortRate       = 500 // in a run that only proves that the test works
	shortWindow     = 300 * time.Millisecond
	warmUp          = time.Second
)

// A window is the measurements of redirects over some seconds.
type window struct {
	took  latencies
	cores float64 // that the server kept busy
}

// TestRedirectsAreFastDuringCostlyRequests compares redirects during costly requests with redirects
// during a busy loop that uses the same share of the processors. It logs how fast they are; make
// latency runs it for long enough.
func TestRedirectsAreFastDuringCostlyRequests(t *testing.T) {
	c := compareLatencies(t, (*costly).begin)
	expect.That(t, c.qrCodes.Load() != 0 && (c.bodies.Load() != 0 && c.logins.Load() != 0 || c.short),
		"the costly requests were not answered")
}

// TestRedirectsAreFastDuringWrongPasswords does the same while strangers try the passwords of a link.
func TestRedirectsAreFastDuringWrongPasswords(t *testing.T) {
	c := compareLatencies(t, (*costly).beginUnlocks)
	expect.That(t, c.wrong.Load() != 0 || c.short, "no password was compared")
}

// compareLatencies measures redirects alone, and then in pairs beside what begin begins and beside a loop.
func compareLatencies(t *testing.T, begin func(*costly)) *costly {
	pairs := int(numberOf(t, pairsVariable, 0))
	length, rate := time.Duration(numberOf(t, windowVariable, 10))*time.Second, openLoopRate
	if pairs == 0 {
		pairs, length, rate = 1, shortWindow, shortRate
	}
	p := startServer(t, t.TempDir()+"/data", append(behindProxy(), "--limit-logins", "off", "--limit-address-logins", "off", "--limit-unlocks", "off", "--limit-address-unlocks", "off")...)
	r := &redirectLoad{t: t, server: p, rate: rate, length: length}
	c := &costly{t: t, server: p, tokens: r.prepare(), short: length <= time.Second}
	alone := r.measure(func() func() { return func() {} })
	r.row("alone", alone)
	var ratios, costlyP99, busyP99 []float64
	for range pairs {
		beside := r.measure(func() func() { begin(c); return c.end })
		r.row("beside costly requests", beside)
		share := min(1, max(0.01, beside.cores-alone.cores))
		busy := r.measure(func() func() { return beBusy(t, share) })
		r.row(fmt.Sprintf("beside a loop of %.2f cores", share), busy)
		a, b := milliseconds(&beside.took), milliseconds(&busy.took)
		ratios, costlyP99, busyP99 = append(ratios, a/b), append(costlyP99, a), append(busyP99, b)
	}
	t.Logf("\n%-28s %9s %9s %9s %9s %9s  %s\n%s\nmedians of %d pairs: p99 %.2f ms during costly requests, %.2f ms during the loop: %.2f times\n"+
		"%d logins, %d QR codes, %d pieces of large bodies, %d wrong passwords; %d refused", fmt.Sprintf("%d redirects/s", rate), "n", "p50", "p99", "p99.9", "slowest", "cores of the server",
		&r.table, pairs, median(costlyP99), median(busyP99), median(ratios), c.logins.Load(), c.qrCodes.Load(), c.bodies.Load(), c.wrong.Load(), c.refused.Load())
	return c
}

func milliseconds(l *latencies) float64 {
	return float64(l.percentile(0.99)) / float64(time.Millisecond)
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// A redirectLoad follows a link, or several, at fixed times.
type redirectLoad struct {
	t      *testing.T
	server *process
	rate   int
	length time.Duration
	codes  func(client int) (next func() string) // nil: always x
	table  bytes.Buffer
}

func (r *redirectLoad) row(name string, w *window) {
	fmt.Fprintf(&r.table, "%-28s %v  %.2f\n", name, &w.took, w.cores)
}

// prepare makes the link x, a user that logs in, and members, and returns the tokens of the
// members.
func (r *redirectLoad) prepare() (tokens []string) {
	r.t.Helper()
	p := r.server
	admin := p.token()
	p.addPerson(admin)
	status, err := p.post(p.client(), "/shorten", []byte(`{"url":"http://a/","alias":"x"}`), "Authorization", "Bearer "+admin)
	expect.MustThat(r.t, err == nil && status == 201, "POST /shorten: got %d, %v", status, err)
	status, err = p.post(p.client(), "/shorten", []byte(`{"url":"http://a/","alias":"locked","password":"open sesame"}`), "Authorization", "Bearer "+admin)
	expect.MustThat(r.t, err == nil && status == 201, "POST /shorten with a password: got %d, %v", status, err)
	for n := range costlyMembers {
		email := fmt.Sprintf("member%d@example.com", n)
		for _, args := range [][]string{{"user", "add", email, "--data", p.dir}, {"token", "add", "--name", "x", "--user", email, "--data", p.dir}} {
			done := shunt(r.t, "", nil, args...)
			expect.MustEqual(r.t, done.code, exitDone, "%v: %s", args, done.stderr)
			if args[0] == "token" {
				tokens = append(tokens, strings.TrimSpace(done.stdout))
			}
		}
	}
	return tokens
}

// measure follows the link between a call of begin and a call of the function that begin returns.
func (r *redirectLoad) measure(begin func() (end func())) *window {
	end := begin()
	time.Sleep(min(warmUp, r.length))
	w := new(window)
	before, start := r.server.processorTime(r.t), time.Now()
	var clients sync.WaitGroup
	for n := range openLoopClients {
		clients.Go(func() { r.follow(n, &w.took, start.Add(time.Duration(n)*time.Second/time.Duration(r.rate))) })
	}
	clients.Wait()
	w.cores = float64(r.server.processorTime(r.t)-before) / float64(time.Since(start))
	end()
	return w
}

// follow is a client that follows links at fixed times from first on. The latency of a late request
// counts from when it was due.
func (r *redirectLoad) follow(client int, took *latencies, first time.Time) {
	c, err := net.Dial("tcp", strings.TrimPrefix(r.server.public, "http://"))
	if err != nil {
		r.t.Error(err)
		return
	}
	defer c.Close()
	code := func() string { return "x" }
	if r.codes != nil {
		code = r.codes(client)
	}
	var request []byte
	answer := make([]byte, 4096)
	interval := openLoopClients * time.Second / time.Duration(r.rate)
	for due := first; due.Sub(first) < r.length; due = due.Add(interval) {
		request = fmt.Appendf(request[:0], "GET /%s HTTP/1.1\r\nHost: a\r\nUser-Agent: load\r\n\r\n", code())
		time.Sleep(time.Until(due))
		if _, err := c.Write(request); err != nil {
			r.t.Error(err)
			return
		}
		n := 0
		for n == 0 || !bytes.HasSuffix(answer[:n], []byte("\r\n\r\n")) {
			m, err := c.Read(answer[n:])
			if n += m; err != nil {
				r.t.Error(err)
				return
			}
		}
		took.add(time.Since(due))
		if !bytes.HasPrefix(answer[:n], []byte("HTTP/1.1 302 ")) {
			r.t.Errorf("got %q", answer[:n])
			return
		}
	}
}

// processorTime returns the processor time of the process.
func (p *process) processorTime(t *testing.T) time.Duration {
	t.Helper()
	return clockOf(t, p.cmd.Process.Pid)
}
