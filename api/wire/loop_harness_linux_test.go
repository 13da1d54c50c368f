package wire

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/wire/conns"
	"shunt/api/wire/http1"
	"shunt/engine/expect"
)

// A loopSite is a site whose connections loops own. /x is redirected to a target that ends in the
// query, so that answers can be told apart; /page is a 404 of 2 KiB, /panic panics; every other plain
// path is a 404. fasthttp gives the same answers, with Via: fasthttp.
type loopSite struct {
	*site
	log     *syncLog
	files   int // open descriptors before the site was there
	holding atomic.Pointer[holding]
}

// loopPage is the body of /page.
var loopPage = strings.Repeat("p", 2<<10)

func newLoopGroup(loops int, lim conns.Limits) *Group {
	if lim.Counts == nil {
		lim.Counts = new(conns.Counts)
	}
	g := newGroup(lim)
	g.Loops, g.Reader = loops, http1.NewReader(&http1.Proxies{}, nil)
	g.Plain = answerInLoop
	g.PlainPanic = func(out []byte, r *http1.Plain, _ any) []byte {
		r.Closes = true
		return append(out, "HTTP/1.1 500 Internal Server Error\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"...)
	}
	g.Handle = func(ctx *fasthttp.RequestCtx) {
		ctx.Response.Header.Set("Via", "fasthttp")
		switch string(ctx.Path()) {
		case "/x":
			ctx.SetStatusCode(fasthttp.StatusFound)
			ctx.Response.Header.SetCanonical([]byte("Location"), append([]byte("http://a/"), ctx.URI().QueryString()...))
		case "/page":
			ctx.SetStatusCode(fasthttp.StatusNotFound)
			ctx.SetBodyString(loopPage)
		case "/panic":
			ctx.SetStatusCode(fasthttp.StatusInternalServerError)
			ctx.SetConnectionClose()
		default:
			ctx.SetStatusCode(fasthttp.StatusNotFound)
		}
	}
	return g
}

// answerInLoop is Plain of a loopSite.
func answerInLoop(out []byte, r *http1.Plain) []byte {
	status, body := "404 Not Found", ""
	switch string(r.Segment) {
	case "x":
		status = "302 Found\r\nLocation: http://a/" + string(r.Query)
	case "page":
		body = loopPage
	case "panic":
		panic("as was asked for")
	}
	out = fmt.Appendf(out, "HTTP/1.1 %s\r\nContent-Length: %d\r\n", status, len(body))
	if r.Closes {
		out = append(out, "Connection: close\r\n"...)
	}
	if out = append(out, "\r\n"...); !r.Head {
		out = append(out, body...)
	}
	return out
}

// newLoopSite serves a group with loops until the test's end. Then nothing of it must be left.
func newLoopSite(t *testing.T, loops int, lim conns.Limits) *loopSite {
	t.Helper()
	return newLoopSiteOn(t, newLoopGroup(loops, lim))
}

