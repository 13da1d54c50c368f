package check

import (
	"encoding/binary"
	"errors"
	"fmt"

	"shunt/storage/disk"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// meta returns the subject that every store has: its facts.
func (c *Run) meta() Subject {
	return Subject{
		Tables: []Table{{
			Table: row.TableMeta, Name: "meta", Edge: true, Rows: func(r *Report) *uint64 { return &r.Meta },
			Begin: c.Alone("meta", c.knownName),
		}},
		Meta: []MetaRow{
			{row.MetaLayout, "layout version", true, func(v []byte) error { return Uint32(&c.layout, v) }},
			{row.MetaStoreID, "store id", true, func(v []byte) error { return Length(v, 16) }},
			{row.MetaVisitorKey, "visitor key", true, func(v []byte) error { return Length(v, 16) }},
			{row.MetaNode, "node", true, func(v []byte) error {
				err := Length(v, 2)
				if err == nil && binary.BigEndian.Uint16(v) != 0 {
					err = errors.New("it is not 0")
				}
				return err
			}},
			{row.MetaIDBound, "id bound", true, func(v []byte) error {
				if err := Length(v, 8); err != nil {
					return err
				}
				c.IDBound = binary.BigEndian.Uint64(v)
				return nil
			}},
			{row.MetaSequence, "sequence of writes", true, func(v []byte) (err error) {
				c.sequence, err = row.DecodeSequence(v)
				return err
			}},
		},
		Begin: c.checkFacts,
	}
}

// Length returns an error unless v has n bytes.
func Length(v []byte, n int) error { return kv.DecodeFixed(make([]byte, n), v, "it") }

// Uint32 reads a number.
func Uint32(dst *uint32, v []byte) error {
	if err := Length(v, 4); err != nil {
		return err
	}
	*dst = binary.BigEndian.Uint32(v)
	return nil
}

// readMeta reads the meta rows of all subjects, and has these check them against each other.
func (c *Run) readMeta() {
	for _, s := range c.subjects {
		for i := range s.Meta {
			if err := c.readMetaRow(&s.Meta[i]); err != nil {
				c.Fault("meta, "+s.Meta[i].What, "%v", err)
			}
		}
	}
	for _, s := range c.subjects {
		if s.Begin != nil {
			s.Begin()
		}
	}
}

func (c *Run) readMetaRow(m *MetaRow) error {
	value, err := kv.Read(c.Reader, row.MetaKey(m.Name))
	switch {
	case err != nil:
		return err
	case value != nil:
		return m.Read(value)
	case m.Required:
		return errors.New("it is missing")
	}
	return nil
}

// knownName accepts the known names; readMeta has already checked the values.
func (c *Run) knownName(key, _ []byte) error {
	for _, s := range c.subjects {
		for i := range s.Meta {
			if len(key) == 2 && key[1] == s.Meta[i].Name {
				return nil
			}
		}
	}
	return errors.New("a row of no known name")
}

func (c *Run) checkFacts() {
	if c.layout != row.LayoutVersion {
		c.Fault("meta, layout version", "%d; this program knows %d", c.layout, row.LayoutVersion)
	}
	if c.IDBound == 0 || c.IDBound > 1<<row.IDCounterBits {
		c.Fault("meta, id bound", "%d is out of range", c.IDBound)
	}
	c.checkFormatFile()
	c.checkWrites()
}

func (c *Run) checkFormatFile() {
	if _, _, err := c.Folder.ReadFormat(disk.FormatName); err != nil {
		c.o.Faults.AddFile(c.Folder.Path(disk.FormatName), "%v", err)
	}
}

// checkWrites checks the sequence of writes, and compares it with the number of the last
// acknowledged write. That number is left out for a store in use, where it is ahead of a snapshot,
// and for a backup, which has none.
func (c *Run) checkWrites() {
	acked := uint64(0)
	if !c.Live && !c.Backup {
		var storeID [16]byte
		v, err := kv.Read(c.Reader, row.MetaKey(row.MetaStoreID))
		if err == nil {
			err = kv.DecodeFixed(storeID[:], v, "store id")
		}
		if err != nil {
			return // reported as a missing row
		}
		number, known, err := c.Folder.ReadAcked(storeID)
		if err != nil {
			c.o.Faults.AddFile(c.Folder.Path(disk.AckedName), "%v", err)
		} else if known {
			acked = number
		}
	}
	if err := kv.CheckWhole(c.sequence, acked); err != nil {
		c.Fault("meta, sequence of writes", "%v", err)
	}
}

// IDProblem returns the reason why an id cannot have been given to a link, or "" if it can.
func (f *Facts) IDProblem(id uint64) string {
	if id == 0 || id >= f.IDBound {
		return fmt.Sprintf("id %d was never given: the bound is %d", id, f.IDBound)
	}
	return ""
}
