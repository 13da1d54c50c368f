package wire

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"shunt/api/wire/conns"
	"shunt/engine/expect"
)

var dateField = regexp.MustCompile(`\r\nDate: [^\r]*\r\n`)

func undated(answer []byte) string {
	return string(dateField.ReplaceAll(answer, []byte("\r\nDate: then\r\n")))
}

// A head in a loop has as long as one at fasthttp, and is refused with the same bytes.
func TestASlowHeadInALoopGetsFasthttps408(t *testing.T) {
	for name, sent := range map[string]struct{ before, head string }{
		"nothing is sent":          {"", ""},
		"one byte":                 {"", "G"},
		"it stops in a line":       {"", "GET /x HTTP/1.1\r\nHost: "},
		"it stops after a line":    {"", "GET /x HTTP/1.1\r\nHost: a\r\n"},
		"HEAD":                     {"", "HEAD /x HTTP/1.1\r\nHost: a\r\n"},
		"after another request":    {requestText("GET", "/x"), "GET /x HTTP/1.1\r\n"},
		"a long one":               {"", "GET /x HTTP/1.1\r\nX: " + strings.Repeat("x", 16000)},
		"a head without its last…": {"", strings.TrimSuffix(requestText("GET", "/x"), "\n")},
	} {
		t.Run(name, func(t *testing.T) {
			byFasthttp := newSite(t, conns.Limits{Connections: 10, Counts: new(conns.Counts)})
			byLoop := newLoopSite(t, 1, conns.Limits{Connections: 10})
			want := slowHead(t, byFasthttp, sent.before, sent.head)
			got := slowHead(t, byLoop.site, sent.before, sent.head)
			expect.That(t, undated(got) == undated(want) && (name == "nothing is sent" || strings.HasPrefix(string(got), "HTTP/1.1 408 ")),
				"got\n%s\nwant\n%s", got, want)
			if got, want := byLoop.Limits.Counts.Late.Load(), byFasthttp.Limits.Counts.Late.Load(); got != want {
				t.Errorf("got %d late ones, want %d", got, want)
			}
		})
	}
}

// slowHead sends a request, and the beginning of another, and returns the answer to the latter after
// 11 s.
func slowHead(t *testing.T, st *site, before, head string) []byte {
	t.Helper()
	c, r := st.dial(before)
	if before != "" {
		readReply(t, r, "GET")
		st.awaitRows(1, func(r *conns.Row) bool { _, busy := r.Noted(); return !busy })
	}
	patience := int(conns.DefaultPatience.Head / conns.SweepInterval)
	if st.awaitRows(1, func(*conns.Row) bool { return true }); before != "" {
		st.pass(3)
	} else if st.l.loops != nil { // fasthttp may note the beginning later
		st.pass(3)
		patience -= 3 // the first head begins with the connection
	}
	_, err := io.WriteString(c, head)
	expect.NoError(t, err)
	st.awaitRows(1, func(r *conns.Row) bool { return r.InHead() && (head == "" || r.Heard()) })
	st.pass(patience - 2) // seconds pass on their own, too
	expect.MustEqual(t, st.Open(), 1, "after 8 s connections")
	st.pass(3)
	answer, err := io.ReadAll(r)
	expect.NoError(t, err)
	return answer
}

// awaitRows waits until holds is true of n rows.
func (st *site) awaitRows(n int, holds func(r *conns.Row) bool) {
	for found := -1; found < n; runtime.Gosched() {
		found = 0
		st.l.Each(func(r *conns.Row) {
			if holds(r) {
				found++
			}
		})
	}
}

// pass lets seconds pass on the sweeper's clock, besides those that pass on their own.
func (st *site) pass(seconds int) {
	for range seconds {
		st.Sweep()
	}
}

