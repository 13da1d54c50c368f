package replicate

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"shunt/storage"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// LinksToStream is BackupToStream of what an edge of the cluster may have, and no more: the links and
// what distinguishes the store, at one position of the cluster's log. The store that Restore makes of it
// is that of an edge, for good.
//
// The rows are copied into a new database, so it needs room for them for as long as it is sent.
// Rejected: a checkpoint from which the other rows are deleted, because their bytes stay in its files.
func (s *Rows) LinksToStream(ctx context.Context) (storage.BackupResult, error) {
	if !s.shared.exists || s.shared.edge {
		return storage.BackupResult{}, errors.New("storage: only a full node of a cluster has links for an edge")
	}
	result, err := s.store.MakeStream(ctx, s.copyLinks)
	if err != nil {
		return storage.BackupResult{}, fmt.Errorf("storage: copying links: %w", err)
	}
	return result, nil
}

// copyLinks puts the rows of an edge into db.
func (s *Rows) copyLinks(db *pebble.DB, more func() error) (err error) {
	snapshot := s.db.NewSnapshot()
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	b := db.NewBatch()
	defer func() { err = errors.Join(err, b.Close()) }()
	for _, name := range []byte{row.MetaLayout, row.MetaStoreID, row.MetaVisitorKey, row.MetaNode, row.MetaIDBound, row.MetaLog} {
		value, err := kv.Read(snapshot, row.MetaKey(name))
		if err != nil {
			return err
		}
		kv.Set(b, row.MetaKey(name), value)
	}
	if zone, err := kv.Read(snapshot, row.MetaKey(row.MetaZone)); err != nil {
		return err
	} else if zone != nil {
		kv.Set(b, row.MetaKey(row.MetaZone), zone)
	}
	kv.Set(b, row.MetaKey(row.MetaEdge), []byte{1})
	kv.Set(b, row.MetaKey(row.MetaOutbox), row.AppendOutboxState(nil, newOutbox()))
	kv.Merge(b, row.MetaKey(row.MetaSequence), row.AppendSequence(nil, row.Sequence{Count: 1, Last: 1}))
	for _, table := range []byte{row.TableHot, row.TableCold, row.TableCaps} {
		if err := copyTable(snapshot, table, b, db, more); err != nil {
			return err
		}
	}
	return db.Apply(b, pebble.NoSync)
}

// copyChunkBytes is the size of a batch of a copy.
const copyChunkBytes = 1 << 20

// copyTable puts what an edge keeps of a table into b, and b into db whenever it is large.
func copyTable(from pebble.Reader, table byte, b *pebble.Batch, db *pebble.DB, more func() error) (err error) {
	return kv.Each(from, row.TableRange(table), func(key, value []byte) (_ bool, err error) {
		if table == row.TableCold {
			if value, err = row.ColdOfEdge(value); err != nil {
				return false, fmt.Errorf("row %x: %w", key, err)
			}
		}
		if kv.Set(b, key, value); b.Len() < copyChunkBytes {
			return true, nil
		}
		if err := errors.Join(more(), db.Apply(b, pebble.NoSync)); err != nil {
			return false, err
		}
		b.Reset()
		return true, nil
	})
}
