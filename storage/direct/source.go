package direct

import (
	"bytes"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
)

// source is a table in a scan, with the row where it is.
type source struct {
	table      *table
	rows       sstable.Iterator
	key, value []byte // valid until the source moves; key is nil after the last row
	sequence   pebble.SeqNum
	kind       pebble.InternalKeyKind
}

// seek moves to the first row from key on.
func (s *source) seek(key []byte) error {
	row := s.rows.SeekGE(key, 0)
	if row == nil {
		return s.ended()
	}
	value, _, err := row.Value(nil)
	return s.take(row.K, value, err)
}

// next moves to the next row.
func (s *source) next() error {
	row := s.rows.Next()
	if row == nil {
		return s.ended()
	}
	value, _, err := row.Value(nil)
	return s.take(row.K, value, err)
}

func (s *source) ended() error {
	s.key = nil
	if err := s.rows.Error(); err != nil {
		return fmt.Errorf("%s: %w", s.table.name, err)
	}
	return nil
}

func (s *source) take(key pebble.InternalKey, value []byte, err error) error {
	if err != nil {
		return fmt.Errorf("%s: row %x: %w", s.table.name, key.UserKey, err)
	}
	s.key, s.value, s.sequence, s.kind = key.UserKey, value, key.SeqNum(), key.Kind()
	return nil
}

// before reports whether the row of s comes before that of other: of one key, the newest is first.
func (s *source) before(other *source) bool {
	order := bytes.Compare(s.key, other.key)
	return order < 0 || order == 0 && s.sequence > other.sequence
}

// least returns the number of the source whose row comes first, and the least key of all others; nil if
// there are none. There are few sources, and most rows are of the same one as the row before, so this is
// called seldom, and no heap is needed.
func least(sources []source) (first int, bound []byte) {
	for i := 1; i < len(sources); i++ {
		other := &sources[i]
		if other.before(&sources[first]) {
			first, other = i, &sources[first]
		}
		if bound == nil || bytes.Compare(other.key, bound) < 0 {
			bound = other.key
		}
	}
	return first, bound
}
