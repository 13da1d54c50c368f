package links

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"

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
	bound, gap := l.ids.bound.Load(), l.ids.gap.Load()
	if gap {
		bound += rand.Uint64N(max(1, (1<<row.IDCounterBits-bound)/gapsOfIDs))
	}
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
	if gap {
		l.ids.gap.Store(false)
	}
	return bound, nil
}

// gapsOfIDs: a gap has at most one part in that many of the ids left. Of a new store that is 2^32 ids: after a million
// lost ids, one of them is given again with a probability of 1 in 4,000. 100,000 gaps leave half of all ids.
const gapsOfIDs = 1 << 16

// LeaveGap has the next call of AllocateIDs leave a gap of random size. Somebody else may know links with the next
// ids: this store may have been rolled back with its disk, which nobody can see here. A gap of a fixed size would not
// do, since the start before may have left the same one. Any goroutine may call it.
func (l *Links) LeaveGap() { l.ids.gap.Store(true) }

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
