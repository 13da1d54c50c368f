package wire

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"testing"

	"shunt/api/wire/conns"
	"shunt/engine/expect"
)

// wantEven checks that no loop has more than 60 of 100 connections.
func (st *loopSite) wantEven(n int) {
	st.t.Helper()
	for st.l.inLoops() < n {
		runtime.Gosched()
	}
	open := st.l.loops.Open()
	st.t.Logf("of %d connections the loops have %v", n, open)
	for _, its := range open {
		expect.That(st.t, its*100 <= n*60, "of %d connections the loops have %v", n, open)
	}
}

func TestConnectionsSpreadOverLoops(t *testing.T) {
	const n = 500
	for _, speaks := range []bool{true, false} {
		t.Run(fmt.Sprintf("clients that speak at once: %v", speaks), func(t *testing.T) {
			st := newLoopSite(t, 2, conns.Limits{Connections: 2 * n})
			for range n {
				if c, r := st.dial(""); speaks {
					_, _ = io.WriteString(c, requestText("GET", "/x"))
					readReply(t, r, "GET")
				}
			}
			st.wantEven(n)
		})
	}
}

// One loop accepts all connections, because the other is busy.
func TestConnectionsSpreadWhileALoopIsBusy(t *testing.T) {
	const n = 500
	st := newLoopSite(t, 2, conns.Limits{Connections: 2 * n})
	release := st.holdSome(1)
	var conns []net.Conn
	for range n {
		c, _ := st.dial(requestText("GET", "/x"))
		conns = append(conns, c)
	}
	for st.l.inLoops() < n {
		runtime.Gosched()
	}
	release()
	for _, c := range conns { // whoever has it now, it is served
		b := make([]byte, 12)
		expect.MustThat(t, readFull(c, b) == nil && string(b) == "HTTP/1.1 302", "got %q", b)
	}
	st.wantEven(n)
}

func readFull(r io.Reader, b []byte) error {
	_, err := io.ReadFull(r, b)
	return err
}

// Connections close again and again, at random, and others take their places.
func TestConnectionsThatComeAndGoStaySpread(t *testing.T) {
	const n, turns = 500, 3000
	st := newLoopSite(t, 2, conns.Limits{Connections: 2 * n})
	random := rand.New(rand.NewPCG(3, 4))
	var conns [n]net.Conn
	for turn := range n + turns {
		i := turn
		if turn >= n {
			i = random.IntN(n)
			expect.NoError(t, conns[i].Close())
		}
		c, r := st.dialQuiet(t, requestText("GET", "/x"))
		readReply(t, r, "GET")
		conns[i] = c
	}
	for st.l.inLoops() > n {
		runtime.Gosched()
	}
	st.wantEven(n)
	for _, c := range conns {
		expect.NoError(t, c.Close())
	}
}
