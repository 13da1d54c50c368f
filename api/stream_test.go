package api

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"shunt/api/account"
	"shunt/engine/expect"
)

// A live client reads a stream of live figures over a real socket.
type liveClient struct {
	t      *testing.T
	conn   net.Conn
	header http.Header
	events chan string // an event's or a comment's lines, joined by |; closed at the stream's end
	err    error       // of the stream, once events is closed; nil: a regular end
}

// realAddress serves the public address on a real socket.
func (st *site) realAddress() string {
	st.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(st.t, err)
	st.serveOn(ln, st.ServePublic)
	st.t.Cleanup(func() {
		err := st.Shutdown(context.Background())
		expect.That(st.t, err == nil || err == errShutDown, "%v", err)
	})
	return ln.Addr().String()
}

// live opens a stream of a link. If it gets another answer than 200, it returns that.
func live(t *testing.T, address, token, path string) (*liveClient, reply) {
	t.Helper()
	return liveAt(t, address, "/api/v1/stats/"+path, bearer(token))
}

// liveAt opens a stream.
func liveAt(t *testing.T, address, path string, lines ...string) (*liveClient, reply) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	expect.OK(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	expect.OK(t, expect.Err(io.WriteString(conn, requestText("GET", path, "", lines...))))
	r := bufio.NewReader(conn)
	res, err := http.ReadResponse(r, &http.Request{Method: "GET"})
	expect.OK(t, err)
	if res.StatusCode != 200 {
		body, _ := io.ReadAll(res.Body)
		return nil, reply{res.StatusCode, res.Header, string(body), res.Close}
	}
	c := &liveClient{t: t, conn: conn, header: res.Header, events: make(chan string, 100)}
	go c.read(res.Body)
	return c, reply{}
}

func (c *liveClient) read(body io.Reader) {
	defer close(c.events)
	var lines []string
	scanner := bufio.NewScanner(body)
	for scanner.Scan() {
		if line := scanner.Text(); line != "" {
			lines = append(lines, line)
			continue
		}
		c.events <- strings.Join(lines, "|")
		lines = nil
	}
	c.err = scanner.Err()
}

// want checks the next event; "" is the regular end. When each comes is measured in api/links/live_test.go. Before it
// those may come that are named.
func (c *liveClient) want(want string, before ...string) {
	c.t.Helper()
	select {
	case got, open := <-c.events:
		if open && slices.Contains(before, got) {
			c.want(want)
			return
		}
		expect.That(c.t, got == want && open != (want == ""), "got %q, want %q", got, want)
		if !open {
			expect.NoError(c.t, c.err, "the stream broke off")
		}
	case <-time.After(patienceOfTests):
		c.t.Errorf("no %q within %v", want, patienceOfTests)
	}
}

func (c *liveClient) silent(d time.Duration) {
	c.t.Helper()
	select {
	case got := <-c.events:
		c.t.Errorf("got %q, want nothing for %v", got, d)
	case <-time.After(d):
	}
}

func figuresEvent(hits, unique int) string {
	return fmt.Sprintf(`data: {"hits":%d,"unique":%d}`, hits, unique)
}

// openStreams returns the number of streams that hold a place.
func (s *Server) openStreams() int { return s.live.Held() }

// beforeComments is long, also on a busy machine, and ends before a stream sends a comment, by which it would learn
// that its client is gone.
const beforeComments = 10 * time.Second

// awaitStreams waits until n streams are open.
func (st *site) awaitStreams(n int) {
	st.t.Helper()
	for start := time.Now(); st.openStreams() != n; time.Sleep(time.Millisecond) {
		expect.MustThat(st.t, time.Since(start) <= beforeComments, "%d streams are open after %v, want %d", st.openStreams(), beforeComments, n)
	}
}

// fasthttpCleaner sleeps 10 s before it notices that its server is shut down.
var fasthttpCleaner = goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2")

// liveStreamsCaller is how many streams a caller may have open.
const liveStreamsCaller = 16

func TestLiveFiguresComeAtOnceAndWhenTheyChange(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent(), fasthttpCleaner)
	t.Run("site", func(t *testing.T) {
		st := newSite(t, nil)
		st.shorten(`{"url":"http://a/","alias":"x"}`)
		st.get("/x", browser)
		c, _ := live(t, st.realAddress(), st.token, "x/live")
		c.want(figuresEvent(1, 1))
		for name, want := range map[string]string{
			"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no", "Content-Encoding": "", "X-Content-Type-Options": "nosniff",
		} {
			expect.Equal(t, c.header.Get(name), want, name)
		}
		st.get("/x", browser)
		st.get("/x", "User-Agent: curl/8")
		c.want(figuresEvent(3, 2), figuresEvent(2, 1)) // a look may fall between the two
		c.silent(2500 * time.Millisecond)
		st.get("/x", "User-Agent: Twitterbot/1.0")
		c.silent(1500 * time.Millisecond)
		st.get("/x", browser)
		c.want(figuresEvent(4, 2))
		st.call("DELETE", "/links/x", "")
		c.want(`event: end|data: {"reason":"deleted"}`)
		c.want("")
		st.awaitStreams(0)
	})
}

