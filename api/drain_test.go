package api

import (
	"context"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/valyala/fasthttp/fasthttputil"
)

func TestShutdownDoesNotWaitForConnectionsThatNeverSentAByte(t *testing.T) {
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
	for st.public.open() == 0 || st.admin.open() == 0 {
		runtime.Gosched()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // drainFor at most is needed
	defer cancel()
	if err := st.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown: got %v", err)
	}
}

func TestNobodyAcceptsOnceListenersAreClosed(t *testing.T) {
	st := newSite(t, nil)
	for name, f := range map[string]*fleet{"public": st.public, "admin": st.admin, "local": st.local} {
		check(t, f.closeListeners())
		if n := f.http.GetOpenConnectionsCount() + 1; n != 0 { // it leaves out one, whoever accepts
			t.Errorf("%s: %d still accept, or are open", name, n)
		}
	}
}

func TestOnlyConnectionsThatHaveLongBeenSilentAreCut(t *testing.T) {
	ln := fasthttputil.NewInmemoryListener()
	l := newListener(ln, limits{connections: MaxConnections}, publicPatience, testLogger(io.Discard))
	accept := func(greeting string) net.Conn {
		go func() {
			if c, err := ln.Dial(); err == nil {
				_, _ = io.WriteString(c, greeting)
			}
		}()
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if _, err := io.ReadFull(c, make([]byte, len(greeting))); err != nil {
			t.Fatal(err)
		}
		return c
	}
	heard, silent := accept("G"), accept("")
	for range silentFor / sweepInterval {
		l.sweep()
	}
	young := accept("")
	open := func(c net.Conn) bool {
		_, err := c.Write([]byte("x"))
		return err == nil
	}
	l.closeSilent(silentFor)
	if !open(heard) || open(silent) || !open(young) {
		t.Errorf("got open: heard %v, silent %v, young %v; want true, false, true", open(heard), open(silent), open(young))
	}
	l.closeSilent(0)
	if !open(heard) || open(young) {
		t.Errorf("at the end: got open: heard %v, young %v; want true, false", open(heard), open(young))
	}
}
