package wire

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"shunt/api/wire/conns"
	"shunt/api/wire/http1"
	"shunt/engine/expect"
)

// fasthttpCleaner is a goroutine that fasthttp leaves for some seconds.
var fasthttpCleaner = goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2")

// drains makes the answers of g close their connections once the drain has begun, as package api does.
func drains(g *Group) *Group {
	plain := g.Plain
	g.Plain = func(out []byte, r *http1.Plain) []byte {
		r.Closes = r.Closes || g.Drain.Begun()
		return plain(out, r)
	}
	return g
}

// In a drain, the next answer on a connection is its last, also in the middle of a pipeline. No answer
// that was sent is lost, although the client goes on to send.
func TestInADrainEachConnectionGetsALastAnswer(t *testing.T) {
	st := newLoopSiteOn(t, drains(newLoopGroup(2, conns.Limits{Connections: 100})))
	const clients = 20
	ended := make(chan error)
	begun := make(chan struct{})
	for range clients {
		c, r := st.dial("")
		go func() { // until the server ends the connection
			for {
				if _, err := io.WriteString(c, strings.Repeat(requestText("GET", "/page"), 16)); err != nil {
					return
				}
			}
		}()
		go func() {
			last := false
			for n := 0; ; n++ {
				if _, err := r.Peek(1); err != nil {
					if err == io.EOF && last {
						err = nil
					}
					ended <- err
					return
				}
				if n == 100 {
					begun <- struct{}{}
				}
				last = readReply(t, r, "GET").close
			}
		}()
	}
	for range clients {
		<-begun
	}
	st.Drain.Begin()
	expect.NoError(t, st.CloseListeners())
	for range clients {
		expect.NoError(t, <-ended)
	}
	for st.Open() > 0 { // clients that were told to close have a second
		st.pass(1)
		time.Sleep(time.Millisecond)
	}
	expect.NoError(t, st.Shutdown(t.Context()))
}

// Idle connections, and those that have sent nothing, do not keep Shutdown waiting.
func TestShutdownClosesIdleAndSilentConnectionsOfLoops(t *testing.T) {
	st := newLoopSite(t, 2, conns.Limits{Connections: 100})
	var clients []net.Conn
	for i := range 30 {
		c, r := st.dial([]string{"", requestText("GET", "/x"), requestText("GET", "/a/b")}[i%3])
		if i%3 != 0 {
			readReply(t, r, "GET")
		}
		clients = append(clients, c)
	}
	st.awaitRows(30, func(*conns.Row) bool { return true })
	st.Drain.Begin()
	expect.NoError(t, st.CloseListeners())
	expect.NoError(t, st.Shutdown(t.Context()))
	for i, c := range clients {
		_, err := c.Read(make([]byte, 1))
		expect.That(t, err != nil && !conns.IsTimeout(err), "connection %d is open: %v", i, err)
	}
}

func TestServeWithLoopsLeavesNoGoroutineAndNoDescriptor(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent(), fasthttpCleaner)
	files := openFiles(t)
	for range 20 {
		g := newLoopGroup(3, conns.Limits{Connections: 10})
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		expect.OK(t, err)
		served := make(chan error)
		go func() { served <- g.Serve(ln) }()
		c, err := net.Dial("tcp", ln.Addr().String())
		expect.OK(t, err)
		_, err = io.WriteString(c, requestText("GET", "/x"))
		expect.NoError(t, err)
		_, err = c.Read(make([]byte, 1))
		expect.NoError(t, err)
		g.shutDown(t)
		expect.NoError(t, <-served)
		expect.NoError(t, c.Close())
	}
	n := openFiles(t)
	expect.That(t, n <= files, "%d descriptors, %d before", n, files)
}

func TestLoopsServeNothingAfterTheDrainHasBegun(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent(), fasthttpCleaner)
	files := openFiles(t)
	g := newLoopGroup(2, conns.Limits{Connections: 10})
	g.Drain.Begin()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(t, err)
	expect.NoError(t, g.Serve(ln))
	if c, err := net.Dial("tcp", ln.Addr().String()); err == nil {
		expect.NoError(t, c.Close())
		t.Error("the listener is still open")
	}
	n := openFiles(t)
	expect.That(t, n <= files, "%d descriptors, %d before", n, files)
}
