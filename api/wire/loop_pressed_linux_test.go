package wire

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"shunt/api/wire/conns"
	"shunt/engine/expect"
)

// isPressed reports whether all loops are pressed, be it for no time at all.
func (st *loopSite) isPressed() bool { return st.Pressed(time.Now().Add(time.Second)) > 0 }

func TestLoopsArePressedWhileRequestsQueueAndThenRest(t *testing.T) {
	st := newLoopSite(t, 2, conns.Limits{Connections: 100})
	expect.That(t, !st.isPressed(), "loops without connections are pressed")
	var stopping atomic.Bool
	var clients sync.WaitGroup
	for range 64 {
		c, r := st.dial("")
		clients.Go(func() { askAgain(t, c, r, &stopping) })
	}
	for !st.isPressed() { // the test's limit is that of go test
		runtime.Gosched()
	}
	stopping.Store(true)
	clients.Wait()
	for st.isPressed() {
		runtime.Gosched()
	}
}

// askAgain sends a request after each answer.
func askAgain(t *testing.T, c net.Conn, r *bufio.Reader, stopping *atomic.Bool) {
	for !stopping.Load() {
		if _, err := io.WriteString(c, requestText("GET", "/x")); err != nil {
			t.Error(err)
			return
		}
		response, err := http.ReadResponse(r, nil)
		if err != nil || response.StatusCode != http.StatusFound {
			t.Errorf("got %v, %v", response, err)
			return
		}
	}
}
