package api

import (
	"context"
	"crypto/tls"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"shunt/api/cluster"
	"shunt/engine"
)

// clusterState is that of a node which leads or is cut off.
type clusterState struct{ leads, stale atomic.Bool }

func (c *clusterState) Leads() bool                                { return c.leads.Load() }
func (c *clusterState) Leader() (name, address string)             { return "", "" }
func (c *clusterState) Applied() uint64                            { return 0 }
func (c *clusterState) AwaitApplied(context.Context, uint64) error { return nil }
func (c *clusterState) Member(string) (member, known bool)         { return true, true }
func (c *clusterState) Edge() bool                                 { return false }
func (c *clusterState) Fulls() []cluster.Place                     { return nil }
func (c *clusterState) Gate() *cluster.Gate                        { return nil }
func (c *clusterState) Stale() bool                                { return c.stale.Load() }

// newClusteredSite returns a site whose node is one of a cluster, and leads.
func newClusteredSite(t *testing.T) (*site, *clusterState) {
	t.Helper()
	state := new(clusterState)
	state.leads.Store(true)
	st := newSiteOn(t, func(o *engine.Options) { o.Cluster = true }, func(o *Options) {
		o.Cluster = Cluster{State: state, TLS: &tls.Config{MinVersion: tls.VersionTLS13}}
	})
	if err := st.engine.Lead(t.Context(), func() {}); err != nil {
		t.Fatal(err)
	}
	return st, state
}

// TestANodeThatIsCutOffRedirectsAndTellsNothing: it may not know any more who may see what.
func TestANodeThatIsCutOffRedirectsAndTellsNothing(t *testing.T) {
	st, state := newClusteredSite(t)
	st.shorten(`{"url": "https://example.com/there", "alias": "there"}`)
	state.leads.Store(false)
	state.stale.Store(true)
	for _, r := range []reply{
		st.call("GET", "/links/there", ""),
		st.get("/_/", "Accept: text/event-stream"),
		st.get("/_/account", "Accept: text/event-stream"),
	} {
		if r.status != 503 || !strings.Contains(r.body, "stale") || r.header.Get("Retry-After") == "" {
			t.Errorf("it answers %d, Retry-After %q: %s", r.status, r.header.Get("Retry-After"), r.body)
		}
	}
	if r := st.get("/there"); r.status != 302 {
		t.Errorf("a redirect: status %d", r.status)
	}
}

// deciding is a cluster of one node, which leads as long as leads says so.
type deciding struct {
	engine *engine.Engine
	leads  *atomic.Bool
}

func (d deciding) Applied() uint64 { return 0 }

func (d deciding) Settled(context.Context, uint64) bool { return true }

func (d deciding) grant(ctx context.Context, asks []engine.CapAsk) ([]engine.CapAnswer, error) {
	if !d.leads.Load() {
		return nil, engine.ErrNotLeader
	}
	return d.engine.GrantCaps(ctx, d, asks)
}

// TestTheLeaderDecidesRedirectsOfALinkWithACap by all doors. Bots, prefetches and HEAD use nothing up.
func TestTheLeaderDecidesRedirectsOfALinkWithACap(t *testing.T) {
	st, state := newClusteredSite(t)
	var running sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	running.Go(func() { st.engine.AskCaps(ctx, deciding{st.engine, &state.leads}.grant) })
	defer running.Wait()
	defer stop()
	st.shorten(`{"url": "https://example.com/", "alias": "capped", "max_hits": 3}`)
	want := func(status int, fields ...string) {
		t.Helper()
		if r := st.get("/capped", fields...); r.status != status {
			t.Errorf("status %d, want %d: %s", r.status, status, r.body)
		}
	}
	want(302)
	state.leads.Store(false)
	want(503)
	state.leads.Store(true)
	want(302)
	for range 5 {
		want(302, "User-Agent: Googlebot/2.1")
		want(503, "Sec-Purpose: prefetch")
	}
	want(302)
	want(410)
	want(410, "User-Agent: Googlebot/2.1")
	state.leads.Store(false)
	want(410) // all nodes know that it is used up
	if d, err := st.engine.Read(keyOf("capped")); err != nil || d.Hits != 3 || d.State != engine.StateExhausted {
		t.Errorf("the link: %+v, %v", d, err)
	}
}

// TestACapWithoutALeaderIsNotUsedUp: the node must not redirect, and says that it may later.
func TestACapWithoutALeaderIsNotUsedUp(t *testing.T) {
	st, _ := newClusteredSite(t)
	st.shorten(`{"url": "https://example.com/", "alias": "capped", "max_hits": 10}`)
	r := st.get("/capped", "Accept: application/json")
	if r.status != 503 || r.problem() != "cap_elsewhere" || r.header.Get("Retry-After") != "1" {
		t.Errorf("status %d, Retry-After %q: %s", r.status, r.header.Get("Retry-After"), r.body)
	}
	if r := st.get("/capped", "Accept: text/html"); r.status != 503 || !strings.Contains(r.body, "One moment") {
		t.Errorf("the page: %d: %s", r.status, r.body)
	}
	if got := st.metric(`shunt_redirect_misses_total{reason="elsewhere"}`); got != "2" {
		t.Errorf("%s redirects are counted that nobody decided, want 2", got)
	}
}

// TestANodeWithoutItsClusterOnlyRedirects asks for everything that can be read, for a redirect, and as a
// local command, which is answered from what the node has.
func TestANodeWithoutItsClusterOnlyRedirects(t *testing.T) {
	t.Parallel()
	state := new(clusterState)
	state.stale.Store(true)
	st := newSite(t, func(o *Options) { o.Cluster.State = state })
	if _, _, err := st.engine.Create(t.Context(), engine.Draft{Alias: "x", Owner: 1, Target: "http://a/"}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/links", "/links/x", "/export", "/stats", "/stats/x", "/stats/x/live", "/misses", "/audit", "/tokens", "/users", "/me", "/openapi.json", "/openapi-3.0.json"} {
		if r := st.call("GET", path, ""); r.status != 503 || r.problem() != "stale" || r.header.Get("Retry-After") != "1" {
			t.Errorf("GET %s: got %d %v %s, want 503 stale", path, r.status, r.header, r.body)
		}
	}
	if r := st.get("/x"); r.status != 302 {
		t.Errorf("a redirect: got %d, want 302", r.status)
	}
	if r := send(t, st.localAt, "GET", requestText("GET", "/api/v1/links", "")); r.status != 200 {
		t.Errorf("a local command: got %d %s, want 200", r.status, r.body)
	}
}
