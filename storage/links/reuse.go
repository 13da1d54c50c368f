package links

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// appendReuseKey appends the key of the row by which a create finds the link to reuse it. The row follows from the
// record: only a live link that was made with reuse has one, of its owner, target and id.
func appendReuseKey(dst []byte, h *engine.Hot) []byte {
	return row.AppendReuseKey(dst, h.Owner, engine.HashTarget(h.Target), h.ID)
}

// addReuse writes the row of a link that was made with reuse.
func (b *Batch) addReuse(m *engine.Mutation) {
	if m.Cold.Reuse {
		b.key = appendReuseKey(b.key[:0], &m.Hot)
		kv.Set(b.batch, b.key, nil)
	}
}

// removeReuse removes the row of before, unless m writes it again anyway.
func (b *Batch) removeReuse(before *engine.Record, m *engine.Mutation, stays bool) {
	if before.Cold.Reuse && !(stays && m.Cold.Reuse && before.Hot.Target == m.Hot.Target) {
		b.remove(appendReuseKey(b.key[:0], &before.Hot))
	}
}

// Reusable implements engine.Listing.
func (l *listing) Reusable(owner uint32, hash uint64, limit int, fn func(*engine.Record) bool) error {
	if err := l.reusable(owner, hash, limit, fn); err != nil {
		return fmt.Errorf("storage: links of owner %d to reuse: %w", owner, err)
	}
	return nil
}

func (l *listing) reusable(owner uint32, hash uint64, limit int, fn func(*engine.Record) bool) (err error) {
	keys := row.ReuseRange(owner, hash)
	it, err := l.snapshot.NewIter(&pebble.IterOptions{LowerBound: keys.Lower, UpperBound: keys.Upper})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for valid := it.First(); valid && limit > 0; valid, limit = it.Next(), limit-1 {
		_, _, id, err := row.SplitReuseKey(it.Key())
		if err != nil {
			return err
		}
		rec, err := l.ReadRecordOf(id)
		switch {
		case errors.Is(err, engine.ErrNotFound): // shunt check names the row
		case err != nil:
			return err
		case !fn(&rec):
			return nil
		}
	}
	return it.Error()
}