// The client that was refused has a second to read why. Then it is cut, whatever it sends.
func TestARefusedClientIsCutAlthoughItSends(t *testing.T) {
	st := newLoopSite(t, 1, conns.Limits{Connections: 10})
	c, r := st.dial("GET /x HTTP/1.1\r\nHost: ")
	st.l.awaitHeard(1)
	st.pass(11)
	got := readReply(t, r, "GET")
	expect.Equal(t, got.status, 408, "got %+v", got)
	for st.Open() > 0 {
		_, _ = io.WriteString(c, strings.Repeat("x", 1000))
		st.pass(1)
		time.Sleep(time.Millisecond) // so that the loop has time to obey
	}
}

func TestAnIdleConnectionOfALoopIsClosedAfter75Seconds(t *testing.T) {
	st := newLoopSite(t, 1, conns.Limits{Connections: 10})
	_, r := st.dial(requestText("GET", "/x"))
	readReply(t, r, "GET")
	st.awaitRows(1, func(r *conns.Row) bool { _, busy := r.Noted(); return !busy })
	st.pass(int(conns.DefaultPatience.Idle/conns.SweepInterval) - 5) // seconds pass on their own, too
	expect.Equal(t, st.Open(), 1, "after 70 s it is closed")
	st.pass(6)
	_, err := r.ReadByte()
	expect.That(t, err == io.EOF, "after 76 s: got %v, want the end", err)
	expect.Equal(t, st.Limits.Counts.Idle.Load(), 1, "idle ones")
}

// A head in many pieces goes to fasthttp. Its time goes on.
func TestAHeadThatTricklesIsHandedOverAndRefusedInTime(t *testing.T) {
	st := newLoopSite(t, 1, conns.Limits{Connections: 10})
	c, r := st.dial("")
	for st.l.inLoops() == 0 { // a row is taken before its loop counts it
		runtime.Gosched()
	}
	head := "GET /x?" + strings.Repeat("x", 1000)
	for piece := range 10 {
		held := st.l.Held.Load()
		_, err := io.WriteString(c, head[16*piece:16*piece+16])
		expect.NoError(t, err)
		if piece < 8 {
			for st.l.Held.Load() == held { // until the loop has read it
				runtime.Gosched()
			}
			expect.MustEqual(t, st.l.inLoops(), 1, "after %d pieces the loop does not own the connection", piece+1)
		}
		for piece >= 8 && st.l.inLoops() > 0 { // until it is handed over
			runtime.Gosched()
		}
		st.pass(1)
	}
	st.l.await(func(c *conns.Served) bool { return c.Row.Heard() })
	st.pass(1)
	got := readReply(t, r, "GET")
	expect.That(t, got.status == 408 && got.close, "got %+v, want 408", got)
}

// A client that reads nothing is reset: closed, its answers would wait in the kernel.
func TestAClientOfALoopThatNeverReadsIsReset(t *testing.T) {
	st := newLoopSite(t, 1, conns.Limits{Connections: 10})
	c, r := st.dial("")
	jam(t, c)
	st.awaitRows(1, func(r *conns.Row) bool { _, busy := r.Noted(); return busy && !r.InHead() })
	st.pass(int(conns.DefaultPatience.Request/conns.SweepInterval) - 5)
	expect.MustEqual(t, st.Open(), 1, "it was cut too early")
	st.pass(9)
	st.l.awaitNone()
	expect.That(t, expect.Err(io.Copy(io.Discard, r)) != nil, "the connection was closed, not reset")
	expect.Equal(t, st.Limits.Counts.Late.Load(), 1, "late ones")
}

// jam sends requests on c until the server does not read any more.
func jam(t *testing.T, c net.Conn) {
	t.Helper()
	batch := []byte(strings.Repeat(requestText("GET", "/page"), 1000))
	sent := 0
	for stuck := 0; stuck < 4; {
		expect.NoError(t, c.SetWriteDeadline(time.Now().Add(50*time.Millisecond)))
		n, err := c.Write(batch[sent:])
		if sent = (sent + n) % len(batch); n > 0 {
			stuck = 0
		} else if stuck++; !conns.IsTimeout(err) {
			t.Fatal(err)
		}
	}
	expect.NoError(t, c.SetWriteDeadline(time.Time{}))
}