// TestAStreamOutlivesARequestThatIsTheLast: no request follows one with Connection: close, and the client reads on.
func TestAStreamOutlivesARequestThatIsTheLast(t *testing.T) {
	t.Parallel()
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	c, _ := liveAt(t, st.realAddress(), "/api/v1/stats/x/live", bearer(st.token), "Connection: close")
	c.want(figuresEvent(0, 0))
	st.get("/x", browser)
	c.want(figuresEvent(1, 1))
	expect.OK(t, c.conn.Close())
	st.awaitStreams(0)
}

func TestALiveStreamEndsWithTheTokenThatOpenedIt(t *testing.T) {
	t.Parallel()
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	address := st.realAddress()
	admin, _, err := st.accounts.EnsureAdmin()
	expect.OK(t, err)
	revoked, text, err := st.accounts.IssueToken(account.CallerOf(admin), account.TokenDraft{Name: "revoked"})
	expect.OK(t, err)
	_, expiring, err := st.accounts.IssueToken(account.CallerOf(admin), account.TokenDraft{Name: "expiring", ExpiresAt: time.UnixMilli(st.now.Load() + 60_000)})
	expect.OK(t, err)
	stays, _ := live(t, address, st.token, "x/live?owner=all")
	first, _ := live(t, address, text, "x/live")
	second, _ := live(t, address, expiring, "x/live")
	for _, c := range []*liveClient{stays, first, second} {
		c.want(figuresEvent(0, 0))
	}
	expect.NoError(t, st.accounts.RevokeToken(account.Caller{}, admin.ID, revoked.ID))
	first.want(`event: end|data: {"reason":"unauthorized"}`)
	first.want("")
	second.silent(0)
	st.now.Add(60_000)
	second.want(`event: end|data: {"reason":"unauthorized"}`)
	second.want("")
	st.get("/x", browser)
	stays.want(figuresEvent(1, 1))
	st.awaitStreams(1)
}

func TestShutdownEndsLiveStreams(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent(), fasthttpCleaner)
	t.Run("site", func(t *testing.T) {
		st := newSite(t, nil)
		st.shorten(`{"url":"http://a/","alias":"x"}`)
		c, _ := live(t, st.realAddress(), st.token, "x/live")
		c.want(figuresEvent(0, 0))
		start := time.Now()
		expect.NoError(t, st.Shutdown(t.Context()), "Shutdown")
		took := time.Since(start)
		expect.That(t, took <= beforeComments, "Shutdown took %v, want at most %v", took, beforeComments)
		c.want(`event: end|data: {"reason":"shutdown"}`)
		c.want("")
	})
}

func TestLiveStreamsAreBoundedForACallerAndInAll(t *testing.T) {
	t.Parallel()
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	address := st.realAddress()
	clients := make([]*liveClient, liveStreamsCaller)
	for i := range clients {
		clients[i], _ = live(t, address, st.token, "x/live")
		clients[i].want(figuresEvent(0, 0))
	}
	_, r := live(t, address, st.token, "x/live")
	r.expect(t, "one too many", 503, problemOf("overloaded"), some("Retry-After"))
	ann := st.member("ann@example.com")
	st.callAs(ann, "POST", "/shorten", `{"url":"http://a/","alias":"y"}`)
	other, _ := live(t, address, ann, "y/live")
	other.want(figuresEvent(0, 0))
	expect.NoError(t, clients[0].conn.Close())
	st.awaitStreams(liveStreamsCaller) // its place is free long before the stream sends anything
	again, _ := live(t, address, st.token, "x/live")
	again.want(figuresEvent(0, 0))
}

func TestHEADOpensNoLiveStream(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	for range liveStreamsCaller + 1 {
		st.call("HEAD", "/stats/x/live", "").expect(t, "", 200, header("Content-Type", "text/event-stream"), bodyOf(""), kept)
	}
	st.call("HEAD", "/stats/y/live", "").expect(t, "a missing link", 404)
	st.awaitStreams(0)
}

func TestAClientThatDoesNotReadItsStreamIsCut(t *testing.T) {
	expect.Long(t)
	t.Parallel()
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	stuck, err := st.serve(st.ServePublic).Dial() // in memory: there is no buffer for a client that does not read
	expect.OK(t, err)
	defer stuck.Close()
	expect.OK(t, expect.Err(io.WriteString(stuck, requestText("GET", "/api/v1/stats/x/live", "", "Authorization: Bearer "+st.token))))
	well, _ := live(t, st.realAddress(), st.token, "x/live")
	well.want(figuresEvent(0, 0))
	st.awaitStreams(2)
	var hits int
	for start := time.Now(); st.openStreams() == 2; { // hours of sweeps, a few a second
		expect.MustThat(t, time.Since(start) <= time.Minute, "the client that does not read is still there")
		st.get("/x", browser)
		hits++
		well.want(figuresEvent(hits, 1))
		for range 10 {
			st.public.Sweep()
		}
	}
	st.get("/x", browser)
	well.want(figuresEvent(hits+1, 1))
}

func TestShutdownEndsLiveStreamsOfTheSocket(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	got := make(chan reply)
	go func() {
		got <- send(t, st.localAt, "GET", requestText("GET", "/api/v1/stats/x/live", ""))
	}()
	st.awaitStreams(1)
	expect.NoError(t, st.Shutdown(context.Background()))
	r := <-got
	r.expect(t, "", 200, bodyOf(figuresEvent(0, 0)+"\n\nevent: end\ndata: {\"reason\":\"shutdown\"}\n\n"))
}
