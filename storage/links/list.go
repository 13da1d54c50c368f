package links

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// listing implements engine.Listing with a snapshot of the database.
type listing struct{ snapshot *pebble.Snapshot }

// Listing implements engine.Store. A snapshot also contains batches that Pebble has applied and not
// synced yet, so Listing waits for the last batch in it. The log is in the order of the numbers of
// batches, so once that batch is durable, the whole snapshot is.
func (l *Links) Listing(ctx context.Context) (engine.Listing, error) {
	snapshot := l.db.NewSnapshot()
	contained, err := kv.ReadSequence(snapshot)
	if err == nil {
		err = l.writer.AwaitDurable(ctx, contained.Last)
	}
	if err != nil {
		return nil, fmt.Errorf("storage: opening a listing: %w", errors.Join(err, snapshot.Close()))
	}
	return &listing{snapshot}, nil
}

// Close implements engine.Listing.
func (l *listing) Close() error {
	if err := l.snapshot.Close(); err != nil {
		return fmt.Errorf("storage: closing a listing: %w", err)
	}
	return nil
}

// ReadRecord implements engine.Listing.
func (l *listing) ReadRecord(k engine.Key) (engine.Record, error) {
	rec, err := ReadRecord(l.snapshot, k)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return engine.Record{}, fmt.Errorf("storage: %w", err)
	}
	return rec, err
}

// ReadRecordOf implements engine.Listing.
func (l *listing) ReadRecordOf(id uint64) (engine.Record, error) {
	rec, err := ReadRecordOf(l.snapshot, id)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return engine.Record{}, fmt.Errorf("storage: %w", err)
	}
	return rec, err
}

// ReadRecordOf returns the record of the live link with an id: engine.ErrNotFound if there is none.
func ReadRecordOf(r pebble.Reader, id uint64) (engine.Record, error) {
	v, err := kv.Read(r, row.AppendColdKey(nil, id))
	if err != nil {
		return engine.Record{}, err
	}
	if v == nil {
		return engine.Record{}, engine.ErrNotFound
	}
	cold, err := row.DecodeCold(v)
	if err != nil {
		return engine.Record{}, fmt.Errorf("link %d: %w", id, err)
	}
	rec, err := ReadRecord(r, cold.Key)
	if err == nil && (rec.Hot.ID != id || rec.Hot.Flags&engine.FlagTombstone != 0) {
		err = engine.ErrNotFound
	}
	return rec, err
}

// Scan implements engine.Listing. The links of one owner have an index, and those in a folder. All owners together have
// none in the order of ids, so for those Scan reads the cold records, newest first, and the hot record of each. It does
// not look at their tags.
func (l *listing) Scan(r engine.ListRange, limit int, fn func(id uint64, k engine.KeyView) bool) (last uint64, more bool, err error) {
	if len(r.Tag) > engine.MaxTagBytes { // no link has it
		return 0, false, nil
	}
	s := l.coldScan(&r)
	switch {
	case r.Folder != 0:
		s = indexScan(folderKeys(r.Folder, r.Below))
	case !r.AnyOwner:
		s = indexScan(indexKeys(r.Owners[0].First, r.Tag, r.Below))
	}
	if last, more, err = s.run(l.snapshot, limit, fn); err != nil {
		return 0, false, fmt.Errorf("storage: listing links: %w", err)
	}
	return last, more, nil
}

// rowScan iterates over rows that each represent a link, newest first.
type rowScan struct {
	keys        row.Range
	first, next func(*pebble.Iterator) bool
	read        func(key, value []byte) (id uint64, k engine.KeyView, listed bool, err error) // id also if it is not listed
}

// run reads at most limit rows. Key and value of a row are valid only during the call of read.
func (s *rowScan) run(r pebble.Reader, limit int, fn func(id uint64, k engine.KeyView) bool) (last uint64, more bool, err error) {
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: s.keys.Lower, UpperBound: s.keys.Upper})
	if err != nil {
		return 0, false, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	more = s.first(it)
	for ; more && limit > 0; limit-- {
		value, err := it.ValueAndErr()
		if err != nil {
			return 0, false, err
		}
		id, k, listed, err := s.read(it.Key(), value)
		if err != nil {
			return 0, false, fmt.Errorf("row %x: %w", it.Key(), err)
		}
		last = id
		goesOn := !listed || fn(id, k)
		more = s.next(it)
		if !goesOn {
			break
		}
	}
	return last, more, it.Error()
}

// indexScan returns a scan of rows of an index.
func indexScan(keys row.Range) rowScan {
	var entry engine.LinkEntry
	return rowScan{
		keys: keys, first: (*pebble.Iterator).First, next: (*pebble.Iterator).Next,
		read: func(key, value []byte) (uint64, engine.KeyView, bool, error) {
			err := readIndexRow(&entry, key, value)
			return entry.ID, entry.KeyView, err == nil, err
		},
	}
}

