package wire

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"

	"shunt/api/wire/conns"
	"shunt/engine/expect"
)

func TestASlowHeadIs408AndABodyHasLonger(t *testing.T) {
	st := newSite(t, conns.Limits{Connections: 10})
	_, slow := st.dial("GET /x HTTP/1.1\r\nHost: ")
	body, fast := st.dial("POST /y HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabc")
	st.l.await(func(c *conns.Served) bool { return c.Row.Heard() && c.Row.InHead() })
	st.l.await(func(c *conns.Served) bool { return c.Row.Heard() && !c.Row.InHead() })
	for range conns.DefaultPatience.Head/conns.SweepInterval + 1 {
		st.Sweep()
	}
	r := readReply(t, slow, "GET")
	expect.That(t, r.status == 408 && r.close, "a slow Head: got %+v, want 408", r)
	expect.OK(t, expect.Err(io.WriteString(body, "de")))
	r = readReply(t, fast, "POST")
	expect.That(t, r.status == 404 && !r.close, "a body of 10 s: got %+v, want 404", r)
}

func TestAClientThatNeverReadsIsCut(t *testing.T) {
	g := newGroup(conns.Limits{Connections: 10})
	g.Handle = func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString(strings.Repeat("x", 8000)) }
	st := newSiteOn(t, g, nil)
	c, _ := st.dial("")
	cut := make(chan error)
	go func() { // more requests than the buffers have room for answers
		request := requestText("GET", "/x")
		var err error
		for err == nil {
			_, err = io.WriteString(c, strings.Repeat(request, 100))
		}
		cut <- err
	}()
	for {
		select {
		case <-cut:
			return
		default:
			st.Sweep()                   // hours pass; a client that reads its answers would begin a new request at each sweep
			time.Sleep(time.Millisecond) // the subject is the kernel's buffers, which need time to fill
		}
	}
}

func TestAConnectionHasALimitOfRequests(t *testing.T) {
	g := newGroup(conns.Limits{Connections: 10})
	expect.Equal(t, g.server().MaxRequestsPerConn, maxRequestsPerConn, "requests")
	g.server().MaxRequestsPerConn = 3
	_, r := newSiteOn(t, g, nil).dial(strings.Repeat(requestText("GET", "/x"), 4))
	for i := 1; i <= 3; i++ {
		expect.Equal(t, readReply(t, r, "GET").close, i == 3, "answer %d", i)
	}
	rest, err := io.ReadAll(r)
	expect.That(t, len(rest) == 0 && err == nil, "after the last: got %q, %v", rest, err)
}

func TestConnectionsThatTakeTooLongAreSwept(t *testing.T) {
	ln := fasthttputil.NewInmemoryListener()
	l := listenerOf(ln, conns.Limits{Connections: conns.MaxConnections}, conns.Patience{Request: 3 * time.Second, Idle: 5 * time.Second}, testLogger(io.Discard))
	accept := func() (client net.Conn, c *conn) {
		var dialing sync.WaitGroup
		dialing.Go(func() { client, _ = ln.Dial() })
		accepted, err := l.Accept()
		expect.OK(t, err)
		dialing.Wait()
		return client, accepted.(*conn)
	}
	_, silent := accept()
	_, idle := accept()
	_, lively := accept()
	noteState(idle, fasthttp.StateIdle)
	for second := 1; second <= 7; second++ {
		noteState(lively, fasthttp.StateActive)
		noteState(lively, fasthttp.StateIdle)
		l.Sweep()
		if second != 4 {
			continue
		}
		_, err := silent.Read(make([]byte, 1))
		expect.That(t, conns.IsTimeout(err), "after 4 s of silence: got %v, want a timeout", err)
	}
	expect.That(t, expect.Err(idle.Write([]byte("x"))) != nil, "a connection idle for 7 s is still open")
	expect.That(t, expect.Err(silent.Write([]byte("x"))) != nil, "a connection silent for 7 s is still open")
	expect.NoError(t, expect.Err(lively.Write([]byte("x"))), "a lively connection was closed")
	for _, c := range []*conn{silent, idle, lively} {
		_ = c.Close()
	}
	expect.Equal(t, l.Open(), 0, "connections left")
}

func TestOnlyConnectionsThatAreLongSilentAreCut(t *testing.T) {
	ln := fasthttputil.NewInmemoryListener()
	l := listenerOf(ln, conns.Limits{Connections: conns.MaxConnections}, conns.DefaultPatience, testLogger(io.Discard))
	accept := func(greeting string) net.Conn {
		go func() {
			if c, err := ln.Dial(); err == nil {
				_, _ = io.WriteString(c, greeting)
			}
		}()
		c, err := l.Accept()
		expect.OK(t, err)
		t.Cleanup(func() { _ = c.Close() })
		expect.OK(t, expect.Err(io.ReadFull(c, make([]byte, len(greeting)))))
		return c
	}
	heard, silent := accept("G"), accept("")
	for range 2 {
		l.Sweep()
	}
	young := accept("")
	open := func(c net.Conn) bool {
		_, err := c.Write([]byte("x"))
		return err == nil
	}
	l.CloseSilent(2 * conns.SweepInterval)
	if !open(heard) || open(silent) || !open(young) {
		t.Errorf("got open: heard %v, silent %v, young %v; want true, false, true", open(heard), open(silent), open(young))
	}
	l.CloseSilent(0)
	if !open(heard) || open(young) {
		t.Errorf("at the end: got open: heard %v, young %v; want true, false", open(heard), open(young))
	}
}
