package wire

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"shunt/api/turnstile"
	"shunt/api/wire/conns"
	"shunt/api/wire/http1"
	"shunt/engine/expect"
)

// awaitLarge waits until n places for large bodies are taken.
func (l *listener) awaitLarge(n int) {
	for l.Large.Held() != n {
		runtime.Gosched()
	}
}

// awaitWaiting waits until n bodies wait for a place.
func (l *listener) awaitWaiting(n int) {
	for l.Large.Waiting() != n {
		runtime.Gosched()
	}
}

// largeHead returns the head of a large body of the given number of bytes; 0: in chunks.
func largeHead(who string, bytes int) string {
	length := "Transfer-Encoding: chunked"
	if bytes > 0 {
		length = fmt.Sprintf("Content-Length: %d", bytes)
	}
	return "POST /large HTTP/1.1\r\nHost: a\r\nAuthorization: " + who + "\r\n" + length + "\r\n\r\n"
}

// largeBodyBytes is the length of largeItem.
const largeBodyBytes = 200 << 10

func largeItem() string { return "[" + strings.Repeat(" ", largeBodyBytes-2) + "]" }

// holdLarge begins large bodies of several users until every place is held, and returns the
// connection of the first with its reader. All others are chunked, and more than half of each has
// come.
func (st *site) holdLarge() (first net.Conn, answer *bufio.Reader) {
	st.t.Helper()
	for n := range maxLargeBodies {
		who := fmt.Sprintf("user %d", 1+n%(maxLargeBodies/maxLargeBodiesCaller))
		raw := largeHead(who, largeBodyBytes) + largeItem()[:10]
		if n > 0 {
			raw = largeHead(who, 0) + fmt.Sprintf("%x\r\n%s", largeBodyBytes, largeItem()[:largeBodyBytes-1])
		}
		c, r := st.dial(raw)
		if n == 0 {
			first, answer = c, r
		}
	}
	st.l.awaitLarge(maxLargeBodies)
	return first, answer
}

func TestTheNumberOfLargeBodiesAtOnceIsLimited(t *testing.T) {
	st := newSite(t, conns.Limits{Connections: 100})
	first, answer := st.holdLarge()
	chunk := fmt.Sprintf("%x\r\n%s\r\n", largeBodyBytes, largeItem())
	for name, c := range map[string]struct {
		raw    string
		status int
	}{
		"one more than a share":            {largeHead("user 1", largeBodyBytes), 503},
		"one more than a share, in chunks": {largeHead("user 1", 0) + chunk, 503},
		"one that expects to be asked":     {strings.Replace(largeHead("user 1", largeBodyBytes), "\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n", 1), 503},
		"one of a sender without a right":  {largeHead("nobody", largeBodyBytes), 413},
		"the same, and it expects to be asked": {
			strings.Replace(largeHead("nobody", largeBodyBytes), "\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n", 1), 413,
		},
	} {
		_, r := st.dial(c.raw)
		got := readReply(t, r, "POST")
		expect.That(t, got.status == c.status && (got.status != 503 || strings.HasPrefix(got.body, "overloaded: ") && got.header.Get("Retry-After") != "") &&
			got.close, "%s: got %+v, want %d and the connection closed", name, got, c.status)
	}
	_, small := st.dial(largeHead("user 1", 2) + "[]")
	got := readReply(t, small, "POST")
	expect.Equal(t, got.status, 200, "a small one %s", got.body)

	_, next := st.dial(largeHead("user 99", largeBodyBytes) + largeItem())
	st.l.awaitWaiting(1)
	expect.OK(t, expect.Err(io.WriteString(first, largeItem()[10:])))
	got = readReply(t, answer, "POST")
	expect.That(t, got.status == 200 && !got.close, "the first: got %+v, want 200", got)
	got = readReply(t, next, "POST")
	expect.That(t, got.status == 200 && !got.close, "the body that waited for the place: got %+v, want 200", got)
	st.l.awaitLarge(maxLargeBodies - 1) // although the connections are still open
	st.l.CloseAll()
	st.l.awaitLarge(0)
}

func TestASlowLargeBodyLosesItsPlaceWhenOthersWait(t *testing.T) {
	st := newSite(t, conns.Limits{Connections: 100})
	_, slowest := st.holdLarge()
	sweeps := func() {
		for range http1.LargeBodyGrace + 1 {
			st.Sweep()
		}
	}
	sweeps()
	expect.MustEqual(t, st.l.Large.Held(), maxLargeBodies, "a slow body was cut although no other waited")
	_, r := st.dial(largeHead("user 99", largeBodyBytes) + largeItem())
	st.l.awaitWaiting(1)
	sweeps()
	got := readReply(t, slowest, "POST")
	expect.That(t, got.status == 408 && strings.Contains(got.body, "256 KiB") && got.close, "the slowest: got %+v, want 408", got)
	got = readReply(t, r, "POST")
	expect.Equal(t, got.status, 200, "the body that waited %s", got.body)
	st.l.awaitLarge(maxLargeBodies - 1) // one waited, so one was cut
}

func TestTheHookForAHeaderFindsItsConnection(t *testing.T) {
	found := make(chan *conn, 1)
	g := newGroup(conns.Limits{Connections: 1})
	g.MaxBody = func(h *fasthttp.RequestHeader) (int, turnstile.Key) {
		found <- connOf(contextOf(h).Conn())
		return http1.MaxBodyBytes, turnstile.Key{}
	}
	st := newSiteOn(t, g, nil)
	st.dial("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody")
	c := <-found
	expect.That(t, c != nil && c.owner == st.l, "got %+v, want the connection of the request", c)
}

func TestARefusedLargeBodyKeepsNoPlace(t *testing.T) {
	st := newSite(t, conns.Limits{Connections: 100})
	for range 2 * maxLargeBodies {
		_, r := st.dial(largeHead("nobody", largeLimit)) // and waits for the answer
		got := readReply(t, r, "POST")
		expect.MustEqual(t, got.status, 413, got.body)
		expect.MustEqual(t, st.l.Large.Held(), 0, "places are taken")
	}
}
