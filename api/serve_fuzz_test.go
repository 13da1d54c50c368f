package api

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/problem"
	"shunt/api/wire"
	"shunt/api/wire/conns"
	"shunt/api/wiretest"
	"shunt/engine/expect"
)

// A reading is the parts of a request that a handler gets.
type reading struct {
	method, target string
	body           int
}

// A reader is a way in that notes what its handler gets.
type reader struct {
	addr string
	mu   struct {
		sync.Mutex
		seen []reading
	}
}

func newReader(f *testing.F) *reader {
	r := new(reader)
	g := &wire.Group{Limits: conns.Limits{Connections: 10}, Patience: conns.DefaultPatience, Drain: wire.NewDrain(), Log: testLogger(io.Discard)}
	g.Handle = func(ctx *fasthttp.RequestCtx) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.mu.seen = append(r.mu.seen, reading{string(ctx.Method()), string(ctx.RequestURI()), len(ctx.PostBody())})
	}
	g.WriteProblem = func(ctx *fasthttp.RequestCtx, p problem.Problem) { ctx.SetStatusCode(p.Kind.Status) }
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(f, err)
	var serving sync.WaitGroup
	serving.Go(func() { expect.NoError(f, g.Serve(ln)) })
	f.Cleanup(func() {
		g.Drain.Begin()
		expect.NoError(f, errors.Join(g.CloseListeners(), g.Shutdown(context.Background())))
		g.Drain.End()
		serving.Wait()
	})
	r.addr = ln.Addr().String()
	return r
}

// sees returns the result of sending raw.
func (r *reader) sees(t *testing.T, raw []byte) (seen []reading) {
	talk(t, r.addr, raw)
	r.mu.Lock()
	defer r.mu.Unlock()
	seen, r.mu.seen = r.mu.seen, nil
	return seen
}

// FuzzServe sends any bytes to a whole server. The server must send one answer for each request
// that a handler gets, and at most one refusal, as the last answer.
func FuzzServe(f *testing.F) {
	st := newSite(f, nil)
	st.shorten(`{"url":"http://a/","alias":"keep","redirect_status":307}`)
	for i, row := range append(wiretest.Accepted(), wiretest.Refused()...) {
		if len(row.Raw) < 2000 && i%7 == 0 { // with all rows, gathering coverage would take as long as fuzzing
			f.Add([]byte(row.Raw + wiretest.Smuggled))
		}
	}
	addr, reader := st.realAddress(), newReader(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		seen := reader.sees(t, raw)
		for _, p := range seen {
			if strings.HasSuffix(p.target, "/live") {
				t.Skip("an answer without end")
			}
		}
		answers := talk(t, addr, raw)
		n := countAnswers(t, answers, seen)
		expect.MustThat(t, n <= len(seen)+1, "%q: %d answers to %d requests: %q", raw, n, len(seen), answers)
	})
}

// countAnswers returns the number of final answers.
func countAnswers(t *testing.T, answers []byte, to []reading) (n int) {
	for r := bufio.NewReader(bytes.NewReader(answers)); ; {
		q := &http.Request{Method: "GET"}
		if n < len(to) {
			q.Method = to[n].method
		} else if bytes.HasSuffix(answers, []byte("\r\n\r\n")) {
			q.Method = "HEAD" // a refusal without a body
		}
		res, err := http.ReadResponse(r, q)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return n
		}
		expect.MustThat(t, err == nil, "answer %d cannot be read: %v in %q", n, err, answers)
		expect.MustThat(t, expect.Err(io.Copy(io.Discard, res.Body)) == nil, "answer %d is cut off in %q", n, answers)
		if res.StatusCode != 100 {
			n++
		}
	}
}

// talk sends raw to addr, closes its side, and returns the answers.
func talk(t *testing.T, addr string, raw []byte) []byte {
	c, err := net.Dial("tcp", addr)
	expect.OK(t, err)
	defer c.Close()
	expect.OK(t, c.SetDeadline(time.Now().Add(patienceOfTests)))
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, _ = c.Write(raw)
		_ = c.(*net.TCPConn).CloseWrite()
	}()
	answers, err := io.ReadAll(c)
	if err, ok := err.(net.Error); ok && err.Timeout() {
		t.Fatalf("%q: neither answered nor closed: %q", raw, answers)
	}
	_ = c.(*net.TCPConn).SetLinger(0) // otherwise too many ports would be in TIME-WAIT
	<-sent
	return answers
}
