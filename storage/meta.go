package storage

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"

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
	if err := s.hitRows.Start(); err != nil {
		return err
	}
	if err := s.changeLog.Start(s.FirstDay()); err != nil {
		return err
	}
	return s.startReplication()
}

// checkLayout refuses a layout version that this program does not know.
func (s *Store) checkLayout() error {
	var layout [4]byte
	if err := s.readFixed(row.MetaLayout, layout[:], "layout version"); err != nil {
		return err
	}
	version := binary.BigEndian.Uint32(layout[:])
	if version == 0 {
		return fmt.Errorf("%w: layout version 0", ErrCorrupt)
	}
	return disk.CheckLayout(version)
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
	s.linkRows.Start(binary.BigEndian.Uint64(bound[:]))
	if err == nil && node != [2]byte{} { // these bits of an id are the number of a target
		err = fmt.Errorf("%w: node %d", ErrCorrupt, binary.BigEndian.Uint16(node[:]))
	}
	if n := s.IDBound(); err == nil && (n == 0 || n > 1<<row.IDCounterBits) {
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
