package direct

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// ErrUnusable: these tables are to be read by Pebble.
var ErrUnusable = errors.New("the tables cannot be read directly")

// Tables are the tables of a database at one moment. Any number of goroutines may use them.
type Tables struct {
	fs      vfs.FS
	dir     string
	options sstable.ReaderOptions
	tables  []table
	pin     *pebble.Iterator // keeps the files of tables
}

type table struct {
	name              string // of its file
	smallest, largest []byte // keys, both inclusive
	sequence          sstable.SyntheticSeqNum
}

// Open returns the tables that db, which lies in the folder dir of fs, has now. They must be closed before
// db. merger is that of db: tables name it. Open returns ErrUnusable while logs of an earlier process are not in tables yet, if tables change
// all the time, or if a table has only a part of its file.
func Open(db *pebble.DB, fs vfs.FS, dir string, merger *pebble.Merger) (*Tables, error) {
	if db.Metrics().MemTable.Count > 1 { // besides the one that is written to
		return nil, ErrUnusable
	}
	const attempts = 8
	for range attempts {
		t, err := pinned(db)
		if err != nil || t != nil {
			if t != nil {
				t.fs, t.dir, t.options = fs, dir, readerOptions(merger)
			}
			return t, err
		}
	}
	return nil, ErrUnusable
}

func readerOptions(merger *pebble.Merger) sstable.ReaderOptions {
	o := pebble.Options{Merger: merger}
	o.EnsureDefaults()
	return o.MakeReaderOptions()
}

// pinned returns the tables of db, or nil if they have changed meanwhile. A table that db has before and
// after the iterator is made is one that the iterator keeps.
func pinned(db *pebble.DB) (*Tables, error) {
	before, err := list(db)
	if err != nil {
		return nil, err
	}
	pin, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte{0}, UpperBound: []byte{0, 0}})
	if err != nil {
		return nil, err
	}
	after, err := list(db)
	if err == nil && slices.EqualFunc(before, after, func(a, b table) bool { return a.name == b.name }) {
		return &Tables{tables: after, pin: pin}, nil
	}
	return nil, errors.Join(err, pin.Close())
}

func list(db *pebble.DB) (tables []table, err error) {
	levels, err := db.SSTables()
	if err != nil {
		return nil, err
	}
	for _, level := range levels {
		for i := range level {
			f := &level[i]
			if f.Virtual || f.BackingType != pebble.BackingTypeLocal {
				return nil, fmt.Errorf("%w: table %s has a part of its file", ErrUnusable, f.FileNum)
			}
			t := table{name: f.BackingSSTNum.String() + ".sst", smallest: f.Smallest.UserKey, largest: f.Largest.UserKey}
			if f.SmallestSeqNum == f.LargestSeqNum { // as Pebble reads it: the table may have been made elsewhere
				t.sequence = sstable.SyntheticSeqNum(f.SmallestSeqNum)
			}
			tables = append(tables, t)
		}
	}
	return tables, nil
}

// Close lets the files go. All cursors must be closed.
func (t *Tables) Close() error { return t.pin.Close() }

// meets reports whether t may have keys from lower to before upper.
func (t *table) meets(lower, upper []byte) bool {
	return bytes.Compare(t.smallest, upper) < 0 && bytes.Compare(lower, t.largest) <= 0
}

// Check returns ErrUnusable if rows from lower to before upper were deleted by range, or have values
// in other files.
func (t *Tables) Check(lower, upper []byte) error {
	for i := range t.tables {
		if !t.tables[i].meets(lower, upper) {
			continue
		}
		r, err := t.open(&t.tables[i])
		if err != nil {
			return err
		}
		if err := errors.Join(checkTable(r, lower, upper), r.Close()); err != nil {
			return err
		}
	}
	return nil
}

func checkTable(r *sstable.Reader, lower, upper []byte) error {
	if r.Attributes.Has(sstable.AttributeBlobValues) {
		return fmt.Errorf("%w: values are in other files", ErrUnusable)
	}
	it, err := r.NewRawRangeDelIter(context.Background(), sstable.NoFragmentTransforms, sstable.NoReadEnv)
	if err != nil || it == nil {
		return err
	}
	defer it.Close()
	for span, err := it.First(); ; span, err = it.Next() {
		switch {
		case err != nil:
			return err
		case span == nil:
			return nil
		case bytes.Compare(span.Start, upper) < 0 && bytes.Compare(lower, span.End) < 0:
			return fmt.Errorf("%w: rows were deleted by range", ErrUnusable)
		}
	}
}

// open opens a table for one goroutine, which will read it in order.
func (t *Tables) open(of *table) (*sstable.Reader, error) {
	f, err := t.fs.Open(t.fs.PathJoin(t.dir, of.name), vfs.SequentialReadsOption)
	if err != nil {
		return nil, err
	}
	readable, err := sstable.NewSimpleReadable(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	r, err := sstable.NewReader(context.Background(), readable, t.options)
	if err != nil {
		return nil, errors.Join(err, readable.Close())
	}
	return r, nil
}
