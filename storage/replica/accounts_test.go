package replica

import (
	"errors"
	"testing"
	"time"

	"shunt/engine"
	"shunt/storage/clusterlog"
)

// writeAccountSomewhere writes a row of accounts at the node that leads.
func writeAccountSomewhere(t *testing.T, members []*member, key, value string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		for _, m := range members {
			done := make(chan error, 1)
			m.store.Accounts().Write([][2][]byte{{[]byte(key), []byte(value)}}, nil, nil, func(err error) { done <- err })
			err := <-done
			if err == nil {
				return
			}
			if !errors.Is(err, engine.ErrNotLeader) {
				t.Fatalf("%s: writing an account: %v", m.name, err)
			}
		}
	}
	t.Fatal("no node leads")
}

// toldOfAccounts returns how often a node was told that accounts have changed.
func (m *member) toldOfAccounts() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.accounts
}

// TestEveryFollowerIsToldThatAccountsHaveChanged: else it would go on with the callers that it has in memory.
func TestEveryFollowerIsToldThatAccountsHaveChanged(t *testing.T) {
	id := clusterlog.NewID()
	log := newMemLog(id)
	members := newMembers(t, log, id, "a", "b", "c")
	createSomewhere(t, members, engine.Draft{Alias: "welcome", Owner: 1, Target: "https://example.com/"})
	caughtUp(t, log, members)
	for _, m := range members {
		if n := m.toldOfAccounts(); n != 0 {
			t.Errorf("%s was told of accounts %d times for a link", m.name, n)
		}
	}
	writeAccountSomewhere(t, members, "key", "value")
	caughtUp(t, log, members)
	for _, m := range members {
		want := 1
		if m.replica.Leads() {
			want = 0 // it has made the change
		}
		if n := m.toldOfAccounts(); n != want {
			t.Errorf("%s was told of accounts %d times, want %d", m.name, n, want)
		}
		if value, err := m.store.Accounts().Get([]byte("key")); err != nil || string(value) != "value" {
			t.Errorf("%s has %q, %v", m.name, value, err)
		}
	}
}
