package storage

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/disk"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// create writes the rows that never change in the store's life, and the first id bound, in one
// batch, and then turns the folder into a store.
func (s *Store) create(f *disk.Folder, visitorKey *[16]byte) error {
	var storeID, randomKey [16]byte
	rand.Read(storeID[:])
	rand.Read(randomKey[:])
	if visitorKey == nil {
		visitorKey = &randomKey
	}
	b := s.db.NewBatch()
	defer b.Close()
	kv.Set(b, row.MetaKey(row.MetaLayout), binary.BigEndian.AppendUint32(nil, row.LayoutVersion))
	kv.Set(b, row.MetaKey(row.MetaStoreID), storeID[:])
	kv.Set(b, row.MetaKey(row.MetaVisitorKey), visitorKey[:])
	kv.Set(b, row.MetaKey(row.MetaNode), binary.BigEndian.AppendUint16(nil, 0))
	kv.Set(b, row.MetaKey(row.MetaIDBound), binary.BigEndian.AppendUint64(nil, 1))
	if err := s.writer.Sync(b, "creating the store"); err != nil {
		return err
	}
	return f.End(disk.FormatNewName)
}

// start reads the state that is kept in memory.
func (s *Store) start() (err error) {
	if err := s.checkLayout(); err != nil {
		return err
	}
	if err := s.readMeta(); err != nil {
		return err
	}
	if s.flusher.mark, err = readMark(s.db); err != nil {
		return err
	}
	s.flusher.markHour.Store(s.flusher.mark.Hour)
	if s.flusher.sweep, err = readSweep(s.db); err != nil {
		return err
	}
	if err := s.readKept(); err != nil {
		return err
	}
	if err := s.readAuditStamp(); err != nil {
		return err
	}
	if err := s.readLog(); err != nil {
		return err
	}
	return s.findHours()
}

// checkLayout refuses a layout version that this program does not know.
func (s *Store) checkLayout() error {
	var layout [4]byte
	if err := s.readFixed(row.MetaLayout, layout[:], "layout version"); err != nil {
		return err
	}
	if s.layout = binary.BigEndian.Uint32(layout[:]); s.layout == 0 {
		return fmt.Errorf("%w: layout version 0", ErrCorrupt)
	}
	return disk.CheckLayout(s.layout)
}

func (s *Store) readMeta() error {
	var node [2]byte
	var bound [8]byte
	err := errors.Join(
		s.readFixed(row.MetaStoreID, s.identity.StoreID[:], "store id"),
		s.readFixed(row.MetaVisitorKey, s.identity.VisitorKey[:], "visitor key"),
		s.readFixed(row.MetaNode, node[:], "node"),
		s.readFixed(row.MetaIDBound, bound[:], "id bound"),
	)
	s.identity.Node = binary.BigEndian.Uint16(node[:])
	s.ids.bound.Store(binary.BigEndian.Uint64(bound[:]))
	if n := s.ids.bound.Load(); err == nil && (n == 0 || n > 1<<row.IDCounterBits) {
		err = fmt.Errorf("%w: id bound %d", ErrCorrupt, n)
	}
	return err
}

// readFixed reads a meta row of a fixed width, which must exist.
func (s *Store) readFixed(name byte, dst []byte, what string) error {
	v, err := s.writer.Get(row.MetaKey(name))
	if err != nil {
		return err
	}
	return kv.DecodeFixed(dst, v, what)
}

// AllocateIDs implements engine.Store. Counters start at 1. It commits a batch of its own. Errors:
// ErrNoIDs.
func (s *Store) AllocateIDs(n uint64) (first uint64, err error) {
	s.ids.Lock()
	defer s.ids.Unlock()
	bound := s.ids.bound.Load()
	if n > 1<<row.IDCounterBits-bound {
		return 0, fmt.Errorf("storage: allocating %d ids from %d on: %w", n, bound, ErrNoIDs)
	}
	b := s.db.NewBatch()
	defer b.Close()
	kv.Set(b, row.MetaKey(row.MetaIDBound), binary.BigEndian.AppendUint64(nil, bound+n))
	if err := s.share(b, "storage: allocating ids"); err != nil {
		return 0, err
	}
	s.ids.bound.Store(bound + n)
	return uint64(s.identity.Node)<<row.IDCounterBits | bound, nil
}

