package api

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/wiretest"
	"shunt/engine/expect"
)

func TestAPanicAnywhereIsAnswered500AndLoggedOnce(t *testing.T) {
	for name, c := range map[string]struct {
		sabotage func(st *site)
		path     string
	}{
		"in the hot path": {func(st *site) { st.front.redirects = nil }, "/unknown"},
		"before a page":   {func(st *site) { st.front.now = func() time.Time { panic("no time") } }, "/x"},
		"inside the router": {func(st *site) {
			st.front.routes = func(*fasthttp.RequestCtx) { panic(fmt.Errorf("secret %d", 7)) }
		}, "/api/v1/me"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, d := range doors {
				if d.handed {
					continue // the request before would panic, too
				}
				t.Run("door="+d.name, func(t *testing.T) {
					st := newSite(t, d.options(nil))
					c.sabotage(st)
					st.wantPanicsAnswered(d.open(t, st), c.path)
				})
			}
		})
	}
}

// wantPanicsAnswered sends requests for a path, each of which must panic, and many others after it:
// closing the connection must not reset it, because the client could lose the answer.
func (st *site) wantPanicsAnswered(dial func() net.Conn, path string) {
	st.t.Helper()
	for range 5 {
		request := requestText("GET", path, "", "User-Agent: kept?", "X-Forwarded-For: 192.0.2.77", "Cookie: kept?")
		r := onlyAnswer(st.t, exchangeOn(st.t, dial(), request+strings.Repeat(wiretest.Smuggled, 10_000)), "GET")
		r.expect(st.t, "", problemOf("internal"), 500, closed, without("secret"))
	}
	expect.Equal(st.t, strings.Count(st.log.String(), "panic in a request"), 1, "logged times, want once: %s", st.log)
	log := st.log.String()
	expect.That(st.t, !strings.Contains(log, "kept?") && !strings.Contains(log, "192.0.2.77"), "the caller is in the log: %s", log)
}
