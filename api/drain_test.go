package api

import (
	"context"
	"net"
	"runtime"
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
