package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// metaRows are the rows of fixed width that a store cannot do without, by name.
type metaRows map[byte][]byte

func goldenMeta() metaRows {
	return metaRows{
		metaLayout: {0, 0, 0, 1}, metaStoreID: []byte("a store's own id"), metaVisitorKey: []byte("its visitors key"),
		metaNode: {0, 0}, metaIDBound: {0, 0, 0, 0, 0, 0, 0, 1},
	}
}

// restart writes the rows and has s read all that it keeps in memory anew.
func (m metaRows) restart(t testing.TB, s *Store) error {
	t.Helper()
	b := s.db.NewBatch()
	defer b.Close()
	for name, value := range m {
		set(b, metaKey(name), value)
	}
	if err := s.db.Apply(b, pebble.NoSync); err != nil {
		t.Fatal(err)
	}
	return s.start()
}

// metaOf returns the rows as create and ReserveIDs write what s has in memory.
func metaOf(s *Store) metaRows {
	return metaRows{
		metaLayout: binary.BigEndian.AppendUint32(nil, layoutVersion), metaStoreID: s.identity.StoreID[:],
		metaVisitorKey: s.identity.VisitorKey[:], metaNode: binary.BigEndian.AppendUint16(nil, s.identity.Node),
		metaIDBound: binary.BigEndian.AppendUint64(nil, s.ids.bound),
	}
}

func TestAMetaRowThatIsNeverWrittenIsCorrupt(t *testing.T) {
	s := openTemp(t)
	for what, fields := range map[string]metaRows{
		"layout version 0":                {metaLayout: {0, 0, 0, 0}},
		"layout version cut off":          {metaLayout: {0, 0, 1}},
		"empty store id":                  {metaStoreID: {}},
		"visitor key of 17 bytes":         {metaVisitorKey: make([]byte, 17)},
		"node of one byte":                {metaNode: {0}},
		"id bound under the first id":     {metaIDBound: {0, 0, 0, 0, 0, 0, 0, 0}},
		"id bound in the next node's ids": {metaIDBound: {0, 1, 0, 0, 0, 0, 0, 1}},
	} {
		m := goldenMeta()
		maps.Copy(m, fields)
		if err := m.restart(t, s); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: got %v, want ErrCorrupt", what, err)
		}
	}
}

// FuzzMetaRows starts a store whose meta rows are any bytes: what it takes would be written so, and its ids are its node's.
func FuzzMetaRows(f *testing.F) {
	add := func(name byte, value ...byte) {
		m := goldenMeta()
		m[name] = value
		f.Add(m[metaLayout], m[metaStoreID], m[metaVisitorKey], m[metaNode], m[metaIDBound])
	}
	add(metaNode, 0, 0)
	add(metaNode, 0xff, 0xff)
	add(metaLayout, 0, 0, 0, 1)
	add(metaLayout, 0, 0, 0, 2)
	add(metaStoreID)
	add(metaVisitorKey, make([]byte, 17)...)
	add(metaIDBound, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
	add(metaIDBound, 0, 1, 0, 0, 0, 0, 0, 0)
	add(metaIDBound, 0, 1, 0, 0, 0, 0, 0, 1)
	add(metaIDBound, make([]byte, 8)...)
	s := openMem(f, vfs.NewMem())
	f.Cleanup(func() { closeStore(f, s) })
	f.Fuzz(func(t *testing.T, layout, storeID, visitorKey, node, bound []byte) {
		m := metaRows{
			metaLayout: layout, metaStoreID: storeID, metaVisitorKey: visitorKey, metaNode: node, metaIDBound: bound,
		}
		err := m.restart(t, s)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNewerFormat) {
				t.Fatalf("%x: got %v, want ErrCorrupt or ErrNewerFormat", m, err)
			}
			return
		}
		if again := metaOf(s); !maps.EqualFunc(again, m, bytes.Equal) {
			t.Fatalf("%x was taken, and is %x again", m, again)
		}
		id, err := s.ReserveIDs(1)
		if err != nil && !errors.Is(err, ErrNoIDs) {
			t.Fatal(err)
		}
		if err == nil && (uint16(id>>idCounterBits) != s.identity.Node || id<<(64-idCounterBits) == 0) {
			t.Fatalf("%x: got id %#x", m, id)
		}
	})
}
