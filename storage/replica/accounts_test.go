package replica

import (
	"testing"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage/clusterlog"
)

// writeAccountSomewhere writes a row of accounts at the node that leads.
func writeAccountSomewhere(t *testing.T, members []*member, key, value string) {
	t.Helper()
	for deadline := time.Now().Add(patienceOfTests); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		for _, m := range members {
			done := make(chan error, 1)
			m.store.Accounts().Write([][2][]byte{{[]byte(key), []byte(value)}}, nil, nil, func(err error) { done <- err })
			err := <-done
			if err == nil {
				return
			}
			expect.MustError(t, err, engine.ErrNotLeader, "%s: writing an account", m.name)
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
		expect.Equal(t, m.toldOfAccounts(), 0, "%s was told of accounts times for a link", m.name)
	}
	writeAccountSomewhere(t, members, "key", "value")
	caughtUp(t, log, members)
	for _, m := range members {
		want := 1
		if m.replica.Leads() {
			want = 0 // it has made the change
		}
		expect.Equal(t, m.toldOfAccounts(), want, "%s was told of accounts times", m.name)
		value, err := m.store.Accounts().Get([]byte("key"))
		expect.That(t, err == nil && string(value) == "value", "%s has %q, %v", m.name, value, err)
	}
}
