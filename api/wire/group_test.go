package wire

import (
	"testing"

	"github.com/valyala/fasthttp/fasthttputil"
)

func TestNobodyAcceptsOnceListenersAreClosed(t *testing.T) {
	st := newSite(t, Limits{Connections: 10})
	check(t, st.CloseListeners())
	if n := st.server().GetOpenConnectionsCount() + 1; n != 0 { // it leaves out one, whoever accepts
		t.Errorf("%d still accept, or are open", n)
	}
}

func TestNothingIsServedAfterTheDrainHasBegun(t *testing.T) {
	g := newGroup(Limits{Connections: 10})
	if !g.Drain.Begin() || g.Drain.Begin() || !g.Drain.Begun() {
		t.Error("the drain began twice, or never")
	}
	ln := fasthttputil.NewInmemoryListener()
	check(t, g.Serve(ln))
	if _, err := ln.Dial(); err == nil {
		t.Error("the listener is still open")
	}
}

// What fasthttp says of a bad request quotes it.
func TestFasthttpLogsNothing(t *testing.T) {
	if logger, ok := newGroup(Limits{}).server().Logger.(silent); !ok {
		t.Errorf("fasthttp logs to %T", logger)
	}
}