func newLoopSiteOn(t *testing.T, g *Group) *loopSite {
	t.Helper()
	files := openFiles(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(t, err)
	return newLoopSiteAt(t, g, ln, files)
}

// newLoopSiteAt serves g on a listener of the test, before which files descriptors were open.
func newLoopSiteAt(t *testing.T, g *Group, ln net.Listener, files int) *loopSite {
	t.Helper()
	st := &loopSite{log: new(syncLog), files: files}
	g.Log = testLogger(st.log)
	plain := g.Plain
	g.Plain = func(out []byte, r *http1.Plain) []byte {
		if h := st.holding.Load(); h != nil && string(r.Segment) == "hold" {
			select {
			case h.began <- struct{}{}:
				<-h.over
			case <-h.over: // more requests came than loops were to be held
			}
		}
		return plain(out, r)
	}
	t.Cleanup(func() { st.wantNothingLeft(t) }) // after it has been shut down
	st.site = serveSite(t, g, ln)
	st.awaitLoops(t)
	return st
}

// awaitLoops waits until each loop runs. Until then it has not opened everything that it needs.
func (st *loopSite) awaitLoops(t *testing.T) {
	t.Helper()
	st.Beat()
	for deadline := time.Now().Add(patienceOfTests); !st.Beat(); runtime.Gosched() {
		expect.MustThat(t, !time.Now().After(deadline), "a loop does not run")
	}
}

// wantNothingLeft checks what must hold once serving has ended and all clients have gone.
func (st *loopSite) wantNothingLeft(t *testing.T) {
	t.Helper()
	l := st.l
	l.awaitNone()
	u := l.Usage()
	expect.Equal(t, u, conns.Usage{Free: u.Made, Made: u.Made}, "left of the table")
	for _, n := range l.loops.Open() {
		expect.Equal(t, n, 0, "a loop counts connections")
	}
	for n := openFiles(t); n > st.files; n = openFiles(t) { // conns of the test close after its own clean-ups
		if !awaitFewer(t, n) {
			t.Errorf("%d descriptors are open, %d before: %s", n, st.files, openNames())
			return
		}
	}
}

// awaitFewer waits until fewer than n descriptors are open. It returns false if that does not happen.
func awaitFewer(t *testing.T, n int) bool {
	for deadline := time.Now().Add(patienceOfTests); time.Now().Before(deadline); runtime.Gosched() {
		if openFiles(t) < n {
			return true
		}
	}
	return false
}

// Go opens a poller with its first socket and keeps it. Here it does so before any test counts.
func init() {
	if ln, err := net.Listen("tcp", "127.0.0.1:0"); err == nil {
		_ = ln.Close()
	}
}

// openFiles returns the number of descriptors that the process has open.
func openFiles(t testing.TB) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	expect.OK(t, err)
	return len(files)
}

// openNames says what is open, for the message of a test that fails.
func openNames() []string {
	files, _ := os.ReadDir("/proc/self/fd")
	names := make([]string, 0, len(files))
	for _, f := range files {
		name, _ := os.Readlink("/proc/self/fd/" + f.Name())
		names = append(names, f.Name()+" "+name)
	}
	return names
}

// A syncLog is a log that tests can read while it is written.
type syncLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *syncLog) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *syncLog) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// inLoops returns the connections of loops.
func (l *listener) inLoops() (n int) {
	for _, open := range l.loops.Open() {
		n += open
	}
	return n
}

// hold stops every loop in the middle of a request, until release is called.
func (st *loopSite) hold() (release func()) { return st.holdSome(st.Loops) }

// holdSome stops that many loops.
func (st *loopSite) holdSome(loops int) (release func()) {
	held := &holding{began: make(chan struct{}), over: make(chan struct{})}
	st.holding.Store(held)
	for n := 0; n < loops; {
		st.dial(requestText("GET", "/hold"))
		select {
		case <-held.began:
			n++
		case <-time.After(20 * time.Millisecond): // it waits at a loop that is held already
		}
	}
	return sync.OnceFunc(func() { close(held.over) })
}

// A holding is what /hold waits for.
type holding struct{ began, over chan struct{} }

// dialQuiet is dial for many connections, which the caller closes itself.
func (st *loopSite) dialQuiet(t *testing.T, raw string) (net.Conn, *bufio.Reader) {
	c, err := net.Dial("tcp", st.addr)
	if err != nil {
		t.Error(err)
		runtime.Goexit()
	}
	expect.NoError(t, c.SetDeadline(time.Now().Add(patienceOfTests)))
	_, _ = io.WriteString(c, raw)
	return c, bufio.NewReaderSize(c, 512)
}

// awaitHeard waits until n connections of loops have sent something.
func (l *listener) awaitHeard(n int) {
	for heard := -1; heard < n; runtime.Gosched() {
		heard = 0
		l.Each(func(r *conns.Row) {
			if r.Owner.Load() >= 0 && r.Heard() {
				heard++
			}
		})
	}
}
