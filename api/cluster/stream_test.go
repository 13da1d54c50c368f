package cluster

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/engine/expect"
)

// TestNoStreamWaitsForALeaderThatIsCutOff: it is silent before its answer, or in the middle of it.
func TestNoStreamWaitsForALeaderThatIsCutOff(t *testing.T) {
	own, others, authority := certificates(t)
	as := func(own tls.Certificate, text string) func(net.Conn) {
		return func(conn net.Conn) {
			over := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{own}})
			if _, err := http.ReadRequest(bufio.NewReader(over)); err == nil {
				_, _ = io.WriteString(over, text)
			}
		}
	}
	answering := func(text string) func(net.Conn) { return as(own, text) }
	next := Place{Name: "b"}
	next.Address = nodeServer(t, as(others, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnext"))
	const begin = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: "
	for name, c := range map[string]struct {
		before func(net.Conn) // what the leader does before it is cut off
		body   string
		err    error
	}{
		"before TLS":                 {func(conn net.Conn) { _, _ = conn.Read(make([]byte, 1)) }, "next", nil},
		"before the answer":          {answering(""), "next", nil},
		"in the middle of an export": {answering(begin + "text/csv\r\n\r\n4\r\nhalf\r\n"), "half", errSilent},
		"in the middle of events":    {answering(begin + "text/event-stream\r\n\r\n4\r\nhalf\r\n"), "half", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &electedState{fixedState: fixedState{edge: true}}
			s.now.Store(&Place{"a", nodeServer(t, func(conn net.Conn) {
				c.before(conn)
				s.now.Store(&next)
			})})
			client, server := net.Pipe()
			defer client.Close()
			ctx := new(fasthttp.RequestCtx)
			ctx.Init2(server, nil, false)
			ctx.Request.Header.SetHost("sho.rt")
			ctx.Request.SetRequestURI("/api/v1/links/export")
			ended := make(chan error, 1)
			var body []byte
			go func() {
				err := NewForwarder(s, &tls.Config{RootCAs: authority}).ForwardStream(ctx, Stream{Renew: func(net.Conn) {}})
				if err == nil {
					body, err = io.ReadAll(ctx.Response.BodyStream())
				}
				ended <- err
			}()
			select {
			case err := <-ended:
				expect.That(t, err == c.err && string(body) == c.body, "got %q, %v, want %q, %v", body, err, c.body, c.err)
			case <-time.After(answerTimeout / 2):
				t.Error("the stream waits")
			}
			if stream, ok := ctx.Response.BodyStream().(io.Closer); ok {
				_ = stream.Close()
			}
		})
	}
}

// TestNoStreamWaitsForAnyNodeForEver: one that never led is cut off in the middle of its answer.
func TestNoStreamWaitsForAnyNodeForEver(t *testing.T) {
	for name, c := range map[string]struct {
		events bool
		after  time.Duration
		err    error
	}{
		"an export": {false, exportSilence, errSilent},
		"events":    {true, eventSilence, io.EOF},
	} {
		synctest.Test(t, func(t *testing.T) {
			client, server := net.Pipe()
			body, node := io.Pipe()
			renewed := 0
			p := &passed{
				Stream: Stream{Renew: func(net.Conn) { renewed++ }}, body: body, stop: func() { body.Close(); server.Close() },
				overtaken: func() bool { return false }, conn: server, events: c.events, chunks: make(chan []byte), closed: make(chan struct{}),
			}
			go func() {
				_, _ = io.WriteString(node, "one")
				time.Sleep(c.after - 2*streamRenew)
				_, _ = io.WriteString(node, "two") // and then nothing
			}()
			b := make([]byte, 10)
			for range 2 {
				n, err := p.Read(b)
				expect.That(t, n == 3 && err == nil, "%s: got %d bytes, %v", name, n, err)
			}
			since := time.Now()
			if n, err := p.Read(b); n != 0 || err != c.err || time.Since(since) != c.after {
				t.Errorf("%s: got %d bytes, %v after %v, want %v after %v", name, n, err, time.Since(since), c.err, c.after)
			}
			want := int((2*c.after - 2*streamRenew) / streamRenew)
			expect.That(t, renewed >= want-1, "%s: the client's patience was renewed %d times, want %d", name, renewed, want)
			expect.NoError(t, p.Close())
			client.Close()
		})
	}
}
