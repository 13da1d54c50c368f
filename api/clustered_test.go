package api

import (
	"context"
	"crypto/tls"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/valyala/fasthttp"

	"shunt/api/cluster"
	"shunt/engine"
	"shunt/engine/expect"
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
	expect.OK(t, st.engine.Lead(t.Context(), func() {}))
	return st, state
}

// TestAGETAtADoorIsSentOnAsAWrite: it may create a link, so it must not be sent again, nor be said to have changed
// nothing.
func TestAGETAtADoorIsSentOnAsAWrite(t *testing.T) {
	t.Parallel()
	state := new(clusterState)
	st := newSite(t, func(o *Options) { o.Doors, o.Cluster.State = []string{"shlink", "yourls"}, state })
	for request, want := range map[string]bool{
		"GET /rest/v3/short-urls/shorten?longUrl=x": true, "GET /yourls-api.php?action=shorturl": true, "HEAD /rest/v3/short-urls": true,
		"GET /api/v1/links": false, "HEAD /api/v1/links": false, "POST /api/v1/links": true, "GET /_/": false,
		"GET /api/v2/action/shorten": false, // this door is closed
	} {
		method, target, _ := strings.Cut(request, " ")
		var ctx fasthttp.RequestCtx
		ctx.Request.Header.SetMethod(method)
		ctx.Request.SetRequestURI(target)
		expect.Equal(t, st.clustered.writes(&ctx), want, request)
	}
}

// A check of targets is in the memory of the node that leads, so a node that does not lead reads it there.
func TestACheckOfTargetsIsReadFromTheLeader(t *testing.T) {
	t.Parallel()
	state := new(clusterState)
	st := newSite(t, func(o *Options) { o.Cluster.State = state })
	for request, want := range map[string]bool{
		"GET /api/v1/target-check": false, "GET /api/v1/target-check/?x": false, "POST /api/v1/target-check": false, "GET /_/links/check": false,
		"GET /api/v1/links": true, "GET /api/v1/links/a/qr": true, "POST /api/v1/links/a/qr": false, "GET /abc?_qr": true,
	} {
		method, target, _ := strings.Cut(request, " ")
		var ctx fasthttp.RequestCtx
		ctx.Request.Header.SetMethod(method)
		ctx.Request.SetRequestURI(target)
		expect.Equal(t, st.clustered.isHere(&ctx), want, request)
	}
}

// TestANodeThatIsCutOffRedirectsAndTellsNothing: it may not know any more who may see what.
func TestANodeThatIsCutOffRedirectsAndTellsNothing(t *testing.T) {
	t.Parallel()
	st, state := newClusteredSite(t)
	st.shorten(`{"url": "https://example.com/there", "alias": "there"}`)
	state.leads.Store(false)
	state.stale.Store(true)
	for _, r := range []reply{
		st.call("GET", "/links/there", ""),
		st.get("/_/", "Accept: text/event-stream"),
		st.get("/_/account", "Accept: text/event-stream"),
	} {
		r.expect(t, "it answers", 503, "stale", some("Retry-After"))
	}
	st.get("/there").expect(t, "a redirect: status", 302)
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
		st.get("/capped", fields...).expect(t, "status", status)
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
	d, err := st.engine.Read(keyOf("capped"))
	expect.That(t, err == nil && d.Hits == 3 && d.State == engine.StateExhausted, "the link: %+v, %v", d, err)
}

// TestACapWithoutALeaderIsNotUsedUp: the node must not redirect, and says that it may later.
func TestACapWithoutALeaderIsNotUsedUp(t *testing.T) {
	st, _ := newClusteredSite(t)
	st.shorten(`{"url": "https://example.com/", "alias": "capped", "max_hits": 10}`)
	st.get("/capped", "Accept: application/json").expect(t, "status", 503, problemOf("cap_elsewhere"), header("Retry-After", "1"))
	st.get("/capped", "Accept: text/html").expect(t, "the page", 503, "One moment")
	expect.Equal(t, st.metric(`shunt_redirect_misses_total{reason="elsewhere"}`), "2", "redirects are counted that nobody decided")
}

// TestANodeWithoutItsClusterOnlyRedirects asks for everything that can be read, for a redirect, and as a
// local command, which is answered from what the node has.
func TestANodeWithoutItsClusterOnlyRedirects(t *testing.T) {
	t.Parallel()
	state := new(clusterState)
	state.stale.Store(true)
	st := newSite(t, func(o *Options) { o.Cluster.State = state })
	_, _, err := st.engine.Create(t.Context(), engine.Draft{Alias: "x", Owner: 1, Target: "http://a/"})
	expect.OK(t, err)
	for _, path := range []string{"/links", "/links/x", "/export", "/stats", "/stats/x", "/stats/x/live", "/misses", "/audit", "/tokens", "/users", "/me", "/openapi.json", "/openapi-3.0.json"} {
		st.call("GET", path, "").expect(t, "GET "+path, 503, problemOf("stale"), header("Retry-After", "1"))
	}
	st.get("/x").expect(t, "a redirect", 302)
	send(t, st.localAt, "GET", requestText("GET", "/api/v1/links", "")).expect(t, "a local command", 200)
}
