package links

import (
	"encoding/binary"
	"errors"
	"fmt"

	"shunt/storage/kv"
	"shunt/storage/row"
)

// ErrNoIDs: all of the 2^48 − 1 link ids were given.
var ErrNoIDs = errors.New("no link ids left")

// AllocateIDs implements engine.Store. Ids start at 1. It commits a batch of its own. Errors:
// ErrNoIDs.
func (l *Links) AllocateIDs(n uint64) (first uint64, err error) {
	l.ids.Lock()
	defer l.ids.Unlock()
	bound := l.ids.bound.Load()
	if n > 1<<row.IDCounterBits-bound {
		return 0, fmt.Errorf("storage: allocating %d ids from %d on: %w", n, bound, ErrNoIDs)
	}
	b := l.db.NewBatch()
	defer b.Close()
	kv.Set(b, row.MetaKey(row.MetaIDBound), binary.BigEndian.AppendUint64(nil, bound+n))
	if err := l.share(b, "storage: allocating ids"); err != nil {
		return 0, err
	}
	l.ids.bound.Store(bound + n)
	return bound, nil
}

// Given reports whether a link may have an id.
func (l *Links) Given(id uint64) bool { return id != 0 && id < l.ids.bound.Load() }

// IDBound returns the bound of ids: every id below it may have been given.
func (l *Links) IDBound() uint64 { return l.ids.bound.Load() }

// RaiseIDBound raises the bound to one that another node has set. Nobody may allocate ids meanwhile.
func (l *Links) RaiseIDBound(to uint64) {
	for bound := l.ids.bound.Load(); bound < to && !l.ids.bound.CompareAndSwap(bound, to); {
		bound = l.ids.bound.Load()
	}
}
