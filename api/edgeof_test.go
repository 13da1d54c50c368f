package api

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"shunt/engine/expect"
)

// forgetful is a writer that answers its first request only: it reads each later one, and closes the connection.
type forgetful struct {
	address string
	taken   atomic.Int32 // requests
	bodies  atomic.Int32 // of them, those with a body
}

func newForgetful(t *testing.T) *forgetful {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(t, err)
	w := &forgetful{address: ln.Addr().String()}
	ended := make(chan struct{})
	t.Cleanup(func() { _ = ln.Close(); <-ended })
	go func() {
		defer close(ended)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			w.serve(conn)
		}
	}()
	return w
}

func (w *forgetful) serve(conn net.Conn) {
	defer conn.Close()
	read := bufio.NewReader(conn)
	for {
		req, err := http.ReadRequest(read)
		if err != nil {
			return
		}
		w.taken.Add(1)
		if len(req.TransferEncoding) > 0 || req.ContentLength > 0 {
			w.bodies.Add(1)
		}
		if w.taken.Load() > 1 {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
	}
}

// TestAnEdgeSendsAGETAtADoorOnce: it may have created a link when its connection ends.
func TestAnEdgeSendsAGETAtADoorOnce(t *testing.T) {
	t.Parallel()
	for target, c := range map[string]struct {
		taken int32
		want  string
	}{
		"/yourls-api.php?action=shorturl&url=https://a.example/": {2, "outcome_unknown"},
		"/api/v1/links": {3, "stale"}, // a read is asked again, on another connection
	} {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			w := newForgetful(t)
			st := newSite(t, func(o *Options) {
				o.Doors = []string{"yourls"}
				never := func() bool { return false }
				o.EdgeOf = EdgeOf{Writer: "http://" + w.address, Process: "p", Revoked: never, Stale: never, Token: func() string { return "t" }, Refused: func(string) {}}
			})
			st.get("/yourls-api.php?action=version").expect(t, "a request that keeps the connection", 200)
			st.get(target).expect(t, target, 503, problemOf(c.want))
			expect.Equal(t, w.taken.Load(), c.taken, "requests that came")
			expect.Equal(t, w.bodies.Load(), 0, "requests with a body")
		})
	}
}
