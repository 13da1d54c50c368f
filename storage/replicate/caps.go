package replicate

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// In a cluster, how many hits are used of the caps of links is in shared rows: see package engine/caps.

// LoadCaps implements engine.Store.
func (s *Rows) LoadCaps(ctx context.Context, fn func(id uint64, c engine.Cap)) (err error) {
	if !s.shared.exists {
		return nil
	}
	keys := row.TableRange(row.TableCaps)
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: keys.Lower, UpperBound: keys.Upper})
	if err != nil {
		return fmt.Errorf("storage: reading caps: %w", err)
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for valid := it.First(); valid && ctx.Err() == nil; valid = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return fmt.Errorf("storage: reading caps: %w", err)
		}
		id, c, err := row.ReadCap(it.Key(), value)
		if err != nil {
			return fmt.Errorf("storage: cap %x: %w", it.Key(), err)
		}
		fn(id, c)
	}
	return errors.Join(it.Error(), ctx.Err())
}

// leaveCaps adds rows to b that remove all caps.
func leaveCaps(b *pebble.Batch) {
	keys := row.TableRange(row.TableCaps)
	kv.Must(b.DeleteRange(keys.Lower, keys.Upper, nil))
}
