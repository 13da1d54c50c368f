package api

import (
	"bufio"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"shunt/api/account"
)

func TestAConnectionIsJudgedByWhatItHasDoneInItsTime(t *testing.T) {
	p := patience{head: 10 * time.Second, request: 30 * time.Second, idle: 75 * time.Second}
	for name, c := range map[string]struct {
		seconds int64
		busy    bool
		inHead  bool
		moved   int64
		want    verdict
	}{
		"idle, in time":                     {75, false, false, 0, well},
		"idle for too long":                 {76, false, false, 0, idle},
		"idle, a byte of a head just came":  {12, false, true, 0, well},
		"a head in time":                    {10, true, true, 0, well},
		"a head that takes too long":        {11, true, true, 0, late},
		"a head that takes for ever":        {33, true, true, 0, dead},
		"a body in time":                    {30, true, false, 100, well},
		"a body that trickles":              {31, true, false, minRate - 1, late},
		"a body that trickles on":           {33, true, false, minRate - 1, dead},
		"a body that moves":                 {60, true, false, 30 * minRate, well},
		"a body that moved and stopped":     {61, true, false, 30 * minRate, late},
		"an answer that is taken, slowly":   {90, true, false, 60 * minRate, well},
		"an answer that is no longer taken": {93, true, false, 60 * minRate, dead},
	} {
		l := &listener{}
		conn := &conn{owner: l}
		conn.note(c.busy)
		conn.inHead.Store(c.inHead)
		conn.moved.Store(c.moved)
		if got := p.judge(conn, c.seconds); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}

// realListener serves the public address on a socket, and returns the listener that sweeps it.
func realListener(t *testing.T, st *site) (addr string, l *listener) {
	t.Helper()
	addr = st.realAddress()
	for l == nil {
		st.public.mu.Lock()
		for _, of := range st.public.mu.listeners {
			if of.Addr().String() == addr {
				l = of
			}
		}
		st.public.mu.Unlock()
		runtime.Gosched()
	}
	return addr, l
}

func dial(t *testing.T, addr, raw string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	check(t, c.SetDeadline(time.Now().Add(patienceOfTests)))
	if _, err := io.WriteString(c, raw); err != nil {
		t.Fatal(err)
	}
	return c, bufio.NewReader(c)
}

// await waits until the server has noted what holds tells.
func (l *listener) await(holds func(c *conn) bool) {
	for found := false; !found; runtime.Gosched() {
		l.mu.Lock()
		for c := range l.mu.conns {
			found = found || holds(c)
		}
		l.mu.Unlock()
	}
}

func TestAHeadThatTakesTooLongIsAnswered408AndABodyHasLonger(t *testing.T) {
	st := newSite(t, nil)
	addr, l := realListener(t, st)
	_, slow := dial(t, addr, "GET /x HTTP/1.1\r\nHost: ")
	body, fast := dial(t, addr, "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabc")
	l.await(func(c *conn) bool { return c.heard.Load() && c.inHead.Load() })
	l.await(func(c *conn) bool { return c.heard.Load() && !c.inHead.Load() })
	for range publicPatience.head/sweepInterval + 1 {
		l.sweep()
	}
	if r := readReply(t, slow, "GET"); r.status != 408 || !r.close {
		t.Errorf("a slow head: got %+v, want 408", r)
	}
	if _, err := io.WriteString(body, "de"); err != nil {
		t.Fatal(err)
	}
	if r := readReply(t, fast, "POST"); r.status != 404 || r.close {
		t.Errorf("a body of 10 s: got %+v, want 404", r)
	}
}

func TestAClientThatNeverReadsIsCut(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/` + strings.Repeat("x", 8000) + `","alias":"long"}`)
	addr, l := realListener(t, st)
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cut := make(chan error)
	go func() { // more requests than the buffers between have room for answers
		request := requestText("GET", "/long", "")
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
			l.sweep() // hours pass; a connection whose answers are taken begins a new request at each
			time.Sleep(time.Millisecond)
		}
	}
}

func TestAConnectionHasSoManyRequests(t *testing.T) {
	st := newSite(t, nil)
	if got := st.public.http.MaxRequestsPerConn; got != maxRequestsPerConn {
		t.Errorf("got %d requests, want %d", got, maxRequestsPerConn)
	}
	st.public.http.MaxRequestsPerConn = 3
	_, r := dial(t, st.realAddress(), strings.Repeat(requestText("GET", "/x", ""), 4))
	for i := 1; i <= 3; i++ {
		if answer := readReply(t, r, "GET"); answer.close != (i == 3) {
			t.Errorf("answer %d: got close %v", i, answer.close)
		}
	}
	if rest, err := io.ReadAll(r); len(rest) > 0 || err != nil {
		t.Errorf("behind the last: got %q, %v", rest, err)
	}
}

func TestAnEndpointMayTakeALargerBodyFromThoseItKnows(t *testing.T) {
	st := newSite(t, nil)
	st.bodyLimits = bodyLimits([]endpoint{
		{method: "POST", path: "/shorten", scope: account.LinksWrite, maxBody: 128 << 10}, {method: "POST", path: "/tokens", maxBody: 100},
	})
	body := `{"url":"http://a/"}` + strings.Repeat(" ", 100<<10)
	for name, c := range map[string]struct {
		token, path, body string
		want              int
	}{
		"more than usual":              {st.token, "/shorten", body, 201},
		"more than that":               {st.token, "/shorten", body + body, 413},
		"more than usual, of a nobody": {"shunt_wrong", "/shorten", body, 413},
		"without the scope":            {st.member("ann@example.com", account.LinksRead), "/shorten", body, 413},
		"elsewhere":                    {st.token, "/links/x", body, 413},
		"less than usual":              {st.token, "/tokens", body[:101], 413},
	} {
		if r := st.callAs(c.token, "POST", c.path, c.body); r.status != c.want {
			t.Errorf("%s: got %d %s, want %d", name, r.status, r.body, c.want)
		}
	}
}
