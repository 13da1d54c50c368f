package storage

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
)

// ReadRecord implements engine.Store. A tombstone whose cold record has gone has a zero one.
func (s *Store) ReadRecord(code string) (engine.Record, error) {
	snapshot := s.db.NewSnapshot()
	defer snapshot.Close()
	rec, err := readRecord(snapshot, code)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return engine.Record{}, fmt.Errorf("storage: %w", err)
	}
	return rec, err
}

func readRecord(r pebble.Reader, code string) (engine.Record, error) {
	v, err := read(r, appendHotKey(nil, code))
	if err != nil {
		return engine.Record{}, err
	}
	if v == nil {
		return engine.Record{}, engine.ErrNotFound
	}
	view, err := decodeHot([]byte(code), v)
	if err != nil {
		return engine.Record{}, fmt.Errorf("code %q: %w", code, err)
	}
	rec := engine.Record{Hot: ownHot(&view)}
	if v, err = read(r, appendColdKey(nil, view.ID)); err != nil {
		return engine.Record{}, err
	}
	if v == nil && view.Flags&engine.FlagTombstone != 0 {
		return rec, nil
	}
	if rec.Cold, err = decodeCold(v); err != nil {
		return engine.Record{}, fmt.Errorf("code %q, id %d: %w", code, view.ID, err)
	}
	return rec, nil
}

// ListLinks implements engine.Store.
func (s *Store) ListLinks(owner uint32, tag string, fn func(id uint64, code string) bool) error {
	prefix := appendByOwnerKey(nil, owner, 0)
	switch {
	case len(tag) > engine.MaxTagBytes: // no link has it
		return nil
	case tag != "":
		prefix = appendByTagKey(nil, owner, tag, 0)
	}
	if err := s.listIndex(prefix[:len(prefix)-8], fn); err != nil {
		return fmt.Errorf("storage: listing links of owner %d: %w", owner, err)
	}
	return nil
}

// listIndex goes over the index rows whose keys are prefix and a link id.
func (s *Store) listIndex(prefix []byte, fn func(id uint64, code string) bool) (err error) {
	keys := prefixRange(prefix)
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: keys.lower, UpperBound: keys.upper})
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
			return fmt.Errorf("%w: key %x in an index", ErrCorrupt, key)
		}
		code, err := decodeIndexCode(value)
		if err != nil {
			return fmt.Errorf("row %x: %w", key, err)
		}
		if !fn(^binary.BigEndian.Uint64(key[len(prefix):]), code) {
			return nil
		}
	}
	return it.Error()
}

// Positions implements engine.Store. Before the first flush they are zero.
func (s *Store) Positions() (engine.Positions, error) {
	p, err := readPositions(s.db)
	if err != nil {
		return engine.Positions{}, fmt.Errorf("storage: %w", err)
	}
	return p, nil
}

func readPositions(r pebble.Reader) (engine.Positions, error) {
	v, err := read(r, metaKey(metaPositions))
	if err != nil || v == nil {
		return engine.Positions{}, err
	}
	return decodePositions(v)
}

func readMark(r pebble.Reader) (mark, error) {
	v, err := read(r, metaKey(metaMark))
	if err != nil || v == nil {
		return mark{}, err
	}
	return decodeMark(v)
}

func readSweep(r pebble.Reader) (sweep, error) {
	v, err := read(r, metaKey(metaSweep))
	if err != nil || v == nil {
		return sweep{stage: stageDone}, err
	}
	return decodeSweep(v)
}

// decodeFixed copies a value of a fixed width.
func decodeFixed(dst, v []byte, what string) error {
	if len(v) != len(dst) {
		return fmt.Errorf("%w: %s has %d bytes instead of %d", ErrCorrupt, what, len(v), len(dst))
	}
	copy(dst, v)
	return nil
}
