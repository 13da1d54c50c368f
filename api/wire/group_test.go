package wire

import (
	"testing"

	"github.com/valyala/fasthttp/fasthttputil"

	"shunt/api/wire/conns"
	"shunt/engine/expect"
)

func TestNothingAcceptsAfterTheListenersAreClosed(t *testing.T) {
	st := newSite(t, conns.Limits{Connections: 10})
	expect.NoError(t, st.CloseListeners())
	if n := st.server().GetOpenConnectionsCount() + 1; n != 0 { // fasthttp subtracts one for the goroutine that accepts
		t.Errorf("%d goroutines still accept, or connections are open", n)
	}
}

func TestNothingIsServedAfterTheDrainHasBegun(t *testing.T) {
	g := newGroup(conns.Limits{Connections: 10})
	expect.That(t, g.Drain.Begin() && !g.Drain.Begin() && g.Drain.Begun(), "Begin did not report the first call only")
	ln := fasthttputil.NewInmemoryListener()
	expect.NoError(t, g.Serve(ln))
	expect.That(t, expect.Err(ln.Dial()) != nil, "the listener is still open")
}

// A log line of fasthttp about a bad request would quote it.
func TestFasthttpLogsNothing(t *testing.T) {
	logger, ok := newGroup(conns.Limits{}).server().Logger.(silent)
	expect.That(t, ok, "fasthttp logs to %T", logger)
}
