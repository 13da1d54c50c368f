package wire

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"shunt/api/wire/conns"
	"shunt/engine/expect"
)

// chaosVariable sets how many seconds the tests of this file last; the default is short.
const chaosVariable = "SHUNTTEST_CHAOS"

func chaosTime(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv(chaosVariable)
	if text == "" {
		return time.Second
	}
	seconds, err := strconv.Atoi(text)
	expect.OK(t, err, chaosVariable)
	return time.Duration(seconds) * time.Second
}

// A chaos is many clients that do at random what clients do. Whatever that is, an answer that they
// read is the next one of what they have sent.
type chaos struct {
	st           *loopSite
	over         atomic.Bool // no client comes any more
	calm         atomic.Bool // all have gone
	gentle       bool        // no connection is evicted, and none is late: nothing may be lost
	disturbing   sync.WaitGroup
	answers, cut atomic.Int64
}

// end lets no client come any more, and waits until all have gone.
func (ch *chaos) end(clients *sync.WaitGroup) {
	ch.over.Store(true)
	clients.Wait()
	ch.calm.Store(true)
	ch.disturbing.Wait()
}

// run lets n clients come again and again until over is set, and disturbs them.
func (ch *chaos) run(n int) (clients *sync.WaitGroup) {
	ch.disturbing.Go(func() { ch.disturb(rand.New(rand.NewPCG(5, 6))) })
	clients = new(sync.WaitGroup)
	for i := range n {
		random := rand.New(rand.NewPCG(uint64(i), uint64(time.Now().UnixNano())))
		clients.Go(func() {
			for !ch.over.Load() {
				if c, err := net.Dial("tcp", ch.st.addr); err == nil {
					ch.client(c.(*net.TCPConn), random)
				}
			}
		})
	}
	return clients
}

// client is one client, from its connection on.
func (ch *chaos) client(c *net.TCPConn, random *rand.Rand) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patienceOfTests))
	if random.IntN(8) == 0 {
		_ = c.SetLinger(0) // so that Close resets
	}
	r := bufio.NewReaderSize(c, 1<<10)
	for range random.IntN(4) {
		raw, expected := ch.requests(random)
		cuts := random.Perm(len(raw))[:min(len(raw), random.IntN(6))]
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			sendInPieces(c, raw, cuts)
			if len(raw)%7 == 0 { // it closes its half
				_ = c.CloseWrite()
			}
		}()
		going := random.IntN(6) > 0 && ch.read(r, expected)
		if !going {
			_ = c.Close()
		}
		<-sent
		if !going || len(raw)%7 == 0 {
			return
		}
		time.Sleep(time.Duration(random.IntN(3)) * time.Millisecond)
	}
}

// An expectation is what answers a request.
type expectation struct {
	method, location string
	status           int
}

// beginning is that of the beginning of a head: 408, 400 at the end of the connection, or nothing.
var beginning = expectation{method: "GET"}

// requests returns a few requests, perhaps with the beginning of another, and what answers them.
func (ch *chaos) requests(random *rand.Rand) (raw string, expected []expectation) {
	for i := range 1 + random.IntN(12) {
		switch kind := random.IntN(20); {
		case kind == 0:
			odd := strange[random.IntN(len(strange))]
			raw += odd.raw
			expected = append(expected, expectation{method: odd.method})
		case kind == 1:
			raw += requestText("GET", "/panic")
			return raw, append(expected, expectation{"GET", "", 500})
		case kind < 5:
			raw += requestText("GET", "/page")
			expected = append(expected, expectation{"GET", "", 404})
		default:
			raw += requestText("HEAD", fmt.Sprintf("/x?%d", i))
			expected = append(expected, expectation{"HEAD", fmt.Sprintf("http://a/%d", i), 302})
		}
	}
	if !ch.gentle && random.IntN(10) == 0 {
		raw += "GET /x HTT"
		expected = append(expected, beginning)
	}
	return raw, expected
}

// read reads the answers. It returns false if the server has ended the connection.
func (ch *chaos) read(r *bufio.Reader, expected []expectation) bool {
	for i, want := range expected {
		got, err := http.ReadResponse(r, &http.Request{Method: want.method})
		if err != nil {
			if ch.cut.Add(1); ch.gentle {
				ch.st.t.Errorf("answer %d of %d is lost: %v", i, len(expected), err)
			}
			return false
		}
		_, err = io.Copy(io.Discard, got.Body)
		if want.status != 0 && got.StatusCode != http.StatusRequestTimeout &&
			(got.StatusCode != want.status || got.Header.Get("Location") != want.location) {
			ch.st.t.Errorf("answer %d: got %d %v, want %+v", i, got.StatusCode, got.Header, want)
			return false
		}
		ch.answers.Add(1)
		if got.Close || err != nil {
			return false
		}
	}
	return true
}

// disturb lets time pass, evicts and counts, as others do beside the loops.
func (ch *chaos) disturb(random *rand.Rand) {
	for !ch.calm.Load() {
		switch random.IntN(4) {
		case 0:
			if ch.gentle {
				continue
			}
			ch.st.Sweep()
		case 1:
			ch.st.l.EvictIdle()
		case 2:
			open := ch.st.Open()
			expect.That(ch.st.t, open <= ch.st.Limits.Connections, "%d connections are open", open)
			ch.st.LoopConnections()
		case 3:
			time.Sleep(time.Duration(random.IntN(10)) * time.Millisecond)
		}
	}
}

// After any history of connections, nothing is left of them; see wantNothingLeft.
func TestNothingIsLeftAfterAnyHistoryOfConnections(t *testing.T) {
	for _, c := range []struct {
		loops  int
		gentle bool
	}{{1, false}, {2, false}, {4, false}, {2, true}} {
		t.Run(fmt.Sprintf("loops=%d/gentle=%v", c.loops, c.gentle), func(t *testing.T) {
			lim := conns.Limits{Connections: 20} // fewer than there are clients
			if c.gentle {
				lim.Connections = 100
			}
			st := newLoopSite(t, c.loops, lim)
			ch := &chaos{st: st, gentle: c.gentle}
			clients := ch.run(30)
			time.Sleep(chaosTime(t))
			ch.end(clients)
			t.Logf("%d answers, %d clients were cut; %d evicted, %d late, %d idle", ch.answers.Load(), ch.cut.Load(),
				st.Limits.Counts.Evicted.Load(), st.Limits.Counts.Late.Load(), st.Limits.Counts.Idle.Load())
			expect.That(t, ch.answers.Load() != 0, "nothing was answered")
		})
	}
}

// The server may stop at any moment of it.
func TestShutdownEndsAtAnyMoment(t *testing.T) {
	random := rand.New(rand.NewPCG(7, uint64(time.Now().UnixNano())))
	for begun := time.Now(); time.Since(begun) < chaosTime(t); {
		t.Run("", func(t *testing.T) {
			st := newLoopSite(t, 2, conns.Limits{Connections: 20})
			ch := &chaos{st: st}
			clients := ch.run(30)
			time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
			st.Drain.Begin()
			expect.NoError(t, st.CloseListeners())
			ctx, cancel := context.WithTimeout(t.Context(), patienceOfTests)
			defer cancel()
			err := st.Shutdown(ctx)
			expect.That(t, err == nil, "Shutdown: %v, with %d open", err, st.Open())
			ch.end(clients)
		})
	}
}
