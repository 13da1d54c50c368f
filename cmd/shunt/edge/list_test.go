package edge

import (
	"encoding/json"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"shunt/api"
	"shunt/api/account"
	"shunt/api/admin"
	"shunt/api/edges"
	"shunt/cmd/shunt/porttest"
	"shunt/engine/expect"
)

// list returns the edges of a writer as an admin sees them.
func (m *machine) list(token string) (list []edges.Edge) {
	m.t.Helper()
	a := m.ask("GET", "/api/v1/edges", "", "Authorization", "Bearer "+token)
	expect.MustEqual(m.t, a.status, 200, a.body)
	expect.OK(m.t, json.Unmarshal([]byte(a.body), &struct {
		Data *[]edges.Edge `json:"data"`
	}{&list}))
	return list
}

// one returns the edge of that name.
func (m *machine) one(token, name string) edges.Edge {
	m.t.Helper()
	list := m.list(token)
	i := slices.IndexFunc(list, func(e edges.Edge) bool { return e.Name == name })
	expect.MustThat(m.t, i >= 0, "no edge %s in %+v", name, list)
	return list[i]
}

// adminToken returns a token with all scopes.
func (m *machine) adminToken() string {
	m.t.Helper()
	u, _, err := m.accounts.EnsureAdmin()
	expect.OK(m.t, err)
	_, text, err := m.accounts.IssueToken(account.CallerOf(u), account.TokenDraft{Name: "all", Scopes: account.AllScopes})
	expect.OK(m.t, err)
	return text
}

// TestAWriterListsItsEdges follows an edge from its token until it is forgotten, and comes back after all: no hit is
// lost then, and none counts twice.
func TestAWriterListsItsEdges(t *testing.T) {
	later := new(atomic.Int64)
	w := &machine{t: t, dir: t.TempDir(), address: porttest.Hold(t, "127.0.0.1"), log: new(logs)}
	w.options = func(o *api.Options) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	}
	w.start()
	t.Cleanup(w.stop)
	w.link("code", "https://a.example/", 0)
	all := w.adminToken()
	expect.Equal(t, len(w.list(all)), 0, "edges")
	secret, _ := w.token("frankfurt")
	e := w.one(all, "frankfurt")
	expect.That(t, e.State == edges.New && e.SeenAt == nil && e.Position == nil && e.Hits == nil, "an edge that never came: %+v", e)

	edge := newEdge(t, w.address, secret)
	expires := time.Now().Add(90 * 24 * time.Hour).Truncate(time.Second).UTC()
	edge.options = func(o *api.Options) {
		edge.node.source.certificate = func() admin.Certificate { return admin.Certificate{NotAfter: expires} }
	}
	edge.startEdge()
	edge.redirects("code", "https://a.example/")
	until(t, "the edge has all, and no hit waits there", func() bool {
		e = w.one(all, "frankfurt")
		return e.State == edges.Connected && e.Behind != nil && *e.Behind == 0 && *e.Position == edge.rows.AppliedSequence() &&
			e.Hits != nil && *e.Hits == 0 && *e.HitsBytes == 0 && e.Lag != nil && *e.Lag < 5
	})
	expect.That(t, e.Address == "127.0.0.1" && e.Version != "" && e.ServesTill.Equal(expires), "an edge that runs: %+v", e)

	edge.stop()
	for n := range 3 {
		w.link("another"+string(rune('a'+n)), "https://a.example/", 0)
	}
	later.Store(int64(time.Minute))
	until(t, "the writer knows that the edge has stopped", func() bool {
		e = w.one(all, "frankfurt")
		return e.State == edges.Silent
	})
	expect.That(t, *e.Behind == 3 && *e.Lag > 50, "an edge that stopped: %+v", e)
	later.Store(0)

	edge.node = edge.newNode(w.address)
	w.stop() // so that hits wait
	edge.startEdge()
	answered := redirectsOf(edge, 9)
	w.start()
	until(t, "the hits came", func() bool { return w.hits("code") >= answered })
	expect.Equal(t, w.ask("DELETE", "/api/v1/edges/frankfurt", "", "Authorization", "Bearer "+all).status, 204)
	expect.Equal(t, w.ask("DELETE", "/api/v1/edges/frankfurt", "", "Authorization", "Bearer "+all).status, 404, "a second time")
	until(t, "the edge redirects nothing", func() bool { status, _ := edge.get("code"); return status == 503 })
	until(t, "the edge is gone from the list", func() bool { return len(w.list(all)) == 0 })
	before := w.hits("code")

	again, _ := w.token("frankfurt")
	edge.setToken(again)
	edge.redirects("code", "https://a.example/")
	until(t, "it is back", func() bool { return w.one(all, "frankfurt").State == edges.Connected })
	until(t, "the last hit came", func() bool { return w.hits("code") > before })
	status := w.ask("GET", "/api/v1/edges", "", "Authorization", "Bearer "+again).status
	expect.Equal(t, status, http.StatusForbidden, "an edge that asks for edges")
}

