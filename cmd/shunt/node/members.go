package node

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"shunt/storage/clusterlog"
)

// members remembers the nodes of the cluster for a while.
type members struct {
	list func(ctx context.Context) ([]clusterlog.Member, error)

	asking chan struct{} // a lock for asking etcd; callers wait for it until their context ends

	mu sync.Mutex
	at time.Time // zero: nothing is remembered
	no time.Time // of the last attempt that failed
	by map[string][16]byte

	// last is etcd's last answer to any caller; it is used while etcd does not answer. Callers who ask for outboxes
	// only get by: its reads come one after the other, so it never goes back in time.
	last map[string][16]byte
	full []string // names of the full nodes, as learn last heard of them
}

var errMembersUnknown = fmt.Errorf("%w: the nodes of the cluster cannot be asked for at present", clusterlog.ErrUnavailable)

// membersLive is how long the nodes are remembered.
const membersLive = 5 * time.Second

// outboxes returns the ids of the outboxes of all nodes, live or not, by their names. The caller must not change it.
func (m *members) outboxes(ctx context.Context) (map[string][16]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	select {
	case m.asking <- struct{}{}:
		defer func() { <-m.asking }()
	case <-ctx.Done():
		return nil, errMembersUnknown
	}
	if by, err := m.recent(); by != nil || err != nil {
		return by, err
	}
	now := time.Now()
	all, err := m.list(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		m.no = time.Now()
		return nil, err
	}
	m.at, m.no, m.by = now, time.Time{}, outboxesOf(all)
	m.last = m.by
	return m.by, nil
}

func outboxesOf(all []clusterlog.Member) map[string][16]byte {
	by := make(map[string][16]byte, len(all))
	for i := range all {
		by[all[i].Name] = all[i].Outbox
	}
	return by
}

// learn records an answer that etcd just gave to another caller: so etcd answers, and may be asked.
func (m *members) learn(all []clusterlog.Member) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last, m.no, m.full = outboxesOf(all), time.Time{}, nil
	for i := range all {
		if all[i].Role == clusterlog.Full {
			m.full = append(m.full, all[i].Name)
		}
	}
}

// others returns the names of the full nodes but one.
func (m *members) others(own string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(m.full), func(name string) bool { return name == own })
}

// recent returns what is remembered if it is not too old, or an error if etcd must not be asked now, or neither.
func (m *members) recent() (map[string][16]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case time.Since(m.at) < membersLive:
		return m.by, nil
	case m.by != nil && time.Since(m.no) < membersLive: // requests must not wait for etcd one after the other
		return nil, errMembersUnknown
	}
	return nil, nil
}

// forget makes the next caller ask for the nodes again.
func (m *members) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = time.Time{}
}

const (
	// memberTimeout bounds how long anybody waits for the nodes of the cluster.
	memberTimeout = 2 * time.Second

	// knownTimeout bounds how long a request of a node that was one of the cluster waits until that is sure.
	knownTimeout = 300 * time.Millisecond
)

// has reports whether there is a node of that name. If etcd does not answer, a node that is remembered counts as
// there; any other may have joined since, so nothing is known of it.
func (m *members) has(name string) (found, known bool) {
	patience := memberTimeout
	if _, known := m.remembered()[name]; known {
		patience = knownTimeout
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	by, err := m.outboxes(ctx)
	if _, found = by[name]; err == nil && !found { // it may have come since
		m.forget()
		by, err = m.outboxes(ctx)
	}
	if err != nil {
		by = m.remembered()
	}
	_, found = by[name]
	return found, found || err == nil
}

// remembered returns etcd's last answer, however old.
func (m *members) remembered() map[string][16]byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last
}
