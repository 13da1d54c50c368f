package check

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/storage/disk"
	"shunt/storage/row"
)

// A Source is what is checked.
type Source struct {
	DB     *pebble.DB
	Reader pebble.Reader // DB itself, or a snapshot of it
	FS     vfs.FS
	Folder *disk.Folder
	Tables sstable.ReaderOptions // with which the files of tables are read
	Backup bool
	Live   bool // a snapshot of a store in use
}

// Run is one check.
//
// It holds no table of links in memory. Every row is read once, in the order of keys. Rows that
// belong together are joined where two tables have the same order (days, lives and cold records,
// all by id), and looked up otherwise. Counting shows that nothing is missing or left over: each
// cold record of a live link finds its hot record and its index rows, so if there are exactly as
// many hot records and index rows as were found, there are no others. Only if the numbers differ
// does a second pass look up each of them, to name it.
type Run struct {
	Source
	Facts
	Report Report

	ctx      context.Context
	o        *Options
	subjects []Subject
	tables   []Table // of all subjects, ascending
	owners   knownOwners
}

// All reads every record and verifies it, alone and against the others. It adds faults to
// o.Faults; an error means that the check could not finish. The only memory that grows with the
// store is the sums of hours and days.
func All(ctx context.Context, s Source, o Options, subjects []func(*Run) Subject) (Report, error) {
	if o.KnowsOwner == nil {
		o.KnowsOwner = func(uint32) (bool, error) { return true, nil }
	}
	if o.Progress == nil {
		o.Progress = func(string, uint64) {}
	}
	c := &Run{Source: s, ctx: ctx, o: &o}
	c.subjects = append(c.subjects, c.meta())
	for _, subject := range subjects {
		c.subjects = append(c.subjects, subject(c))
	}
	for i := range c.subjects {
		c.tables = append(c.tables, c.subjects[i].Tables...)
	}
	slices.SortFunc(c.tables, func(a, b Table) int { return cmp.Compare(a.Table, b.Table) })
	err := c.run()
	return c.Report, err
}

// Fault notes a fault.
func (c *Run) Fault(where, format string, args ...any) { c.o.Faults.Add(where, format, args...) }

func (c *Run) run() error {
	if err := c.checkFiles(); err != nil {
		return err
	}
	if _, total := c.o.Faults.Found(); total > 0 && c.Live {
		c.Report.Skipped = "records were not read: a running server ends when it meets a damaged block; stop it and check again"
		return nil
	}
	c.readMeta()
	for i := range c.tables {
		if err := c.checkTable(&c.tables[i]); err != nil {
			return err
		}
	}
	if err := c.checkOthers(); err != nil {
		return err
	}
	for _, s := range c.subjects {
		if s.End == nil {
			continue
		}
		if err := s.End(); err != nil {
			return err
		}
	}
	return c.checkLevels()
}

func (c *Run) checkTable(t *Table) error {
	rows, err := c.Rows(t.Name, row.TableRange(t.Table), t.Begin)
	if err != nil {
		return err
	}
	if t.Rows != nil {
		*t.Rows(&c.Report) = rows
	}
	if rows > 0 && c.Edge && !t.Edge {
		c.Fault(t.Name, "an edge has no such rows, and this one has %d", rows)
	}
	return nil
}

// checkOthers finds rows of unknown tables.
func (c *Run) checkOthers() error {
	unknown := Each(func(key, _ []byte) error {
		c.Fault(fmt.Sprintf("key %x", key), "a row of no known table")
		return nil
	})
	var lower []byte // nil: Pebble does not accept an empty key as a bound
	for _, t := range c.tables {
		if _, err := c.Rows("other tables", row.Range{Lower: lower, Upper: []byte{t.Table}}, unknown); err != nil {
			return err
		}
		lower = []byte{t.Table + 1}
	}
	_, err := c.Rows("other tables", row.Range{Lower: lower, Upper: bytes.Repeat([]byte{0xff}, 128)}, unknown)
	return err
}
