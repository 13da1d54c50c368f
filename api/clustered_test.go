package api

import (
	"context"
	"crypto/tls"
	"strings"
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
func (c *clusterState) Member(string) bool                         { return true }
func (c *clusterState) Edge() bool                                 { return false }
func (c *clusterState) Fulls() []cluster.Place                     { return nil }
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

// TestANodeWithoutAPartOfACapSaysSo: it must not redirect, and the link is not used up.
func TestANodeWithoutAPartOfACapSaysSo(t *testing.T) {
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
		t.Errorf("%s redirects are counted that lacked a part of a cap, want 2", got)
	}
}
