package storage

import (
	"encoding/binary"
	"errors"
	"fmt"

	"shunt/engine"
	"shunt/storage/disk"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// checkedMeta holds the content of the meta rows that could be read.
type checkedMeta struct {
	layout, firstHour uint32
	node              uint16
	idBound           uint64
	positions         engine.Positions
	mark              row.Mark
	sweep             row.Sweep
	sequence          row.Sequence
	outbox            row.OutboxState
	joined            bool // the store is of a cluster
	edge              bool // and that of an edge
}

// knownMeta are the rows of the meta table: a new name needs a line here.
var knownMeta = []struct {
	name     byte
	what     string
	required bool
	read     func(m *checkedMeta, value []byte) error
}{
	{row.MetaLayout, "layout version", true, func(m *checkedMeta, v []byte) error { return readUint32(&m.layout, v) }},
	{row.MetaStoreID, "store id", true, func(_ *checkedMeta, v []byte) error { return wantLength(v, 16) }},
	{row.MetaVisitorKey, "visitor key", true, func(_ *checkedMeta, v []byte) error { return wantLength(v, 16) }},
	{row.MetaNode, "node", true, func(m *checkedMeta, v []byte) error {
		if err := wantLength(v, 2); err != nil {
			return err
		}
		m.node = binary.BigEndian.Uint16(v)
		return nil
	}},
	{row.MetaIDBound, "id bound", true, func(m *checkedMeta, v []byte) error {
		if err := wantLength(v, 8); err != nil {
			return err
		}
		m.idBound = binary.BigEndian.Uint64(v)
		return nil
	}},
	{row.MetaPositions, "positions", false, func(m *checkedMeta, v []byte) (err error) {
		m.positions, err = row.DecodePositions(v)
		return err
	}},
	{row.MetaMark, "roll-up mark", false, func(m *checkedMeta, v []byte) (err error) {
		m.mark, err = row.DecodeMark(v)
		return err
	}},
	{row.MetaClock, "clock", false, func(_ *checkedMeta, v []byte) error {
		_, err := row.DecodeClock(v)
		return err
	}},
	{row.MetaSweep, "sweep mark", false, func(m *checkedMeta, v []byte) (err error) {
		m.sweep, err = row.DecodeSweep(v)
		return err
	}},
	{row.MetaSequence, "sequence of writes", true, func(m *checkedMeta, v []byte) (err error) {
		m.sequence, err = row.DecodeSequence(v)
		return err
	}},
	{row.MetaBaseURL, "base URL", false, func(_ *checkedMeta, v []byte) error {
		_, err := row.DecodeBaseURL(v)
		return err
	}},
	{row.MetaLastBackup, "last backup", false, func(_ *checkedMeta, v []byte) error {
		_, err := decodeLastBackup(v)
		return err
	}},
	{row.MetaLog, "position in the log", false, func(m *checkedMeta, v []byte) error {
		_, err := row.DecodeLogPosition(v)
		m.joined = true
		return err
	}},
	{row.MetaOutbox, "outbox", false, func(m *checkedMeta, v []byte) (err error) {
		m.outbox, err = row.DecodeOutboxState(v)
		return err
	}},
	{row.MetaEdge, "edge", false, func(m *checkedMeta, v []byte) error {
		m.edge = true
		if err := wantLength(v, 1); err != nil {
			return err
		}
		if v[0] != 1 {
			return fmt.Errorf("it is %d, want 1", v[0])
		}
		return nil
	}},
	{row.MetaFirstHour, "first whole hour", false, func(m *checkedMeta, v []byte) error { return readUint32(&m.firstHour, v) }},
}

func wantLength(v []byte, n int) error { return kv.DecodeFixed(make([]byte, n), v, "it") }

func readUint32(dst *uint32, v []byte) error {
	if err := wantLength(v, 4); err != nil {
		return err
	}
	*dst = binary.BigEndian.Uint32(v)
	return nil
}

// readMeta reads the meta rows, and checks them against each other.
func (c *check) readMeta() {
	m := &c.meta
	m.sweep = row.Sweep{Stage: row.StageDone}
	for _, known := range knownMeta {
		value, err := kv.Read(c.r, row.MetaKey(known.name))
		switch {
		case err != nil:
		case value != nil:
			err = known.read(m, value)
		case known.required:
			err = errors.New("it is missing")
		}
		if err != nil {
			c.o.Faults.Add("meta, "+known.what, "%v", err)
		}
	}
	for what, why := range m.problems() {
		c.o.Faults.Add("meta, "+what, "%s", why)
	}
	c.checkFormatFile()
	c.checkWrites()
}

// checkWrites checks the sequence of writes, and compares it with the number of the last
// acknowledged write. That number is left out for a store in use, where it is ahead of a snapshot,
// and for a backup, which has none.
func (c *check) checkWrites() {
	acked := uint64(0)
	if !c.v.live && !c.v.backup {
		identity, err := c.v.Identity()
		if err != nil {
			return // reported as a missing row
		}
		number, known, err := c.v.folder.ReadAcked(identity.StoreID)
		if err != nil {
			c.o.Faults.AddFile(c.v.folder.Path(disk.AckedName), "%v", err)
		} else if known {
			acked = number
		}
	}
	if err := kv.CheckWhole(c.meta.sequence, acked); err != nil {
		c.o.Faults.Add("meta, sequence of writes", "%v", err)
	}
}

// problems returns the impossible values, by the name of their row.
func (m *checkedMeta) problems() map[string]string {
	found := map[string]string{}
	if m.layout == 0 || m.layout > row.LayoutVersion {
		found["layout version"] = fmt.Sprintf("%d; this program knows %d", m.layout, row.LayoutVersion)
	}
	if m.idBound == 0 || m.idBound > 1<<idCounterBits {
		found["id bound"] = fmt.Sprintf("%d is out of range", m.idBound)
	}
	if m.firstHour > m.mark.Hour {
		found["first whole hour"] = fmt.Sprintf("%d, although hours from %d on are not rolled up", m.firstHour, m.mark.Hour)
	}
	if m.joined != (m.outbox.Next != 0) {
		found["outbox"] = "only a store of a cluster has one, and each of them has"
	}
	if m.edge && !m.joined {
		found["edge"] = "the store is of no cluster"
	}
	if p := &m.positions; p.Epoch == 0 && (p.FlushSeq > 0 || len(p.Rings) > 0) {
		found["positions"] = "positions of no epoch"
	}
	return found
}

// checkFormatFile compares the two layout versions. The file may be ahead: a crash has interrupted
// convert.
func (c *check) checkFormatFile() {
	version, _, err := c.v.folder.ReadFormat(disk.FormatName)
	if err == nil && version < c.meta.layout {
		err = fmt.Errorf("version %d, and the database has %d", version, c.meta.layout)
	}
	if err != nil {
		c.o.Faults.AddFile(c.v.folder.Path(disk.FormatName), "%v", err)
	}
}

type metaPart struct{ c *check }

func beginMeta(c *check) (checkedPart, error) { return metaPart{c}, nil }

// row accepts the known names; readMeta has already checked the values.
func (p metaPart) row(key, _ []byte) error {
	for _, known := range knownMeta {
		if len(key) == 2 && key[1] == known.name {
			return nil
		}
	}
	p.c.o.Faults.Add(where("meta", key), "a row of no known name")
	return nil
}

func (metaPart) end() error { return nil }

// idProblem returns the reason why an id cannot have been given, or "" if it can.
func (m *checkedMeta) idProblem(id uint64) string {
	counter := id & (1<<idCounterBits - 1)
	switch node := uint16(id >> idCounterBits); {
	case node != m.node:
		return fmt.Sprintf("id %d is of node %d, and the store of node %d", id, node, m.node)
	case counter == 0 || counter >= m.idBound:
		return fmt.Sprintf("id %d was never given: the bound is %d", id, m.idBound)
	}
	return ""
}
