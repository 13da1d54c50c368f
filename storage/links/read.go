package links

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// ReadRecord implements engine.Store.
func (l *Links) ReadRecord(k engine.Key) (engine.Record, error) {
	snapshot := l.db.NewSnapshot()
	defer snapshot.Close()
	rec, err := ReadRecord(snapshot, k)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return engine.Record{}, fmt.Errorf("storage: %w", err)
	}
	return rec, err
}

// ReadRecord returns the record of a key: see Links.ReadRecord.
func ReadRecord(r pebble.Reader, k engine.Key) (engine.Record, error) {
	v, err := kv.Read(r, row.AppendHotKey(nil, k))
	if err != nil {
		return engine.Record{}, err
	}
	if v == nil {
		return engine.Record{}, engine.ErrNotFound
	}
	view, err := row.DecodeHot(k.View(), v)
	if err != nil {
		return engine.Record{}, fmt.Errorf("code %q: %w", k.Code, err)
	}
	rec := engine.Record{Hot: row.OwnHot(&view)}
	if v, err = kv.Read(r, row.AppendColdKey(nil, view.ID)); err != nil {
		return engine.Record{}, err
	}
	if v == nil && view.Flags&engine.FlagTombstone != 0 {
		return rec, readVersion(r, &rec)
	}
	if rec.Cold, err = row.DecodeCold(v); err != nil {
		return engine.Record{}, fmt.Errorf("code %q, id %d: %w", k.Code, view.ID, err)
	}
	return rec, nil
}

// readVersion reads the version that a deleted link had which has no cold record any more.
func readVersion(r pebble.Reader, rec *engine.Record) error {
	v, err := kv.Read(r, row.AppendByDeletionKey(nil, row.HourAt(rec.Hot.DeletedAtMs), rec.Hot.ID))
	if err != nil || v == nil {
		return err
	}
	if _, rec.Cold.Version, err = row.DecodeDeletion(v); err != nil {
		return fmt.Errorf("deleted code %q: %w", rec.Hot.Code, err)
	}
	return nil
}

// ReadHot implements engine.Store. It reads one row: of a link that is not in the cache, one block of
// a table, because the filters of the other tables say that it is not there.
func (l *Links) ReadHot(k engine.Key) (engine.Hot, error) {
	v, err := l.writer.Get(row.AppendHotKey(nil, k))
	if err != nil {
		return engine.Hot{}, fmt.Errorf("storage: %w", err)
	}
	if v == nil {
		return engine.Hot{}, engine.ErrNotFound
	}
	view, err := row.DecodeHot(k.View(), v)
	if err != nil {
		return engine.Hot{}, fmt.Errorf("storage: code %q: %w", k.Code, err)
	}
	return row.OwnHot(&view), nil
}

// ListLinks implements engine.Store.
func (l *Links) ListLinks(owner uint32, tag string, fn func(id uint64, k engine.KeyView) bool) error {
	prefix := row.AppendByOwnerKey(nil, owner, 0)
	switch {
	case len(tag) > engine.MaxTagBytes: // no link has it
		return nil
	case tag != "":
		prefix = row.AppendByTagKey(nil, owner, tag, 0)
	}
	if err := l.listIndex(prefix[:len(prefix)-8], fn); err != nil {
		return fmt.Errorf("storage: listing links of owner %d: %w", owner, err)
	}
	return nil
}

// ListFolder implements engine.Store.
func (l *Links) ListFolder(folder uint32, fn func(id uint64, k engine.KeyView) bool) error {
	prefix := row.AppendByFolderKey(nil, folder, 0)
	if err := l.listIndex(prefix[:len(prefix)-8], fn); err != nil {
		return fmt.Errorf("storage: listing links of folder %d: %w", folder, err)
	}
	return nil
}

// listIndex calls fn for the index rows whose keys are prefix and a link id.
func (l *Links) listIndex(prefix []byte, fn func(id uint64, k engine.KeyView) bool) (err error) {
	keys := row.PrefixRange(prefix)
	it, err := l.db.NewIter(&pebble.IterOptions{LowerBound: keys.Lower, UpperBound: keys.Upper})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for valid := it.First(); valid; valid = it.Next() {
		key := it.Key()
		value, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		if len(key) != len(prefix)+8 {
			return fmt.Errorf("%w: key %x in an index", row.ErrCorrupt, key)
		}
		k, err := row.DecodeIndexKey(value)
		if err != nil {
			return fmt.Errorf("row %x: %w", key, err)
		}
		if !fn(^binary.BigEndian.Uint64(key[len(prefix):]), k) {
			return nil
		}
	}
	return it.Error()
}

// ReadImports implements engine.Store. Cold records are in the order of ids, so one iterator reads them.
func (l *Links) ReadImports(ids []uint64, fn func(hits uint64, atMs int64)) error {
	if err := l.readImports(ids, fn); err != nil {
		return fmt.Errorf("storage: reading imports: %w", err)
	}
	return nil
}

func (l *Links) readImports(ids []uint64, fn func(hits uint64, atMs int64)) (err error) {
	keys := row.TableRange(row.TableCold)
	it, err := l.db.NewIter(&pebble.IterOptions{LowerBound: keys.Lower, UpperBound: keys.Upper})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	var key []byte
	for _, id := range ids {
		key = row.AppendColdKey(key[:0], id)
		if !it.SeekGE(key) {
			break
		}
		if !bytes.Equal(it.Key(), key) {
			continue // it was purged
		}
		value, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		hits, atMs, err := row.ImportOf(value)
		if err != nil {
			return fmt.Errorf("link %d: %w", id, err)
		}
		if hits > 0 {
			fn(hits, atMs)
		}
	}
	return it.Error()
}
