package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"shunt/engine/expect"
)

// A siege has the numbers and times of slow clients.
type siege struct {
	connections int
	seconds     int
	idle        int
	reap        bool // wait until idle connections are closed
}

var sieges = map[string]siege{
	"short": {connections: 300, seconds: 6, idle: 1000},
	"long":  {connections: 4000, seconds: 45, idle: 10_000, reap: true},
}

// slowModes are the modes of slowhttptest.
var slowModes = []struct {
	name string
	args []string
	path string
}{
	{"slow headers", []string{"-H", "-i", "3"}, "/long"},
	{"slow body", []string{"-B", "-i", "3", "-s", "60000"}, "/keep"},
	{"slow read", []string{"-X", "-w", "1", "-y", "64", "-n", "3", "-z", "5", "-k", "8"}, "/long"},
}

// TestSlowClientsHarmNobody runs slowhttptest against the server while others follow links: none of
// those may fail. The number of connections over loopback is unlimited, so the test shows the
// effect of the deadlines alone.
func TestSlowClientsHarmNobody(t *testing.T) {
	s, asked := sieges[os.Getenv("SHUNTTEST_SLOW")]
	if !asked {
		t.Skip("make slow runs this test: it needs slowhttptest; SHUNTTEST_SLOW is short or long")
	}
	expect.MustThat(t, expect.Err(exec.LookPath("slowhttptest")) == nil, "slowhttptest is missing: install Debian's package of that name")
	for _, c := range []struct{ listen, front string }{{"127.0.0.1:0", "auto"}, {"[::1]:0", "auto"}, {"127.0.0.1:0", "fasthttp"}} {
		t.Run("listen="+c.listen+"/front="+c.front, func(t *testing.T) {
			p := &front{t: t, server: startServer(t, filepath.Join(t.TempDir(), "data"), "--listen", c.listen, "--front", c.front)}
			p.addr, p.token = strings.TrimPrefix(p.server.public, "http://"), p.server.token()
			p.create("x", "http://a/", 302)
			p.create("keep", "http://a/", 307)
			p.create("long", "http://a/"+strings.Repeat("x", 8000), 302)
			for _, mode := range slowModes {
				t.Run(mode.name, func(t *testing.T) { p.besiege(t, s, mode.path, mode.args) })
			}
			t.Run("idle", func(t *testing.T) { p.holdIdle(t, s) })
		})
	}
}

// besiege runs slowhttptest while visitors come.
func (p *front) besiege(t *testing.T, s siege, path string, args []string) {
	before := p.metric(`shunt_http_requests_total{code="408",method="other",route="malformed"}`)
	cut := p.metric(`shunt_connections_ended_total{reason="late"}`)
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(s.seconds+60)*time.Second)
	defer cancel()
	attack := exec.CommandContext(ctx, "slowhttptest", append(args, "-c", strconv.Itoa(s.connections),
		"-r", strconv.Itoa(max(50, s.connections/5)), "-l", strconv.Itoa(s.seconds), "-p", "20", "-u", reachable(t, p.server.public)+path)...)
	var said bytes.Buffer
	attack.Stdout, attack.Stderr = &said, &said
	expect.OK(t, attack.Start())
	over := make(chan struct{})
	var visitors sync.WaitGroup
	tallies := make([]tally, 4)
	for i := range tallies {
		visitors.Go(func() { tallies[i].visit(p.server.public+"/x", i%2 == 0, over) })
	}
	most := 0
	go func() { _ = attack.Wait(); close(over) }() // its exit code is a verdict on the server, not needed here
	for open := true; open; {
		most = max(most, p.metric("shunt_connections"))
		select {
		case <-over:
			open = false
		case <-time.After(500 * time.Millisecond):
		}
	}
	visitors.Wait()
	all := tally{}
	for i := range tallies {
		all.add(&tallies[i])
	}
	late := p.metric(`shunt_http_requests_total{code="408",method="other",route="malformed"}`) - before
	cut = p.metric(`shunt_connections_ended_total{reason="late"}`) - cut
	expect.MustThat(t, all.failed <= 0 && len(all.took) != 0 && most+late+cut >= s.connections/2,
		"%d of %d visitors failed (%v); at most %d connections were open\n%s", all.failed, len(all.took), all.err, most, &said)
	slices.Sort(all.took)
	t.Logf("| %d open at a time | %d redirects | %d failed | p50 %v | p99 %v | %d answered 408 | %d cut |", most, len(all.took), all.failed,
		all.at(50), all.at(99), late, cut)
}