// Every 16 KiB that a client reads give it another second.
func TestAClientThatReadsSlowlyHasLonger(t *testing.T) {
	st := newLoopSite(t, 1, conns.Limits{Connections: 10})
	c, r := st.dial("")
	jam(t, c)
	st.awaitRows(1, func(r *conns.Row) bool { _, busy := r.Noted(); return busy && !r.InHead() })
	for range 100 {
		_, err := io.CopyN(io.Discard, r, 4*conns.MinRate)
		expect.NoError(t, err)
		st.pass(1)
	}
	expect.Equal(t, st.Open(), 1, "a client that reads 64 KiB a second was cut")
}

// A loop reads nothing more from a client that does not read its answers. When the client reads on,
// each of its requests is answered, once and in order.
func TestASlowReaderGetsEveryAnswerInOrder(t *testing.T) {
	st := newLoopSite(t, 2, conns.Limits{Connections: 10})
	const clients, requests = 4, 20_000
	done := make(chan error)
	for range clients {
		c, r := st.dial("")
		go func() {
			for i := range requests {
				target := fmt.Sprintf("/x?%d", i)
				if i%10 == 0 {
					target = "/page"
				}
				_, _ = io.WriteString(c, requestText("GET", target))
			}
		}()
		go func() {
			time.Sleep(100 * time.Millisecond) // so that the buffers fill
			for i := range requests {
				got := readReply(t, r, "GET")
				if i%10 == 0 && got.body != loopPage || i%10 != 0 && got.header.Get("Location") != fmt.Sprintf("http://a/%d", i) {
					done <- fmt.Errorf("answer %d is %+v", i, got)
					return
				}
			}
			done <- nil
		}()
	}
	for range clients {
		expect.NoError(t, <-done)
	}
}

// A client that half-closes after its requests still gets its answers.
func TestAHalfClosedClientGetsItsAnswers(t *testing.T) {
	st := newLoopSite(t, 2, conns.Limits{Connections: 10})
	for _, n := range []int{1, 16, 5000} {
		answers := st.talk(strings.Repeat(requestText("GET", "/page"), n))
		expect.Equal(t, bytes.Count(answers, []byte(loopPage)), n, "answers")
	}
}

// anyIsReset reports whether one of clients that read nothing is reset. What waits for one of them
// when the kernel takes no more is between nothing and 43 KiB, and the share is 8 KiB.
func (st *loopSite) anyIsReset(clients int) bool {
	requests := strings.Repeat(requestText("GET", "/page"), 20_000)
	for range clients {
		c, _ := st.dial("")
		expect.NoError(st.t, c.SetDeadline(time.Now().Add(time.Second)))
		_, err := io.WriteString(c, requests)
		for err == nil { // the reset comes when the kernel has passed the requests on
			_, err = io.WriteString(c, requests)
		}
		if !conns.IsTimeout(err) {
			return true
		}
	}
	return false
}

// What waits for clients that do not read has a bound in each connection, and in all.
func TestTheMemoryForClientsThatDoNotReadIsBounded(t *testing.T) {
	st := newLoopSite(t, 1, conns.Limits{Connections: 100})
	const clients = 8
	for range clients {
		c, _ := st.dial("")
		jam(t, c)
	}
	held := st.l.Held.Load()
	expect.That(t, held >= clients*1000 && held <= clients*43<<10, "%d bytes are held for %d clients that read nothing", held, clients)
	st.l.Held.Add(128 << 20) // as if there were thousands of them
	head, r := st.dial("GET /x HTTP/1.1\r\nX: " + strings.Repeat("x", 4000) + "\r\n")
	st.l.awaitHeard(clients + 1)
	expect.That(t, st.anyIsReset(30), "no client above its share was reset")
	_, err := io.WriteString(head, "Host: a\r\n\r\n")
	expect.NoError(t, err)
	got := readReply(t, r, "GET")
	expect.Equal(t, got.status, 302, "a head of 4 KB: got %+v", got)
	st.l.Held.Add(-128 << 20)
}
