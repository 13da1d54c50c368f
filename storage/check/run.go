package check

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"shunt/storage/row"
)

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
