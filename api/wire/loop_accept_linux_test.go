package wire

import (
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"shunt/api/wire/conns"
	"shunt/engine/expect"
)

func TestABrokenSocketEndsServingByLoops(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(t, err)
	socket, err := ln.(*net.TCPListener).File()
	expect.OK(t, err)
	defer socket.Close()
	g := newLoopGroup(2, conns.Limits{Connections: 10})
	ended := make(chan error)
	go func() { ended <- g.Serve(ln) }()
	for g.LoopConnections() == nil {
		runtime.Gosched()
	}
	expect.NoError(t, unix.Shutdown(int(socket.Fd()), unix.SHUT_RDWR))
	expect.Error(t, <-ended, syscall.EINVAL)
}

// Connections that wait while the loops are busy are served when the listener closes.
func TestClosingResetsNoConnectionThatWaits(t *testing.T) {
	st := newLoopSite(t, 2, conns.Limits{Connections: 1000})
	release := st.hold()
	const clients = 200
	answers := make(chan error)
	for range clients {
		c, r := st.dial(requestText("GET", "/x"))
		go func() {
			defer c.Close()
			line, err := r.ReadString('\n')
			if err == nil && !strings.HasPrefix(line, "HTTP/1.1 302 ") {
				err = errors.New(line)
			}
			answers <- err
		}()
	}
	st.each(func(l *listener) { expect.NoError(t, l.Close()) })
	release()
	expect.NoError(t, st.CloseListeners())
	for range clients {
		expect.NoError(t, <-answers)
	}
	if c, err := net.Dial("tcp", st.addr); err == nil {
		c.Close()
		t.Error("the listener is still open")
	}
}

// The queue may never be empty: each client that is closed comes again at once.
func TestClosingEndsUnderAFloodOfConnections(t *testing.T) {
	st := newLoopSite(t, 2, conns.Limits{Connections: 1000})
	var flood sync.WaitGroup
	for range 16 {
		flood.Go(func() {
			for {
				c, err := net.Dial("tcp", st.addr)
				if err != nil {
					return
				}
				_, _ = io.WriteString(c, "GET /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
				_, _ = io.Copy(io.Discard, c)
				_ = c.Close()
			}
		})
	}
	for st.l.Open() == 0 {
		runtime.Gosched()
	}
	expect.NoError(t, st.CloseListeners())
	flood.Wait()
}

func TestConnectionsBeyondAllSlotsWaitAndAreServed(t *testing.T) {
	st := newLoopSite(t, 2, conns.Limits{Connections: 2})
	var clients sync.WaitGroup
	for i := range 8 {
		clients.Go(func() {
			request := "GET /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
			if i%2 == 0 { // fasthttp's goroutine frees the slot, not the loop
				request = "GET /a/b HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
			}
			for range 300 {
				c, r := st.dialQuiet(t, request)
				if _, err := io.ReadAll(r); err != nil {
					t.Errorf("not served: %v", err)
					return
				}
				_ = c.Close()
			}
		})
	}
	clients.Wait()
}

func TestIdleConnectionsOfALoopMakeRoom(t *testing.T) {
	st := newLoopSite(t, 2, conns.Limits{Connections: 6})
	ask := requestText("GET", "/x")
	for range 3 {
		_, r := st.dial(ask)
		readReply(t, r, "GET")
		_, r = st.dial(requestText("GET", "/a/b")) // fasthttp's
		readReply(t, r, "GET")
	}
	allIdle := func() bool {
		busy := false
		st.l.Each(func(r *conns.Row) {
			_, now := r.Noted()
			busy = busy || now
		})
		return !busy
	}
	for i := range 12 { // each gets a slot, although no client disconnects
		for !allIdle() {
			runtime.Gosched()
		}
		st.pass(2)
		_, r := st.dial(ask)
		got := readReply(t, r, "GET")
		expect.MustEqual(t, got.status, 302, "%d: got %+v", i, got)
	}
	got := st.Limits.Counts.Evicted.Load()
	expect.That(t, got >= 12, "%d were evicted, want 12 or more", got)
}
