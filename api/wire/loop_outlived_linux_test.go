package wire

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"shunt/api/wire/conns"
	"shunt/api/wire/http1"
	"shunt/engine/expect"
)

// newOutlivedSite serves a group on a listener whose socket is held by the test, too, as a service
// manager does, and returns that socket.
func newOutlivedSite(t *testing.T) (*loopSite, *os.File) {
	t.Helper()
	files := openFiles(t) + 1 // the socket
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(t, err)
	socket, err := ln.(*net.TCPListener).File()
	expect.OK(t, err)
	t.Cleanup(func() { socket.Close() })
	g := drains(newLoopGroup(2, conns.Limits{Connections: 1000}))
	g.Outlived = true
	return newLoopSiteAt(t, g, ln, files), socket
}

// Of the connections that wait at a socket when its first server ends, none is reset, and none waits
// for an answer of that server.
func TestConnectionsThatWaitAreLeftToTheNextServer(t *testing.T) {
	st, socket := newOutlivedSite(t)
	release := st.hold()
	const clients = 300 // more than loops accept before they look at their orders
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
	st.Drain.Begin()
	st.each(func(l *listener) { expect.NoError(t, l.Close()) })
	release()
	expect.NoError(t, st.CloseListeners())
	wantNoListenerInEpoll(t, st.Loops)

	next := newLoopGroup(2, conns.Limits{Connections: 1000})
	var second atomic.Int32
	plain := next.Plain
	next.Plain = func(out []byte, r *http1.Plain) []byte { second.Add(1); return plain(out, r) }
	ln, err := net.FileListener(socket)
	expect.NoError(t, err)
	served := make(chan error)
	go func() { served <- next.Serve(ln) }()
	for range clients {
		expect.NoError(t, <-answers)
	}
	expect.That(t, second.Load() != 0, "the first server took all connections with it")
	next.shutDown(t)
	expect.NoError(t, <-served)
}

// wantNoListenerInEpoll checks that the loops have removed the listening socket from epoll: it is open
// elsewhere, so its connections would be reported for ever.
func wantNoListenerInEpoll(t *testing.T, loops int) {
	t.Helper()
	shown := 0
	files, err := os.ReadDir("/proc/self/fd")
	expect.NoError(t, err)
	for _, f := range files {
		if name, _ := os.Readlink("/proc/self/fd/" + f.Name()); name != "anon_inode:[eventpoll]" {
			continue // and Go's own, which must not have it either
		}
		text, err := os.ReadFile("/proc/self/fdinfo/" + f.Name())
		expect.NoError(t, err)
		expect.That(t, !strings.Contains(string(text), strings.TrimSpace(fmt.Sprintf("data: %16x", uint32(0xffffffff)))),
			"epoll has the listening socket still:\n%s", text)
		shown += strings.Count(string(text), "tfd:")
	}
	expect.MustThat(t, shown >= loops, "%d descriptors are shown, want at least those that wake the %d loops", shown, loops)
}

// CloseKept closes connections that have been answered, after the answer to what has come meanwhile.
func TestKeptConnectionsCloseAfterWhatHasCome(t *testing.T) {
	st, _ := newOutlivedSite(t)
	silent, silentReader := st.dial("")
	begun, _ := st.dial("GET /x HT")
	kept, keptReader := st.dial(requestText("GET", "/x"))
	readReply(t, keptReader, "GET")
	late, lateReader := st.dial(requestText("GET", "/x"))
	readReply(t, lateReader, "GET")
	byFasthttp, byFasthttpReader := st.dial(requestText("GET", "/a/b"))
	readReply(t, byFasthttpReader, "GET")
	st.awaitRows(5, func(*conns.Row) bool { return true })
	for idle := 0; idle < 3; runtime.Gosched() { // the last answer may be under way
		idle = 0
		st.l.Each(func(r *conns.Row) {
			if _, busy := r.Noted(); !busy {
				idle++
			}
		})
	}
	st.Drain.Begin()
	expect.NoError(t, st.CloseListeners())
	_, err := io.WriteString(late, requestText("GET", "/x"))
	expect.NoError(t, err)
	st.CloseKept()
	expect.That(t, readReply(t, lateReader, "GET").close, "the answer to what had come does not say that it is the last")
	for name, c := range map[string]net.Conn{"kept": kept, "late": late, "of fasthttp": byFasthttp} {
		expect.NoError(t, c.SetReadDeadline(time.Now().Add(patienceOfTests)))
		n, err := c.Read(make([]byte, 1))
		expect.That(t, n == 0 && err != nil && !conns.IsTimeout(err), "%s: got %d bytes, %v; want the end", name, n, err)
	}
	_, err = io.WriteString(silent, requestText("GET", "/x"))
	expect.NoError(t, err)
	readReply(t, silentReader, "GET")
	_, err = io.WriteString(begun, "TP/1.1\r\nHost: a\r\n\r\n")
	expect.NoError(t, err)
	b := make([]byte, 12)
	_, err = io.ReadFull(begun, b)
	expect.That(t, err == nil && string(b) == "HTTP/1.1 302", "a request that had begun: got %q, %v", b, err)
}

func TestABeatIsMissedOnlyWhileALoopIsHeld(t *testing.T) {
	st := newLoopSite(t, 2, conns.Limits{Connections: 100})
	for st.Beat(); !st.Beat(); runtime.Gosched() { // the loops run
	}
	release := st.holdSome(1)
	for st.Beat() { // an order may have been obeyed before
		runtime.Gosched()
	}
	for range 1000 {
		expect.MustThat(t, !st.Beat(), "a loop that is held has obeyed an order")
	}
	release()
	for !st.Beat() {
		runtime.Gosched()
	}
}
