package e2e

import (
	"testing"
	"time"

	"shunt/engine/expect"
)

// TestALastUseAtAnotherNodeIsKnownToTheLeader uses a token at a node that does not lead. That one tells the
// leader, once a minute and when it stops.
func TestALastUseAtAnotherNodeIsKnownToTheLeader(t *testing.T) {
	s := newSite(t, "a", "b")
	leader := s.leader()
	other := s.without(leader)[0]
	made := leader.call("POST", "/tokens", map[string]any{"name": "used elsewhere", "scopes": []string{"links:read"}}).want(t, 201)
	used := time.Now()
	s.await(func() bool {
		return other.call("GET", "/links", nil, "Authorization", "Bearer "+made.body["token"].(string)).status == 200
	}, "the token works at the other node")
	lastUse := func() (at time.Time) {
		tokens, _ := leader.call("GET", "/tokens", nil).want(t, 200).body["data"].([]any)
		for _, token := range tokens {
			if token := token.(map[string]any); token["id"] == made.body["id"] {
				text, _ := token["last_used_at"].(string)
				at, _ = time.Parse(time.RFC3339, text)
			}
		}
		return at
	}
	other.terminate()
	s.await(func() bool { return !lastUse().IsZero() }, "the leader knows of the use")
	at := lastUse()
	expect.That(t, !at.Before(used.Add(-time.Second)) && !at.After(time.Now()), "the leader says that the token was used at %v; it was after %v", at, used)
}