// redirectsOf asks an edge for a link n times, and returns how often it was redirected in all: once before.
func redirectsOf(m *machine, n int) uint64 {
	for range n {
		status, _ := m.get("code")
		expect.MustEqual(m.t, status, 302)
	}
	return uint64(n) + 1
}

// TestAnEdgeSaysHowManyHitsWait has hits in an outbox, of which a question has none.
func TestAnEdgeSaysHowManyHitsWait(t *testing.T) {
	w := newWriter(t)
	w.link("code", "https://a.example/", 0)
	secret, _ := w.token("frankfurt")
	e := newEdge(t, w.address, secret)
	e.startEdge()
	e.redirects("code", "https://a.example/")
	until(t, "no hit waits", func() bool { m := e.rows.Metrics(); return m.OutboxNext > 1 && m.OutboxFirst == m.OutboxNext })
	w.stop()
	redirectsOf(e, 7)
	until(t, "hits wait", func() bool {
		n, err := e.rows.WaitingHits(0)
		return err == nil && n == 7
	})
	s := source{rows: e.rows}
	ask := edges.Ask{First: e.rows.Metrics().OutboxFirst}
	s.describe(&ask, nil)
	expect.That(t, ask.Hits != nil && *ask.Hits == 7 && ask.HitsBytes == e.rows.Metrics().OutboxBytes && ask.ServesTill == 0, "7 hits wait: %+v", ask)
	posted, err := e.rows.Outbox(ask.First-1, edges.MaxRecordsBytes)
	expect.OK(t, err)
	s.describe(&ask, posted.Records)
	expect.That(t, *ask.Hits == 0 && ask.First == posted.First, "all come with the question: %+v", ask)
}

// TestAnEdgeIsReadyWhenItHasCaughtUp starts an edge again while its writer is gone, and while it comes back.
func TestAnEdgeIsReadyWhenItHasCaughtUp(t *testing.T) {
	w := newWriter(t)
	w.link("code", "https://a.example/", 0)
	secret, _ := w.token("frankfurt")
	e := newEdge(t, w.address, secret)
	e.startEdge()
	until(t, "it is ready", func() bool { return e.server.Health().Status == "ok" })
	e.stop()
	w.link("late", "https://a.example/late", 0)
	w.stop()
	e.node = e.newNode(w.address)
	e.startEdge()
	h := e.server.Health()
	expect.That(t, h.Status == "loading", "an edge that was off, and does not reach its writer yet: %+v", h)
	status, _ := e.get("code")
	expect.Equal(t, status, 302, "it redirects already")
	w.start()
	until(t, "it is ready", func() bool { return e.server.Health().Status == "ok" })
	status, _ = e.get("late")
	expect.Equal(t, status, 302, "a link from the time when it was off")
	e.stop()
	w.stop()
	e.node = e.newNode(w.address)
	e.node.catchingUp.Patience = 300 * time.Millisecond
	e.startEdge()
	until(t, "it is ready without its writer", func() bool { return e.server.Health().Status == "ok" })
}
