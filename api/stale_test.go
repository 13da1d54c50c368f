package api

import (
	"context"
	"testing"

	"shunt/api/cluster"
	"shunt/engine"
)

// cutOff is what a node knows of its cluster that does not lead and has been without the log for too
// long.
type cutOff struct{}

func (cutOff) Leads() bool                                { return false }
func (cutOff) Leader() (name, address string)             { return "", "" }
func (cutOff) Applied() uint64                            { return 0 }
func (cutOff) AwaitApplied(context.Context, uint64) error { return nil }
func (cutOff) Stale() bool                                { return true }
func (cutOff) Member(string) bool                         { return true }
func (cutOff) Edge() bool                                 { return false }
func (cutOff) Fulls() []cluster.Place                     { return nil }

var _ cluster.State = cutOff{}

// TestANodeWithoutItsClusterOnlyRedirects asks for everything that can be read, for a redirect, and as a
// local command, which is answered from what the node has.
func TestANodeWithoutItsClusterOnlyRedirects(t *testing.T) {
	t.Parallel()
	st := newSite(t, func(o *Options) { o.Cluster.State = cutOff{} })
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