// given reports whether a link may have an id.
func (s *Store) given(id uint64) bool {
	counter := id & (1<<row.IDCounterBits - 1)
	return uint16(id>>row.IDCounterBits) == s.identity.Node && counter != 0 && counter < s.ids.bound.Load()
}

// convert raises the layout version of a store that an older program wrote. It is called before
// anybody can change a link or an account.
//
// From version 1 to 2 no row changes: version 2 has the audit log. The number is raised all the same,
// because a program that knows only version 1 would make changes without entries and never delete old
// entries, and its check would report them as rows of no known table. Version 3 has folded tags in the keys
// of the index by tag, which is written again from the links.
//
// The format file is replaced before the row, so that the older program refuses the folder without
// opening the database. After a crash between the two, the next Open converts again.
func (s *Store) convert(f *disk.Folder, log *slog.Logger) error {
	named, _, err := f.ReadFormat(disk.FormatName)
	if err != nil {
		return err
	}
	if named == row.LayoutVersion && s.layout == row.LayoutVersion {
		return nil
	}
	if err := f.WriteFormat(disk.FormatName, disk.FormatPrefix, row.LayoutVersion); err != nil {
		return err
	}
	if s.layout < row.FoldedTags {
		if err := s.indexTags(); err != nil {
			return fmt.Errorf("converting the index by tag: %w", err)
		}
	}
	b := s.db.NewBatch()
	defer b.Close()
	kv.Set(b, row.MetaKey(row.MetaLayout), binary.BigEndian.AppendUint32(nil, row.LayoutVersion))
	if err := s.writer.Sync(b, "converting the store"); err != nil {
		return err
	}
	log.Info(fmt.Sprintf("the data was converted from version %d to %d: older programs refuse it now", s.layout, row.LayoutVersion))
	s.layout = row.LayoutVersion
	return nil
}

// indexTags writes the index by tag again from the links. A repeat has the same result, so it may be cut off
// anywhere.
func (s *Store) indexTags() (err error) {
	batch := mutationBatch{batch: s.db.NewBatch()}
	defer func() { err = errors.Join(err, batch.batch.Close()) }()
	tags, cold := row.TableRange(row.TableByTag), row.TableRange(row.TableCold)
	kv.Must(batch.batch.DeleteRange(tags.Lower, tags.Upper, nil))
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: cold.Lower, UpperBound: cold.Upper})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for valid := it.First(); valid; valid = it.Next() {
		if err := s.indexTagsOf(&batch, it); err != nil {
			return err
		}
		if batch.batch.Len() < commitBatchBytes {
			continue
		}
		if err := s.writer.Sync(batch.batch, "writing index rows"); err != nil {
			return err
		}
		batch.batch.Reset()
	}
	return errors.Join(it.Error(), s.writer.Sync(batch.batch, "writing index rows"))
}

// indexTagsOf adds the index rows by tag of the link whose cold record it is at, if the link is live.
func (s *Store) indexTagsOf(b *mutationBatch, it *pebble.Iterator) error {
	id, err := row.SplitColdKey(it.Key())
	if err != nil {
		return err
	}
	value, err := it.ValueAndErr()
	if err != nil {
		return err
	}
	c, err := row.DecodeCold(value)
	if err != nil || len(c.Tags) == 0 {
		return err
	}
	hot, err := s.ReadHot(c.Code)
	if errors.Is(err, engine.ErrNotFound) || err == nil && (hot.ID != id || hot.Flags&engine.FlagTombstone != 0) {
		return nil
	}
	if err == nil {
		b.addByTag(&engine.Mutation{Hot: hot, Cold: c})
	}
	return err
}

// Clock implements engine.Store.
func (s *Store) Clock() (engine.SeenClock, error) {
	v, err := kv.Read(s.db, row.MetaKey(row.MetaClock))
	if err != nil || v == nil {
		return engine.SeenClock{}, err
	}
	c, err := row.DecodeClock(v)
	if err != nil {
		return c, fmt.Errorf("storage: %w", err)
	}
	return c, nil
}
