package cluster

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/relay"
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
		"in the middle of an export": {answering(begin + "text/csv\r\n\r\n4\r\nhalf\r\n"), "half", relay.ErrSilent},
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
				err := NewForwarder(s, &tls.Config{RootCAs: authority}).ForwardStream(ctx, relay.Stream{
					Renew: func(net.Conn) {}, Sent: func(net.Conn, int) {}, AwaitEnd: func(c net.Conn) { _, _ = c.Read(make([]byte, 1)) },
				})
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
