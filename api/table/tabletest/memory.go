package tabletest

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"shunt/api/table"
	"shunt/engine"
)

// A Memory is a table in memory. Its fields are for tests that do not use it at the same time.
type Memory struct {
	Rows    map[string]string
	Entries []*engine.AuditEntry // of the audit log
	Fails   error                // of writes; nil: they succeed

	mu sync.Mutex
}

var _ table.Table = (*Memory)(nil)

// New returns an empty table.
func New() *Memory { return &Memory{Rows: make(map[string]string)} }

// Get implements table.Table.
func (m *Memory) Get(key []byte) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if value, there := m.Rows[string(key)]; there {
		return []byte(value), nil
	}
	return nil, nil
}

// Scan implements table.Table.
func (m *Memory) Scan(prefix []byte, fn func(key, value []byte) (bool, error)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(m.Rows)) {
		if !strings.HasPrefix(key, string(prefix)) {
			continue
		}
		if more, err := fn([]byte(key), []byte(m.Rows[key])); err != nil || !more {
			return err
		}
	}
	return nil
}

// Write implements table.Table.
func (m *Memory) Write(sets [][2][]byte, deletes [][]byte, entry *engine.AuditEntry, done func(error)) {
	done(m.write(sets, deletes, entry))
}

func (m *Memory) write(sets [][2][]byte, deletes [][]byte, entry *engine.AuditEntry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Fails != nil {
		return m.Fails
	}
	for _, row := range sets {
		m.Rows[string(row[0])] = string(row[1])
	}
	for _, key := range deletes {
		delete(m.Rows, string(key))
	}
	if entry != nil {
		m.Entries = append(m.Entries, entry)
	}
	return nil
}