// coldScan returns a scan of all cold records; those of deleted links are not listed.
func (l *listing) coldScan(r *engine.ListRange) rowScan {
	keys := row.TableRange(row.TableCold)
	if r.Below != 0 {
		keys.Upper = row.AppendColdKey(nil, r.Below)
	}
	return rowScan{
		keys: keys, first: (*pebble.Iterator).Last, next: (*pebble.Iterator).Prev,
		read: func(key, value []byte) (uint64, engine.KeyView, bool, error) { return l.readCold(key, value) },
	}
}

// readCold returns the key of a cold record's link.
func (l *listing) readCold(key, value []byte) (id uint64, k engine.KeyView, listed bool, err error) {
	if len(key) != 1+8 {
		return 0, k, false, fmt.Errorf("%w: key of a cold record", row.ErrCorrupt)
	}
	id = binary.BigEndian.Uint64(key[1:])
	cold, err := row.DecodeCold(value)
	if err != nil {
		return id, k, false, err
	}
	v, err := kv.Read(l.snapshot, row.AppendHotKey(nil, cold.Key))
	if err != nil || v == nil {
		return id, k, false, err
	}
	hot, err := row.DecodeHot(cold.View(), v)
	return id, hot.KeyView, err == nil && hot.ID == id && hot.Flags&engine.FlagTombstone == 0, err
}

// CountTags implements engine.Listing. Of a tag it reads the keys of all its rows, and the cold record of
// its newest link, which has the tag as it was given.
func (l *listing) CountTags(s *engine.TagScan, rows int, fn func(engine.TagCount) bool) (more bool, err error) {
	if more, err = l.countTags(s, rows, fn); err != nil {
		return false, fmt.Errorf("storage: counting tags: %w", err)
	}
	return more, nil
}

func (l *listing) countTags(s *engine.TagScan, rows int, fn func(engine.TagCount) bool) (more bool, err error) {
	keys := tagKeys(s)
	it, err := l.snapshot.NewIter(&pebble.IterOptions{LowerBound: keys.Lower, UpperBound: keys.Upper})
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	var prefix []byte // of the rows of the open tag, once one was read
	for more = it.First(); more && rows > 0; rows-- {
		key := it.Key()
		if len(prefix) == 0 || !bytes.HasPrefix(key, prefix) {
			folded, id, ok := row.SplitIndexKey(key)
			if !ok {
				return false, fmt.Errorf("%w: key %x in the index by tag", row.ErrCorrupt, key)
			}
			prefix = append(prefix[:0], key[:len(key)-8]...)
			if open := s.Open; open.Folded() != folded {
				if s.Open, err = l.openTag(folded, id); err != nil {
					return false, err
				}
				if open.Links > 0 && !fn(open) {
					return true, nil
				}
			}
		}
		s.Open.Links++
		s.Below = ^binary.BigEndian.Uint64(key[len(key)-8:])
		more = it.Next()
	}
	if !more && it.Error() == nil && s.Open.Links > 0 {
		fn(s.Open)
		s.After, s.Open = s.Open.Folded(), engine.TagCount{}
	}
	return more, it.Error()
}

// tagKeys returns the range of the rows that s has not counted yet.
func tagKeys(s *engine.TagScan) row.Range {
	keys := row.PrefixRange(row.AppendTagsPrefix(nil, s.Owner, s.Prefix))
	switch {
	case s.Open.Links > 0: // ids fall
		keys.Lower = append(row.AppendByTagKey(nil, s.Owner, s.Open.Folded(), s.Below), 0)
	case s.After != "":
		after := row.AppendByTagKey(nil, s.Owner, s.After, 0)
		if lower := row.PrefixRange(after[:len(after)-8]).Upper; bytes.Compare(lower, keys.Lower) > 0 {
			keys.Lower = lower
		}
	}
	return keys
}

// openTag begins the count of a tag, whose newest link has the id.
func (l *listing) openTag(folded string, id uint64) (engine.TagCount, error) {
	value, err := kv.Read(l.snapshot, row.AppendColdKey(nil, id))
	if err != nil || value == nil {
		return engine.NewTagCount(folded, folded, 0), err // shunt check names a missing record
	}
	cold, err := row.DecodeCold(value)
	if err != nil {
		return engine.TagCount{}, fmt.Errorf("link %d: %w", id, err)
	}
	for _, tag := range cold.Tags {
		if engine.FoldTag(tag) == folded {
			return engine.NewTagCount(folded, tag, 0), nil
		}
	}
	return engine.NewTagCount(folded, folded, 0), nil
}
