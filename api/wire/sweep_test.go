package wire

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"
)

func TestAConnectionIsJudgedByItsTimeAndWhatMoved(t *testing.T) {
	p := Patience{Head: 10 * time.Second, Request: 30 * time.Second, Idle: 75 * time.Second}
	for name, c := range map[string]struct {
		seconds int64
		busy    bool
		inHead  bool
		moved   int64
		want    health
	}{
		"idle, in time":                    {75, false, false, 0, well},
		"idle for too long":                {76, false, false, 0, idle},
		"idle, a byte of a head just came": {12, false, true, 0, well},
		"a head in time":                   {10, true, true, 0, well},
		"a head that takes too long":       {11, true, true, 0, late},
		"a head that takes for ever":       {33, true, true, 0, dead},
		"a body in time":                   {30, true, false, 100, well},
		"a body that trickles":             {31, true, false, minRate - 1, late},
		"a body that trickles on":          {33, true, false, minRate - 1, dead},
		"a body that moves":                {60, true, false, 30 * minRate, well},
		"a body that moved and stopped":    {61, true, false, 30 * minRate, late},
		"an answer that is read slowly":    {90, true, false, 60 * minRate, well},
		"an answer that is not read on":    {93, true, false, 60 * minRate, dead},
	} {
		var r row
		r.note(c.busy, 0)
		r.mark(stateInHead, c.inHead)
		if got := p.judge(&r, c.moved, c.seconds, p.Head); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}

func TestASlowHeadIs408AndABodyHasLonger(t *testing.T) {
	st := newSite(t, Limits{Connections: 10})
	_, slow := st.dial("GET /x HTTP/1.1\r\nHost: ")
	body, fast := st.dial("POST /y HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabc")
	st.l.await(func(c *conn) bool { return c.row.heard() && c.row.inHead() })
	st.l.await(func(c *conn) bool { return c.row.heard() && !c.row.inHead() })
	for range DefaultPatience.Head/SweepInterval + 1 {
		st.Sweep()
	}
	if r := readReply(t, slow, "GET"); r.status != 408 || !r.close {
		t.Errorf("a slow Head: got %+v, want 408", r)
	}
	if _, err := io.WriteString(body, "de"); err != nil {
		t.Fatal(err)
	}
	if r := readReply(t, fast, "POST"); r.status != 404 || r.close {
		t.Errorf("a body of 10 s: got %+v, want 404", r)
	}
}

func TestAClientThatNeverReadsIsCut(t *testing.T) {
	g := newGroup(Limits{Connections: 10})
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
	g := newGroup(Limits{Connections: 10})
	if got := g.server().MaxRequestsPerConn; got != maxRequestsPerConn {
		t.Errorf("got %d requests, want %d", got, maxRequestsPerConn)
	}
	g.server().MaxRequestsPerConn = 3
	_, r := newSiteOn(t, g, nil).dial(strings.Repeat(requestText("GET", "/x"), 4))
	for i := 1; i <= 3; i++ {
		if answer := readReply(t, r, "GET"); answer.close != (i == 3) {
			t.Errorf("answer %d: got close %v", i, answer.close)
		}
	}
	if rest, err := io.ReadAll(r); len(rest) > 0 || err != nil {
		t.Errorf("after the last: got %q, %v", rest, err)
	}
}

func TestConnectionsThatTakeTooLongAreSwept(t *testing.T) {
	ln := fasthttputil.NewInmemoryListener()
	l := newListener(ln, Limits{Connections: MaxConnections}, Patience{Request: 3 * time.Second, Idle: 5 * time.Second}, testLogger(io.Discard))
	accept := func() (client net.Conn, c *conn) {
		var dialing sync.WaitGroup
		dialing.Go(func() { client, _ = ln.Dial() })
		accepted, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
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
		l.sweep()
		if second != 4 {
			continue
		}
		if _, err := silent.Read(make([]byte, 1)); !isTimeout(err) {
			t.Errorf("after 4 s of silence: got %v, want a timeout", err)
		}
	}
	if _, err := idle.Write([]byte("x")); err == nil {
		t.Error("a connection idle for 7 s is still open")
	}
	if _, err := silent.Write([]byte("x")); err == nil {
		t.Error("a connection silent for 7 s is still open")
	}
	if _, err := lively.Write([]byte("x")); err != nil {
		t.Errorf("a lively connection was closed: %v", err)
	}
	for _, c := range []*conn{silent, idle, lively} {
		_ = c.Close()
	}
	if got := l.open(); got != 0 {
		t.Errorf("got %d connections left, want 0", got)
	}
}

func TestOnlyConnectionsThatAreLongSilentAreCut(t *testing.T) {
	ln := fasthttputil.NewInmemoryListener()
	l := newListener(ln, Limits{Connections: MaxConnections}, DefaultPatience, testLogger(io.Discard))
	accept := func(greeting string) net.Conn {
		go func() {
			if c, err := ln.Dial(); err == nil {
				_, _ = io.WriteString(c, greeting)
			}
		}()
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if _, err := io.ReadFull(c, make([]byte, len(greeting))); err != nil {
			t.Fatal(err)
		}
		return c
	}
	heard, silent := accept("G"), accept("")
	for range 2 {
		l.sweep()
	}
	young := accept("")
	open := func(c net.Conn) bool {
		_, err := c.Write([]byte("x"))
		return err == nil
	}
	l.closeSilent(2 * SweepInterval)
	if !open(heard) || open(silent) || !open(young) {
		t.Errorf("got open: heard %v, silent %v, young %v; want true, false, true", open(heard), open(silent), open(young))
	}
	l.closeSilent(0)
	if !open(heard) || open(young) {
		t.Errorf("at the end: got open: heard %v, young %v; want true, false", open(heard), open(young))
	}
}

// BenchmarkSweep measures one sweep when every connection is in time.
func BenchmarkSweep(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprintf("connections=%d", n), func(b *testing.B) {
			l := newListener(nil, Limits{Connections: n}, DefaultPatience, testLogger(io.Discard))
			for range n {
				r := l.join(netip.IPv4Unspecified(), byServer)
				l.wrap(nil, r)
			}
			for b.Loop() {
				l.seconds.Store(0)
				l.sweep()
			}
		})
	}
}
