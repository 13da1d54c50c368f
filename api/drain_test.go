package api

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"shunt/engine/expect"
)

func TestShutdownDoesNotWaitForSilentConnections(t *testing.T) {
	t.Parallel()
	st := newSite(t, nil)
	for _, serve := range []func(net.Listener) error{st.ServePublic, st.ServeAdmin} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		expect.OK(t, err)
		st.serveOn(ln, serve)
		c, err := net.Dial("tcp", ln.Addr().String())
		expect.OK(t, err)
		defer c.Close()
	}
	for st.public.Open() == 0 || st.admin.Open() == 0 {
		time.Sleep(100 * time.Microsecond)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // at most drainFor is needed
	defer cancel()
	expect.NoError(t, st.Shutdown(ctx), "Shutdown")
}

// Half a request, and a client that does not read its answer, end with the time of the drain. No handler may still run,
// because the store is closed next.
func TestWhatDoesNotEndIsCutOff(t *testing.T) {
	st := newSite(t, nil)
	st.exported(st.token)
	st.export(st.token, "")
	st.awaitExports(1)
	body := "POST /api/v1/shorten HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + st.token + "\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"
	for _, sent := range []string{"GET /x HTTP/1.1\r\nHo", body} {
		c, err := st.publicAt.Dial()
		expect.OK(t, err)
		defer c.Close()
		expect.OK(t, expect.Err(io.WriteString(c, sent)))
		defer func() {
			n, err := io.Copy(io.Discard, c)
			expect.That(t, n <= 0, "%q got %d bytes, %v, want none", sent, n, err)
		}()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	expect.Error(t, st.Shutdown(ctx), context.Canceled, "Shutdown")
	open, held := st.public.Open(), st.calls.ExportsHeld()
	expect.That(t, open <= 0 && held <= 0, "%d connections and %d exports are open", open, held)
}
