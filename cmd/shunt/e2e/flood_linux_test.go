package e2e

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"shunt/engine/expect"
)

// A floodSize has the numbers and times of clients that attack.
type floodSize struct {
	connections int // at a time; fewer if this process may not open so many files
	seconds     int
}

var floodSizes = map[string]floodSize{"short": {2000, 4}, "long": {30_000, 14}}

// floods are what the connections of a flood do. A flood ends when over is closed.
var floods = []struct {
	name string
	of   func(f *flood)
}{
	{"idle connections", (*flood).idle},
	{"new connections", (*flood).storm},
	{"connections that send nothing", func(f *flood) { f.open(); <-f.over }},
	{"connections that send a byte a second", (*flood).dribble},
	{"connections that read nothing", (*flood).jam},
}

// TestFloodsHarmNobody floods the server while others follow links: none of those may fail. After it,
// memory and descriptors are as before. Connections over loopback have no limit for each address, so
// the test shows what the other bounds do alone.
func TestFloodsHarmNobody(t *testing.T) {
	size, asked := floodSizes[os.Getenv("SHUNTTEST_FLOOD")]
	if !asked {
		t.Skip("make floods runs this test; SHUNTTEST_FLOOD is short or long")
	}
	if most := descriptorLimit(t) - 2000; size.connections > most {
		t.Logf("%d connections instead of %d: this process may not open more files", most, size.connections)
		size.connections = most
	}
	p := &front{t: t, server: startServer(t, filepath.Join(t.TempDir(), "data"))}
	p.addr, p.token = strings.TrimPrefix(p.server.public, "http://"), p.server.token()
	p.create("x", "http://a/", 302)
	p.create("long", "http://a/"+strings.Repeat("x", 8000), 302)
	http.DefaultTransport.(*http.Transport).CloseIdleConnections() // the API's connection is open otherwise
	p.measure("a first flood", floodSize{200, 1}, (*flood).idle)   // makes pools and tables
	for _, f := range floods {
		p.measure(f.name, size, f.of)
	}
}

func descriptorLimit(t *testing.T) int {
	t.Helper()
	var limit unix.Rlimit
	expect.OK(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	return int(limit.Cur)
}

// A flood is a crowd of connections.
type flood struct {
	p     *front
	size  floodSize
	over  chan struct{}
	mu    sync.Mutex
	conns []net.Conn
	came  atomic.Int64
}

// A footprint is what the server and the kernel hold: bytes, descriptors, goroutines, connections.
type footprint struct{ heap, kernel, slab, files, tasks, open, owned int }

func (p *front) footprint() footprint {
	p.t.Helper()
	for range 2 { // the second collects what pools have kept
		ask(p.t, p.server.admin+"/debug/pprof/heap?gc=1", "")
	}
	return footprint{
		heap: p.metric("go_memstats_heap_inuse_bytes") + p.metric("go_memstats_stack_inuse_bytes"), files: p.metric("process_open_fds"),
		tasks: p.metric("go_goroutines"), kernel: kernelNumber(p.t, "/proc/net/sockstat", "mem ") << 12,
		slab: kernelNumber(p.t, "/proc/meminfo", "Slab:") << 10, open: p.metric("shunt_connections"), owned: p.inLoops(),
	}
}

// kernelNumber returns the number after a word in a file of the kernel.
func kernelNumber(t *testing.T, path, word string) int {
	t.Helper()
	text, err := os.ReadFile(path)
	expect.OK(t, err)
	_, after, _ := strings.Cut(string(text), word)
	n, err := strconv.Atoi(strings.Fields(after)[0])
	expect.OK(t, err)
	return n
}

// measure runs a flood while visitors come, and compares what the server holds before, in it and
// after it.
func (p *front) measure(name string, size floodSize, of func(f *flood)) {
	p.t.Run(name, func(t *testing.T) {
		p.awaitQuiet(t, p.footprint())
		before := p.footprint()
		f := &flood{p: p, size: size, over: make(chan struct{})}
		var running sync.WaitGroup
		tallies := make([]tally, 4)
		for i := range tallies {
			running.Go(func() { tallies[i].visit(p.server.public+"/x", i%2 == 0, f.over) })
		}
		running.Go(func() { of(f) })
		during := before
		for begun := time.Now(); time.Since(begun) < time.Duration(size.seconds)*time.Second; time.Sleep(time.Second) {
			if now := p.footprint(); now.heap+now.kernel > during.heap+during.kernel {
				during = now
			}
		}
		close(f.over)
		running.Wait()
		f.end()
		all := tally{}
		for i := range tallies {
			all.add(&tallies[i])
		}
		expect.That(t, all.failed <= 0 && len(all.took) != 0, "%d of %d visitors failed: %v", all.failed, len(all.took), all.err)
		after := p.awaitQuiet(t, before)
		each := func(now, then int) int { return (now - then) / max(1, during.open) }
		t.Logf("| %d came, %d open, %d in loops | heap and stacks of each %d B | kernel, both ends: buffers %d B, slab %d B | %d redirects, %d failed | "+
			"heap %d KiB before, %d in it, %d after | files %d, %d, %d |", f.came.Load(), during.open, during.owned, each(during.heap, before.heap),
			each(during.kernel, before.kernel), each(during.slab, before.slab), len(all.took), all.failed,
			before.heap>>10, during.heap>>10, after.heap>>10, before.files, during.files, after.files)
	})
}

// inLoops returns how many connections loops own.
func (p *front) inLoops() (n int) {
	for loop := range 64 {
		n += p.metric(fmt.Sprintf(`shunt_loop_connections{loop="%d"}`, loop))
	}
	return n
}

// awaitQuiet waits until no connection is left and the server holds no more than before.
func (p *front) awaitQuiet(t *testing.T, before footprint) (now footprint) {
	t.Helper()
	const heapSlack, otherSlack = 8 << 20, 16
	for end := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		now = p.footprint()
		if now.open == 0 && now.heap <= before.heap+heapSlack && now.files <= before.files+otherSlack && now.tasks <= before.tasks+otherSlack {
			return now
		}
		expect.MustThat(t, !time.Now().After(end), "got %+v, before %+v", now, before)
	}
}

