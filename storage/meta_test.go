package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine/expect"
	"shunt/storage/disk"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// metaRows are the required rows of fixed width, by name.
type metaRows map[byte][]byte

func goldenMeta() metaRows {
	return metaRows{
		row.MetaLayout: binary.BigEndian.AppendUint32(nil, row.LayoutVersion), row.MetaStoreID: []byte("a store's own id"), row.MetaVisitorKey: []byte("its visitors key"),
		row.MetaNode: {0, 0}, row.MetaIDBound: {0, 0, 0, 0, 0, 0, 0, 1},
	}
}

// restart writes the rows and makes s read its state in memory again.
func (m metaRows) restart(t testing.TB, s *Store) error {
	t.Helper()
	b := s.db.NewBatch()
	defer b.Close()
	for name, value := range m {
		kv.Set(b, row.MetaKey(name), value)
	}
	expect.OK(t, s.db.Apply(b, pebble.NoSync))
	return s.start()
}

// metaOf returns the rows as create and AllocateIDs write what s has in memory.
func metaOf(s *Store) metaRows {
	return metaRows{
		row.MetaLayout: binary.BigEndian.AppendUint32(nil, row.LayoutVersion), row.MetaStoreID: s.identity.StoreID[:],
		row.MetaVisitorKey: s.identity.VisitorKey[:], row.MetaNode: {0, 0},
		row.MetaIDBound: binary.BigEndian.AppendUint64(nil, s.IDBound()),
	}
}

func TestAnImpossibleMetaRowIsCorrupt(t *testing.T) {
	s := openTemp(t)
	for what, fields := range map[string]metaRows{
		"layout version 0":            {row.MetaLayout: {0, 0, 0, 0}},
		"layout version cut off":      {row.MetaLayout: {0, 0, 1}},
		"empty store id":              {row.MetaStoreID: {}},
		"visitor key of 17 bytes":     {row.MetaVisitorKey: make([]byte, 17)},
		"node of one byte":            {row.MetaNode: {0}},
		"another node than 0":         {row.MetaNode: {0, 1}},
		"id bound under the first id": {row.MetaIDBound: {0, 0, 0, 0, 0, 0, 0, 0}},
		"id bound beyond all ids":     {row.MetaIDBound: {0, 1, 0, 0, 0, 0, 0, 1}},
	} {
		m := goldenMeta()
		maps.Copy(m, fields)
		expect.Error(t, m.restart(t, s), ErrCorrupt, "%s", what)
	}
}

// FuzzMetaRows starts a store whose meta rows are any bytes: the rows that it accepts are those
// that it would write, and its ids are ids of links.
func FuzzMetaRows(f *testing.F) {
	add := func(name byte, value ...byte) {
		m := goldenMeta()
		m[name] = value
		f.Add(m[row.MetaLayout], m[row.MetaStoreID], m[row.MetaVisitorKey], m[row.MetaNode], m[row.MetaIDBound])
	}
	add(row.MetaNode, 0, 0)
	add(row.MetaNode, 0xff, 0xff)
	add(row.MetaLayout, 0, 0, 0, 1)
	add(row.MetaLayout, 0, 0, 0, 2)
	add(row.MetaLayout, 0, 0, 0, 3)
	add(row.MetaStoreID)
	add(row.MetaVisitorKey, make([]byte, 17)...)
	add(row.MetaIDBound, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
	add(row.MetaIDBound, 0, 1, 0, 0, 0, 0, 0, 0)
	add(row.MetaIDBound, 0, 1, 0, 0, 0, 0, 0, 1)
	add(row.MetaIDBound, make([]byte, 8)...)
	s := openMem(f, vfs.NewMem())
	f.Cleanup(func() { closeStore(f, s) })
	f.Fuzz(func(t *testing.T, layout, storeID, visitorKey, node, bound []byte) {
		m := metaRows{
			row.MetaLayout: layout, row.MetaStoreID: storeID, row.MetaVisitorKey: visitorKey, row.MetaNode: node, row.MetaIDBound: bound,
		}
		err := m.restart(t, s)
		if err != nil {
			expect.MustThat(t, errors.Is(err, ErrCorrupt) || errors.Is(err, disk.ErrNewerFormat) || errors.Is(err, disk.ErrOldFormat),
				"%x: got %v, want ErrCorrupt, ErrOldFormat or ErrNewerFormat", m, err)
			return
		}
		again := metaOf(s)
		expect.MustThat(t, maps.EqualFunc(again, m, bytes.Equal), "%x was accepted, and is written as %x", m, again)
		id, err := s.AllocateIDs(1)
		expect.MustThat(t, err == nil || errors.Is(err, ErrNoIDs), "%v", err)
		expect.MustThat(t, err != nil || id>>row.IDCounterBits == 0 && id != 0, "%x: got id %#x", m, id)
	})
}