// reachable returns a form of url that slowhttptest can use. From an IPv6 address it makes an
// invalid Host, which gets 400, and not every machine has a name for ::1. So it connects over IPv4
// to a relay, which connects over IPv6.
func reachable(t *testing.T, url string) string {
	t.Helper()
	to := strings.TrimPrefix(url, "http://")
	if !strings.HasPrefix(to, "[") {
		return url
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(t, err)
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go relay(c, to)
		}
	}()
	return "http://" + ln.Addr().String()
}

// relay copies bytes in both directions until one side ends, with small buffers.
func relay(client net.Conn, to string) {
	defer client.Close()
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	_ = server.(*net.TCPConn).SetReadBuffer(4 << 10)
	_ = client.(*net.TCPConn).SetWriteBuffer(4 << 10)
	go func() {
		passOn(server, client)
		_ = server.Close()
	}()
	passOn(client, server)
}

// passOn does what io.Copy does, with a small buffer, and without splice, which has a large one.
func passOn(to io.Writer, from io.Reader) {
	_, _ = io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, make([]byte, 512))
}

// A tally counts the outcomes of a visitor's requests.
type tally struct {
	took   []time.Duration
	failed int
	err    error // of a failed request
}

func (a *tally) add(b *tally) {
	a.took = append(a.took, b.took...)
	a.failed += b.failed
	a.err = errors.Join(a.err, b.err)
}

func (a *tally) at(percent int) time.Duration {
	return a.took[len(a.took)*percent/100].Round(10 * time.Microsecond)
}

// visit follows a link again and again until over is closed, on one connection or each time on a
// new one.
func (a *tally) visit(url string, keep bool, over <-chan struct{}) {
	transport := &http.Transport{DisableKeepAlives: !keep, ResponseHeaderTimeout: 10 * time.Second}
	defer transport.CloseIdleConnections()
	for rest(over, 5*time.Millisecond) {
		start := time.Now()
		err := visitOnce(transport, url)
		a.took = append(a.took, time.Since(start))
		if err != nil {
			a.failed++
			a.err = err
		}
	}
}

func visitOnce(transport *http.Transport, url string) error {
	r, err := try(transport, "GET", url, "")
	if err == nil && r.StatusCode != 302 {
		err = fmt.Errorf("got %d", r.StatusCode)
	}
	return err
}

// holdIdle opens connections, makes one request on each, and logs the memory of one.
func (p *front) holdIdle(t *testing.T, s siege) {
	before, open := int(residentBytes(t, p.server)>>10), p.metric("shunt_connections")
	conns := make([]net.Conn, 0, s.idle)
	defer func() {
		for _, c := range conns {
			_ = c.Close()
		}
	}()
	for i := range s.idle {
		c := p.dial()
		conns = append(conns, c)
		fmt.Fprintf(c, "GET /x HTTP/1.1\r\nHost: a\r\n\r\n")
		response, err := http.ReadResponse(c.answers, nil)
		expect.MustThat(t, err == nil && response.StatusCode == 302, "connection %d: got %v, %v", i, response, err)
	}
	got := p.metric("shunt_connections")
	expect.That(t, got >= open+s.idle, "%d connections are open, want %d more than %d", got, s.idle, open)
	t.Logf("| %d idle connections | %.1f KiB each |", s.idle, float64(int(residentBytes(t, p.server)>>10)-before)/float64(s.idle))
	if !s.reap {
		return
	}
	start := time.Now()
	for p.metric("shunt_connections") > open && time.Since(start) < 2*time.Minute {
		time.Sleep(time.Second)
	}
	left := p.metric("shunt_connections")
	expect.That(t, left <= open, "%d connections are still open after %v", left-open, time.Since(start).Round(time.Second))
	t.Logf("| all closed within %v of the last request |", time.Since(start).Round(time.Second))
}
