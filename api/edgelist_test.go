package api

import (
	"strings"
	"testing"
	"time"

	"shunt/api/account"
	"shunt/api/admin"
	"shunt/api/edges"
	"shunt/engine/expect"
)

// says has an edge ask, which is at position 7 of 9.
func says(st *site, name string, hits uint64) {
	st.t.Helper()
	now := st.edgeList.now()
	answered := st.edgeList.known.Asks(name, "203.0.113.7", &edges.Ask{Version: 1, Program: "v9.8.7", Applied: 7, Hits: &hits, HitsBytes: 40 * hits, ServesTill: 1_800_000_000}, 9, now)
	answered(&edges.Answer{Head: 9}, now)
}

func TestMetricsOfEdges(t *testing.T) {
	st := newSite(t, nil)
	st.now.Add(60_000)
	expect.Slices(t, st.edgeList.figures(), []admin.Edge{{Name: "frankfurt", Silent: 60, Lag: -1, WaitingHits: -1, WaitingBytes: -1}}, "before it was heard")
	says(st, "frankfurt", 5)
	st.now.Add(3_000)
	expires := time.Unix(1_800_000_000, 0).UTC()
	expect.Slices(t, st.edgeList.figures(), []admin.Edge{{Name: "frankfurt", Silent: 3, Lag: -1, WaitingHits: 5, WaitingBytes: 200, ServesTill: expires}}, "after")
	text := st.metricsText()
	expect.Contains(t, text, "shunt_edge_silent_seconds{edge=\"frankfurt\"} 3\n")
	expect.Contains(t, text, "shunt_edge_waiting_hits{edge=\"frankfurt\"} 5\n")
	expect.Contains(t, text, "shunt_edge_certificate_expiry_timestamp_seconds{edge=\"frankfurt\"} 1.8e+09\n")
	expect.That(t, !strings.Contains(text, "shunt_edge_lag_seconds"), "an edge that never had all has a lag")
}

// TestAnEdgeIsKnownWhileItsQuestionIsHeld asks with all entries, and gets no answer yet.
func TestAnEdgeIsKnownWhileItsQuestionIsHeld(t *testing.T) {
	known, now := new(edges.Known), time.Unix(1_700_000_000, 0)
	for _, applied := range []uint64{7, 9} {
		known.Asks("oslo", "203.0.113.7", &edges.Ask{Version: 1, Applied: applied}, applied, now)
	}
	e := known.List([]string{"oslo"}, nil, 9, now.Add(time.Hour))[0]
	expect.That(t, e.State == edges.Connected && *e.Behind == 0 && *e.Lag == 3600 && *e.Position == 9, "got %+v", e)
}

// TestThePagesOfEdges shows edges in all states, and forgets one.
func TestThePagesOfEdges(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("boss@example.com", account.RoleAdmin)
	boss, err := st.accounts.UserByName(account.AdminName)
	expect.OK(t, err)
	for _, name := range []string{"oslo", "lima"} {
		_, text, err := st.accounts.IssueToken(account.CallerOf(boss), account.TokenDraft{Name: name, Scopes: []account.Scope{account.Edge}})
		expect.OK(t, err)
		st.secret(text)
	}
	says(st, "oslo", 1234)
	st.edgeList.known.Asks("oslo", "203.0.113.7", &edges.Ask{Version: 1, Program: "v9.8.7", Applied: 7, Hits: new(uint64(1234)), ServesTill: 1_800_000_000}, 7, st.edgeList.now().Add(-150*time.Second))
	b.get("/_/system").want("3, 1 connected")
	shown := b.get("/_/system/edges")
	shown.want("frankfurt", "revoked", "before this server started", "lima", "not started yet", "oslo", "connected", "203.0.113.7", "7 0 2 min 1,234 v9.8.7 to 2027-01-15")
	b.get("/_/system/edges/oslo/forget").want("Forget oslo?", "This edge runs.", "1,234")
	expect.Equal(t, b.get("/_/system/edges/rome/forget").status, 404)
	b.post("/_/system/edges/oslo/forget", formType, "")
	b.get("/_/system/edges").want("The edge oslo is forgotten, and its token is revoked.")
	tokens, err := st.accounts.EdgeTokens()
	expect.That(t, err == nil && len(tokens) == 1 && tokens[0].Name == "lima", "left are %+v, %v", tokens, err)
}
