package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestShutdownDoesNotWaitForSilentConnections(t *testing.T) {
	st := newSite(t, nil)
	for _, serve := range []func(net.Listener) error{st.ServePublic, st.ServeAdmin} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		st.serveOn(ln, serve)
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	for st.public.Open() == 0 || st.admin.Open() == 0 {
		runtime.Gosched()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // at most drainFor is needed
	defer cancel()
	if err := st.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown: got %v", err)
	}
}

// Half a request, and a client that does not read its answer, end with the time of the drain, and no handler is left:
// what it uses is closed next.
func TestWhatDoesNotEndIsCutOff(t *testing.T) {
	st := newSite(t, nil)
	for i := range 2_000 {
		st.create(fmt.Sprintf(`{"url":"http://target/%d/%s"}`, i, strings.Repeat("x", 1500)))
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	st.serveOn(ln, st.ServePublic)
	export := "GET /api/v1/export HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + st.token + "\r\n\r\n"
	body := "POST /api/v1/shorten HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + st.token + "\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"
	var clients []net.Conn
	for _, sent := range []string{"GET /x HTTP/1.1\r\nHo", body, export} {
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.(*net.TCPConn).SetReadBuffer(4096) // so that an export does not fit
		if _, err := io.WriteString(c, sent); err != nil {
			t.Fatal(err)
		}
		clients = append(clients, c)
	}
	if _, err := io.ReadFull(clients[2], make([]byte, 20)); err != nil { // it has begun
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := st.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown: got %v", err)
	}
	if n := st.public.Open(); n > 0 {
		t.Errorf("%d connections are open", n)
	}
	for _, c := range clients[:2] {
		if n, err := io.Copy(io.Discard, c); n > 0 {
			t.Errorf("got %d bytes and %v, want none", n, err)
		}
	}
}