// dial opens a connection from another loopback address than the visitors', because one has only
// 28,000 ports, and with a small receive buffer, so that little is read for a client that does not
// read.
func (f *flood) dial(i int) (net.Conn, error) {
	d := net.Dialer{
		LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(1+i%4))}, Timeout: 30 * time.Second,
		Control: func(_, _ string, raw syscall.RawConn) error {
			return raw.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 4<<10) })
		},
	}
	c, err := d.Dial("tcp", f.p.addr)
	if err == nil {
		f.came.Add(1)
	}
	return c, err
}

const openers = 16

// each calls do from many goroutines with the numbers below n, until over is closed.
func (f *flood) each(n int, do func(i int)) {
	var next atomic.Int64
	var doing sync.WaitGroup
	for range openers {
		doing.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				select {
				case <-f.over:
					return
				default:
					do(i)
				}
			}
		})
	}
	doing.Wait()
}

// open opens all connections.
func (f *flood) open() {
	f.each(f.size.connections, func(i int) {
		if c, err := f.dial(i); err == nil {
			f.mu.Lock()
			f.conns = append(f.conns, c)
			f.mu.Unlock()
		}
	})
}

// end closes all connections.
func (f *flood) end() {
	for _, c := range f.conns {
		_ = c.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
	}
}

// storm opens connections without end. Some ask and read, some leave at once, some reset.
func (f *flood) storm() {
	f.each(1<<30, func(i int) {
		c, err := f.dial(i)
		if err != nil {
			return
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		switch i % 4 {
		case 0:
			_ = c.(*net.TCPConn).SetLinger(0)
		case 1:
			_ = c.(*net.TCPConn).SetLinger(0)
			_, _ = io.WriteString(c, "GET /x HTTP/1.1\r\nHost: a\r\n\r\n")
		default:
			_, _ = io.WriteString(c, "GET /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
			_, _ = io.Copy(io.Discard, c)
		}
	})
}

// dribble sends a byte of a head each second on every connection.
func (f *flood) dribble() {
	f.open()
	head := "GET /x?" + strings.Repeat("x", 1000)
	for i := 0; ; i++ {
		for _, c := range f.conns {
			_ = c.SetWriteDeadline(time.Now().Add(time.Second))
			_, _ = io.WriteString(c, head[i:i+1]) // fails once it is refused
		}
		select {
		case <-f.over:
			return
		case <-time.After(time.Second):
		}
	}
}

// jam sends 32 KiB of requests with answers of 8 KiB on every connection, and reads nothing.
func (f *flood) jam() {
	f.open()
	request := "GET /long HTTP/1.1\r\nHost: a\r\n\r\n"
	batch := strings.Repeat(request, 32<<10/len(request))
	f.each(len(f.conns), func(i int) {
		_ = f.conns[i].SetWriteDeadline(time.Now().Add(10 * time.Millisecond))
		_, _ = io.WriteString(f.conns[i], batch) // fails if the server does not read all
	})
	<-f.over
}

// idle makes one request on every connection.
func (f *flood) idle() {
	f.open()
	f.each(len(f.conns), func(i int) {
		_, _ = io.WriteString(f.conns[i], "GET /x HTTP/1.1\r\nHost: a\r\n\r\n")
	})
	<-f.over
}
