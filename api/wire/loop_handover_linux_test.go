package wire

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"shunt/api/wire/conns"
	"shunt/engine/expect"
)

// strange are requests that no loop answers, with their methods.
var strange = []struct{ method, raw string }{
	{"GET", requestText("GET", "/a/b")},
	{"OPTIONS", requestText("OPTIONS", "*")},
	{"POST", "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"},
	{"POST", "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"},
	{"GET", "GET /x HTTP/1.1\r\nHost: a\r\nX-Tab:\tx\r\n\r\n"},
	{"GET", "GET /x HTTP/1.1\r\nHost: a\r\nX-Long: " + strings.Repeat("x", 12<<10) + "\tx\r\n\r\n"},
}

// Wherever a request that is not plain stands among others, and in however many pieces all of them
// come, each is answered once and in order.
func TestAPipelineIsAnsweredInOrderWhereverItIsHandedOver(t *testing.T) {
	st := newLoopSite(t, 2, conns.Limits{Connections: 100})
	random := rand.New(rand.NewPCG(1, 2))
	for _, odd := range strange {
		for place := range 6 {
			for _, pieces := range []int{1, 2, 5, 30} {
				st.pipeline(random, odd.method, odd.raw, place, pieces)
			}
		}
	}
	if n := len(st.l.conns()); n != 0 && st.Open() > 0 {
		st.l.awaitNone()
	}
}

func (st *loopSite) pipeline(random *rand.Rand, method, odd string, place, pieces int) {
	st.t.Helper()
	var raw strings.Builder
	for i := range 6 {
		if i == place {
			raw.WriteString(odd)
		} else {
			raw.WriteString(requestText("GET", fmt.Sprintf("/x?%d", i)))
		}
	}
	c, r := st.dialQuiet(st.t, "")
	defer c.Close()
	go sendInPieces(c, raw.String(), random.Perm(raw.Len())[:pieces-1])
	for i := range 6 {
		if i == place {
			got := readReply(st.t, r, method)
			expect.MustThat(st.t, got.header.Get("Via") != "" || got.status == 400, "%.40q at %d in %d pieces: got %+v, not fasthttp's", odd, i, pieces, got)
		} else if got := readReply(st.t, r, "GET"); got.header.Get("Location") != fmt.Sprintf("http://a/%d", i) {
			st.t.Fatalf("%.40q at %d in %d pieces: answer %d is %+v", odd, place, pieces, i, got)
		}
	}
}

// sendInPieces sends raw, cut at some positions.
func sendInPieces(c net.Conn, raw string, cuts []int) {
	marks := make(map[int]bool)
	for _, cut := range cuts {
		marks[cut] = true
	}
	from := 0
	for i := range len(raw) + 1 {
		if i == len(raw) || marks[i] {
			_, _ = io.WriteString(c, raw[from:i])
			from = i
			runtime.Gosched()
		}
	}
}

func TestAConnectionCountsOnceWhoeverOwnsIt(t *testing.T) {
	st := newLoopSite(t, 2, conns.Limits{Connections: 100})
	const clients = 20
	var conns []net.Conn
	for range clients {
		c, r := st.dial(requestText("GET", "/x"))
		readReply(t, r, "GET")
		conns = append(conns, c)
	}
	expect.That(t, st.Open() == clients && st.l.inLoops() == clients, "got %d open, %d in loops; want %d", st.Open(), st.l.inLoops(), clients)
	for _, c := range conns[:15] {
		st.wantBothDoors(c)
	}
	if slots := st.l.Usage().Slots; st.Open() != clients || st.l.inLoops() != clients-15 || slots < clients || slots > clients+1 {
		t.Errorf("got %d open, %d in loops, %d slots", st.Open(), st.l.inLoops(), slots)
	}
	for _, c := range conns {
		expect.NoError(t, c.Close())
	}
	st.l.awaitNone()
}

func TestTenThousandHandOversLeakNothing(t *testing.T) {
	st := newLoopSite(t, 2, conns.Limits{Connections: 100})
	ask := "GET /a/b HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
	one := func() {
		c, r := st.dialQuiet(t, requestText("GET", "/x")+ask)
		_, _ = io.Copy(io.Discard, r)
		_ = c.Close()
	}
	one()
	st.l.awaitNone()
	files, goroutines := openFiles(t), runtime.NumGoroutine()
	var clients sync.WaitGroup
	for range 10 {
		clients.Go(func() {
			for range 1000 {
				one()
			}
		})
	}
	clients.Wait()
	st.l.awaitNone()
	for deadline := time.Now().Add(patienceOfTests); openFiles(t) > files || runtime.NumGoroutine() > goroutines; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d descriptors and %d goroutines, %d and %d before: %s", openFiles(t), runtime.NumGoroutine(), files, goroutines, openNames())
		}
	}
	expect.Equal(t, st.l.Usage().Made, 256, "rows were made")
}

// A head that has begun when the server stops is answered, and Shutdown waits for it.
func TestShutdownWaitsForHeadsThatHaveBegun(t *testing.T) {
	for range 20 {
		st := newLoopSite(t, 2, conns.Limits{Connections: 20})
		const clients = 6
		var conns []net.Conn
		var answers [clients]chan reply
		for i := range answers {
			c, r := st.dial("GET /x HTTP/1.1\r\nHost: ")
			answers[i] = make(chan reply, 1)
			conns = append(conns, c)
			go func() { answers[i] <- readReply(t, r, "GET") }()
		}
		st.l.awaitHeard(clients)
		st.Drain.Begin()
		expect.NoError(t, st.CloseListeners())
		over := make(chan error)
		go func() { over <- st.Shutdown(t.Context()) }()
		for i, c := range conns {
			_, err := io.WriteString(c, "a\r\n\r\n")
			expect.NoError(t, err)
			got := <-answers[i]
			expect.Equal(t, got.status, 302, "got %+v", got)
			if i < clients-1 {
				continue
			}
			expect.NoError(t, <-over)
			expect.MustEqual(t, st.Open(), 0, "after Shutdown connections are open")
		}
	}
}

func TestShutdownEndsWithItsContext(t *testing.T) {
	st := newLoopSite(t, 2, conns.Limits{Connections: 20})
	st.dial("GET /x HTTP/1.1\r\nHost: ")
	st.l.awaitHeard(1)
	st.Drain.Begin()
	expect.NoError(t, st.CloseListeners())
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := st.Shutdown(ctx)
	expect.That(t, err == context.DeadlineExceeded, "got %v, want that the time is over", err)
}

// The limit of requests holds wherever the requests on a connection are answered.
func TestBothDoorsShareTheLimitOfRequests(t *testing.T) {
	for place := range 8 { // of the request that is not plain; 7: there is none
		g := newLoopGroup(1, conns.Limits{Connections: 10})
		g.server().MaxRequestsPerConn = 5
		st := newLoopSiteOn(t, g)
		var raw strings.Builder
		for i := range 1000 { // more than are read at once, so that an end without delay would reset
			if i == place {
				raw.WriteString(requestText("GET", "/a/b"))
			} else {
				raw.WriteString(requestText("GET", "/page"))
			}
		}
		c, r := st.dial("")
		go func() { _, _ = io.WriteString(c, raw.String()) }()
		for i := range 5 {
			expect.MustEqual(t, readReply(t, r, "GET").close, i == 4, "not plain at %d: answer %d: closes", place, i)
		}
		rest, err := io.ReadAll(r)
		expect.That(t, len(rest) == 0 && err == nil, "not plain at %d: after the last: got %d bytes, %v", place, len(rest), err)
	}
}
