package storage

import (
	"encoding/binary"
	"fmt"
	"shunt/storage/row"
)

// idCounterBits is the width of an id's counter. The bits above it are the node.
const idCounterBits = 48

// AllocateIDs implements engine.Store. Counters start at 1. It commits a batch of its own. Errors:
// ErrNoIDs.
func (s *Store) AllocateIDs(n uint64) (first uint64, err error) {
	s.ids.Lock()
	defer s.ids.Unlock()
	bound := s.ids.bound
	if n > 1<<idCounterBits-bound {
		return 0, fmt.Errorf("storage: allocating %d ids from %d on: %w", n, bound, ErrNoIDs)
	}
	b := s.db.NewBatch()
	defer b.Close()
	set(b, row.MetaKey(row.MetaIDBound), binary.BigEndian.AppendUint64(nil, bound+n))
	if err := s.share(b, "storage: allocating ids"); err != nil {
		return 0, err
	}
	s.ids.bound = bound + n
	return uint64(s.identity.Node)<<idCounterBits | bound, nil
}
