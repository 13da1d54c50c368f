package storage

import (
	"errors"
	"fmt"
	"slices"
	"sync"

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

// openHours is the set of hours that have rows which the roll-up mark has not passed, or may have: an hour enters before
// the batch with its first row is committed, and leaves after the batch with the mark that passes it is. A snapshot that is
// taken under mu therefore never has such rows of an hour that is not in hours at that moment.
type openHours struct {
	mu struct {
		sync.RWMutex
		hours []uint32 // ascending; replaced, never changed
	}
}

func (o *openHours) add(hour uint32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if at, found := slices.BinarySearch(o.mu.hours, hour); !found {
		o.mu.hours = slices.Insert(slices.Clone(o.mu.hours), at, hour)
	}
}

// removeBefore removes the hours before hour.
func (o *openHours) removeBefore(hour uint32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	at, _ := slices.BinarySearch(o.mu.hours, hour)
	o.mu.hours = slices.Clone(o.mu.hours[at:])
}

// oldest returns the first hour of the set.
func (o *openHours) oldest() (hour uint32, ok bool) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if len(o.mu.hours) == 0 {
		return 0, false
	}
	return o.mu.hours[0], true
}

// snapshot returns a snapshot of the database, and the open hours of that moment.
func (o *openHours) snapshot(db *pebble.DB) (*pebble.Snapshot, []uint32) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return db.NewSnapshot(), o.mu.hours
}

// ReadTally implements engine.Store: the life row, and the hour rows that are not contained in it.
func (s *Store) ReadTally(id uint64) (engine.Tally, uint64, error) {
	snapshot, hours := s.hours.snapshot(s.db)
	defer snapshot.Close()
	t, flushSeq, err := readTally(snapshot, hours, id)
	if err != nil {
		return engine.Tally{}, 0, fmt.Errorf("storage: tally of link %d: %w", id, err)
	}
	return t, flushSeq, nil
}

func readTally(r pebble.Reader, hours []uint32, id uint64) (t engine.Tally, flushSeq uint64, err error) {
	m, err := readMark(r)
	if err != nil {
		return t, 0, err
	}
	p, err := readPositions(r)
	if err != nil {
		return t, 0, err
	}
	var key [maxTallyKeyBytes]byte
	if err := addRow(r, appendLinkLifeKey(key[:0], id), &t); err != nil {
		return t, 0, err
	}
	for _, hour := range hours {
		if m.passed(hour, id) {
			continue
		}
		if err := addRow(r, appendLinkHourKey(key[:0], hour, id), &t); err != nil {
			return t, 0, err
		}
	}
	return t, p.FlushSeq, nil
}

const maxTallyKeyBytes = 1 + 8 + 4

// addRow adds the tally row of key to t, if there is one.
func addRow(r pebble.Reader, key []byte, t *engine.Tally) error {
	v, closer, err := r.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("row %x: %w", key, err)
	}
	row, err := decodeTally(v)
	if err = errors.Join(err, closer.Close()); err != nil {
		return fmt.Errorf("row %x: %w", key, err)
	}
	t.Add(&row)
	return nil
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
