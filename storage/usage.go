package storage

import (
	"context"
	"fmt"
	"shunt/storage/row"
)

// Usage is what the tables of a store take on disk, in bytes.
type Usage struct {
	Links  uint64 // hot and cold records, and the indexes over them
	Hours  uint64 // rows by the hour, of links and owners
	Days   uint64
	Lives  uint64
	Others uint64 // accounts, meta, idempotency
}

// Usage writes what is in memory tables out and compacts everything, so that each row is there once, and returns what
// the tables take. It rewrites the whole store: minutes for gigabytes.
func (s *Store) Usage(ctx context.Context) (u Usage, err error) {
	if err := s.db.Flush(); err != nil {
		return u, fmt.Errorf("storage: writing out memory tables: %w", err)
	}
	for _, part := range []struct {
		sum    *uint64
		tables []byte
	}{
		{&u.Links, []byte{row.TableHot, row.TableCold, row.TableByOwner, row.TableByTag}},
		{&u.Hours, []byte{row.TableLinkHours, row.TableOwnerHours}},
		{&u.Days, []byte{row.TableLinkDays, row.TableOwnerDays}},
		{&u.Lives, []byte{row.TableLinkLives}},
		{&u.Others, []byte{row.TableMeta, row.TableReceipts, row.TableAccounts}},
	} {
		for _, table := range part.tables {
			keys := row.TableRange(table)
			if err := s.db.Compact(ctx, keys.Lower, keys.Upper, false); err != nil {
				return u, fmt.Errorf("storage: compacting table %#x: %w", table, err)
			}
			n, err := s.db.EstimateDiskUsage(keys.Lower, keys.Upper)
			if err != nil {
				return u, fmt.Errorf("storage: size of table %#x: %w", table, err)
			}
			*part.sum += n
		}
	}
	return u, nil
}
