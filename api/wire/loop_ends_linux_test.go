package wire

import (
	"io"
	"net"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"shunt/api/wire/conns"
	"shunt/engine/expect"
)

// A client may vanish in every state of its connection. The loop notices without the sweep.
func TestAConnectionThatTheClientResetsIsForgotten(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T, st *loopSite, c net.Conn){
		"nothing was sent": func(_ *testing.T, st *loopSite, _ net.Conn) {
			st.awaitRows(1, func(*conns.Row) bool { return true })
		},
		"idle": func(_ *testing.T, st *loopSite, c net.Conn) {
			_, _ = io.WriteString(c, requestText("GET", "/x"))
			st.awaitRows(1, func(r *conns.Row) bool { _, busy := r.Noted(); return !busy })
		},
		"in a head": func(_ *testing.T, st *loopSite, c net.Conn) {
			_, _ = io.WriteString(c, "GET /x HT")
			st.l.awaitHeard(1)
		},
		"answers wait": func(t *testing.T, _ *loopSite, c net.Conn) { jam(t, c) },
		"refused": func(_ *testing.T, st *loopSite, c net.Conn) {
			_, _ = io.WriteString(c, "GET /x HT")
			st.l.awaitHeard(1)
			st.pass(11)
			_, _ = c.Read(make([]byte, 1))
		},
	} {
		for _, resets := range []bool{true, false} {
			st := newLoopSite(t, 1, conns.Limits{Connections: 10})
			c, _ := st.dial("")
			prepare(t, st, c)
			if resets {
				expect.NoError(t, c.(*net.TCPConn).SetLinger(0))
			} else if name == "answers wait" {
				continue // unread answers make it a reset
			}
			expect.NoError(t, c.Close())
			st.l.awaitNone()
			expect.Equal(t, st.Limits.Counts.Late.Load(), 0, "%s: it was found late", name)
		}
	}
}

// While a child process has a copy of a descriptor, epoll reports events of a connection that is
// closed. They must not harm the one that has its row.
func TestAnEventOfAClosedConnectionHarmsNoOther(t *testing.T) {
	st := newLoopSite(t, 1, conns.Limits{Connections: 10})
	old, r := st.dial(requestText("GET", "/x"))
	readReply(t, r, "GET")
	st.awaitRows(1, func(r *conns.Row) bool { _, busy := r.Noted(); return !busy })
	st.awaitIdle() // so that the loop has written the number of the descriptor
	duplicate, err := unix.Dup(int(st.l.At(1).FD))
	expect.OK(t, err)
	defer unix.Close(duplicate)
	expect.NoError(t, old.Close())
	st.l.awaitNone()
	c, r := st.dial("GET /x HT") // it gets the row
	st.l.awaitHeard(1)
	for range 3 {
		_, err := io.WriteString(c, "TP/1.1\r\nHost: a\r\n\r\nGET /x HT")
		expect.NoError(t, err)
		got := readReply(t, r, "GET")
		expect.Equal(t, got.status, 302, "got %+v", got)
	}
}

// Answers that are larger than what goes out at once, on as many connections as there are.
func TestAHugePipelineOfPagesIsAnswered(t *testing.T) {
	st := newLoopSite(t, 2, conns.Limits{Connections: 100})
	const clients, requests = 20, 1000
	got := make(chan int)
	for range clients {
		go func() {
			answers := st.talk(strings.Repeat(requestText("GET", "/page"), requests))
			got <- strings.Count(string(answers), "\r\n\r\n"+loopPage)
		}()
	}
	for range clients {
		expect.Equal(t, <-got, requests, "answers")
	}
}
