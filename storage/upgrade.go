package storage

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
)

// upgradeBatchBytes is how large a batch of an upgrade may grow before it is committed and the next one begun. A variable
// for tests.
var upgradeBatchBytes = 1 << 20

// upgrade makes a store of an older layout one of this program's, in three steps: the format file, which keeps an older
// program out, then the rows that the older layout has not, then the layout version in the meta table. A crash in between
// leaves two versions, of which each is known, and the next opening does all of it again: nothing is used before the meta
// row says that it is whole, and writing a row twice is writing it once.
func (s *Store) upgrade(f *folder) error {
	version, _, err := f.readFormat(formatName)
	if err != nil {
		return err
	}
	if version < layoutVersion {
		if err := f.writeFormat(formatName, formatPrefix, layoutVersion); err != nil {
			return err
		}
	}
	if s.layout == layoutVersion {
		return nil
	}
	if s.layout < layoutOfDeletions {
		if err := s.indexDeletions(); err != nil {
			return fmt.Errorf("upgrading the store from layout %d: indexing deleted links: %w", s.layout, err)
		}
	}
	b := s.db.NewBatch()
	defer b.Close()
	set(b, metaKey(metaLayout), binary.BigEndian.AppendUint32(nil, layoutVersion))
	if err := s.sync(b, "upgrading the store"); err != nil {
		return err
	}
	s.layout = layoutVersion
	return nil
}

// indexDeletions gives every deleted link its row in the index by deletion. Those whose code is still theirs are found by
// their tombstones. Those whose code their owner has taken again have only their cold record: it is one that no hot record
// names. When they were deleted nobody knows and nothing depends on, so they count as of hour 0. It costs one pass over hot
// and cold records, about a microsecond each, and a bit of memory an id.
func (s *Store) indexDeletions() error {
	w := &deletionIndexer{store: s}
	w.out.batch = s.db.NewBatch()
	defer func() { w.out.batch.Close() }()
	if err := s.eachRow(tableHot, w.hot); err != nil {
		return err
	}
	if err := s.eachRow(tableCold, w.cold); err != nil {
		return err
	}
	return s.sync(w.out.batch, "committing")
}

// eachRow calls fn for every row of a table. Key and value are valid only during the call.
func (s *Store) eachRow(table byte, fn func(key, value []byte) error) (err error) {
	keys := tableRange(table)
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: keys.lower, UpperBound: keys.upper})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	return scanPart(context.Background(), it, fn)
}

type deletionIndexer struct {
	store *Store
	named idSet // by hot records
	out   mutationBatch
}

func (w *deletionIndexer) hot(key, value []byte) error {
	h, err := decodeHot(key[1:], value)
	if err != nil {
		return fmt.Errorf("code %q: %w", key[1:], err)
	}
	w.named.add(h.ID)
	if h.Flags&engine.FlagTombstone == 0 {
		return nil
	}
	return w.write(deletionHour(h.DeletedAtMs), h.ID, string(h.Code))
}

func (w *deletionIndexer) cold(key, value []byte) error {
	if len(key) != 1+8 {
		return fmt.Errorf("%w: key %x in the table of cold records", ErrCorrupt, key)
	}
	id := binary.BigEndian.Uint64(key[1:])
	if w.named.has(id) {
		return nil
	}
	c, err := decodeCold(value)
	if err != nil {
		return fmt.Errorf("id %d: %w", id, err)
	}
	return w.write(0, id, c.Code)
}

func (w *deletionIndexer) write(hour uint32, id uint64, code string) error {
	w.out.addDeletion(hour, id, code)
	if w.out.batch.Len() < upgradeBatchBytes {
		return nil
	}
	defer w.out.batch.Reset()
	return w.store.sync(w.out.batch, "committing")
}

// idSet is a set of link ids, which are numbers in a row: a bit each, in chunks of 8 KB.
type idSet struct {
	chunks map[uint64]*[1024]uint64
}

func (s *idSet) add(id uint64) {
	chunk := s.chunks[id>>16]
	if chunk == nil {
		if s.chunks == nil {
			s.chunks = map[uint64]*[1024]uint64{}
		}
		chunk = new([1024]uint64)
		s.chunks[id>>16] = chunk
	}
	chunk[id>>6&1023] |= 1 << (id & 63)
}

func (s *idSet) has(id uint64) bool {
	chunk := s.chunks[id>>16]
	return chunk != nil && chunk[id>>6&1023]>>(id&63)&1 != 0
}
