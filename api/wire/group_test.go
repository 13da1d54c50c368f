package wire

import (
	"testing"

	"github.com/valyala/fasthttp/fasthttputil"

	"shunt/api/wire/conns"
)

func TestNothingAcceptsAfterTheListenersAreClosed(t *testing.T) {
	st := newSite(t, conns.Limits{Connections: 10})
	check(t, st.CloseListeners())
	if n := st.server().GetOpenConnectionsCount() + 1; n != 0 { // fasthttp subtracts one for the goroutine that accepts
		t.Errorf("%d goroutines still accept, or connections are open", n)
	}
}

func TestNothingIsServedAfterTheDrainHasBegun(t *testing.T) {
	g := newGroup(conns.Limits{Connections: 10})
	if !g.Drain.Begin() || g.Drain.Begin() || !g.Drain.Begun() {
		t.Error("Begin did not report the first call only")
	}
	ln := fasthttputil.NewInmemoryListener()
	check(t, g.Serve(ln))
	if _, err := ln.Dial(); err == nil {
		t.Error("the listener is still open")
	}
}

// A log line of fasthttp about a bad request would quote it.
func TestFasthttpLogsNothing(t *testing.T) {
	if logger, ok := newGroup(conns.Limits{}).server().Logger.(silent); !ok {
		t.Errorf("fasthttp logs to %T", logger)
	}
}
