package node

import (
	"context"
	"sync"
	"time"

	"shunt/storage/clusterlog"
)

// members remembers the nodes of the cluster for a while.
type members struct {
	list func(ctx context.Context) ([]clusterlog.Member, error)

	mu sync.Mutex
	at time.Time // zero: nothing is remembered
	by map[string][16]byte
}

// membersLive is how long the nodes are remembered.
const membersLive = 5 * time.Second

// outboxes returns the ids of the outboxes of all nodes, live or not, by their names. The caller must not change it.
func (m *members) outboxes(ctx context.Context) (map[string][16]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.at) < membersLive {
		return m.by, nil
	}
	now := time.Now()
	all, err := m.list(ctx)
	if err != nil {
		return nil, err
	}
	m.at, m.by = now, make(map[string][16]byte, len(all))
	for i := range all {
		m.by[all[i].Name] = all[i].Outbox
	}
	return m.by, nil
}

// forget has the nodes asked for again.
func (m *members) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = time.Time{}
}
