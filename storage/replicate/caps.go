package replicate

import (
	"context"
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
	err = kv.Each(s.db, row.TableRange(row.TableCaps), func(key, value []byte) (bool, error) {
		id, c, err := row.ReadCap(key, value)
		if err != nil {
			return false, fmt.Errorf("cap %x: %w", key, err)
		}
		fn(id, c)
		return ctx.Err() == nil, nil
	})
	if err != nil {
		return fmt.Errorf("storage: reading caps: %w", err)
	}
	return ctx.Err()
}

// leaveCaps adds rows to b that remove all caps.
func leaveCaps(b *pebble.Batch) {
	keys := row.TableRange(row.TableCaps)
	kv.Must(b.DeleteRange(keys.Lower, keys.Upper, nil))
}
