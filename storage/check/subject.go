package check

import (
	"context"
	"fmt"
	"sync"

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

// Facts are what all subjects need to know of the store, as far as it could be read.
type Facts struct {
	IDBound uint64
	Edge    bool // the store is that of an edge, which has links only

	layout   uint32
	sequence row.Sequence
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

// knownOwners caches the owners that were found, so that the accounts are not read for each row.
type knownOwners struct {
	mu    sync.Mutex
	known map[uint32]bool // at most maxKnownOwners
}

// Fault notes a fault.
func (c *Run) Fault(where, format string, args ...any) { c.o.Faults.Add(where, format, args...) }

// Where names a row in a fault.
func Where(table string, key []byte) string {
	return fmt.Sprintf("%s, key %x", table, key)
}

// A Subject is how the rows of one room are checked. It holds the state of one check.
type Subject struct {
	Tables []Table
	Meta   []MetaRow
	Begin  func()       // after the meta rows were read, before all other rows; nil: nothing to do
	End    func() error // after all rows; nil: nothing to do. It compares sums
}

// A Table says how the rows of one table are checked. Rows of tables that no subject has are faults.
type Table struct {
	Table byte
	Name  string

	// Begin prepares the check of one part of the table's rows, which come in the order of keys.
	// Several parts are checked at once.
	Begin func() (Part, error)
	Rows  func(*Report) *uint64 // where they are counted; nil: nowhere
	Edge  bool                  // the store of an edge may have such rows
}

// A Part checks some rows of a table. An error ends the check: it means that rows cannot be read, which is
// not a fault of any row.
type Part interface {
	Row(key, value []byte) error
	End() error
}

// A MetaRow is a row of the meta table. Rows that no subject has are faults.
type MetaRow struct {
	Name     byte
	What     string
	Required bool
	Read     func(value []byte) error // an error is a fault
}

// Alone returns what begins parts of which each row is checked alone. fault returns what is wrong with a row.
func (c *Run) Alone(table string, fault func(key, value []byte) error) func() (Part, error) {
	return func() (Part, error) { return alone{c, table, fault}, nil }
}

type alone struct {
	c     *Run
	table string
	fault func(key, value []byte) error
}

func (p alone) Row(key, value []byte) error {
	if err := p.fault(key, value); err != nil {
		p.c.Fault(Where(p.table, key), "%v", err)
	}
	return nil
}

func (alone) End() error { return nil }

// Each returns what begins parts whose rows are passed to row, and whose end is nothing.
func Each(row func(key, value []byte) error) func() (Part, error) {
	return func() (Part, error) { return each(row), nil }
}

type each func(key, value []byte) error

func (e each) Row(key, value []byte) error { return e(key, value) }

func (each) End() error { return nil }
