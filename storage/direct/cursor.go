package direct

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/block"
)

// maxOpen is the number of tables that a Cursor leaves open when it has read them: the next scan meets
// some of them.
const maxOpen = 8

// Cursor scans tables, with buffers of its own. Only one goroutine may use it.
type Cursor struct {
	tables  *Tables
	buffers block.BufferPool
	readers map[*table]*sstable.Reader // open tables
	waiting []*table                   // of the scan under way, by their smallest keys: it has not reached them
	sources []source                   // those that it has reached, with a row left
	last    []byte                     // the last key that a source had
	hidden  bool                       // older values of last do not count
}

// NewCursor returns a cursor, to be closed before the tables.
func (t *Tables) NewCursor() *Cursor {
	c := &Cursor{tables: t, readers: make(map[*table]*sstable.Reader)}
	const buffersAtFirst = 8 // three tables with index and block, and what is being read
	c.buffers.Init(buffersAtFirst)
	return c
}

// Close closes the tables of the cursor and drops its buffers.
func (c *Cursor) Close() error {
	err := c.closeReaders()
	c.buffers.Release()
	return err
}

func (c *Cursor) closeReaders() (err error) {
	for of, r := range c.readers {
		err = errors.Join(err, r.Close())
		delete(c.readers, of)
	}
	return err
}

// Scan calls fn with each value from lower to before upper that counts, in the order of keys; see the
// package comment. Key and value are valid only during the call. The range must have passed
// Tables.Check. The first error ends the scan and is returned.
func (c *Cursor) Scan(lower, upper []byte, fn func(key, value []byte) error) (err error) {
	defer func() {
		if ended := c.end(); err == nil { // the iterators repeat an error when they are closed
			err = ended
		}
	}()
	c.begin(lower, upper)
	for {
		if err := c.reach(lower, upper); err != nil || len(c.sources) == 0 {
			return err
		}
		i, bound := least(c.sources)
		if len(c.waiting) > 0 && (bound == nil || bytes.Compare(c.waiting[0].smallest, bound) < 0) {
			bound = c.waiting[0].smallest
		}
		if err := c.read(&c.sources[i], bound, fn); err != nil {
			return err
		}
		if c.sources[i].key == nil {
			if err := c.leave(i); err != nil {
				return err
			}
		}
	}
}

// begin notes the tables that have rows in the range.
func (c *Cursor) begin(lower, upper []byte) {
	c.last, c.waiting = c.last[:0], c.waiting[:0] // no key is empty
	for i := range c.tables.tables {
		if of := &c.tables.tables[i]; of.meets(lower, upper) {
			c.waiting = append(c.waiting, of)
		}
	}
	slices.SortFunc(c.waiting, func(a, b *table) int { return bytes.Compare(a.smallest, b.smallest) })
}

// reach makes a source of each table that may have the next row. So as many tables are open as there
// are with the same keys: about one for each level of the database.
func (c *Cursor) reach(lower, upper []byte) error {
	for len(c.waiting) > 0 {
		of := c.waiting[0]
		if len(c.sources) > 0 {
			first, _ := least(c.sources)
			if bytes.Compare(c.sources[first].key, of.smallest) < 0 {
				return nil
			}
		}
		c.waiting = c.waiting[1:]
		rows, err := c.open(of, lower, upper)
		if err != nil {
			return fmt.Errorf("%s: %w", of.name, err)
		}
		c.sources = append(c.sources, source{table: of, rows: rows})
		last := len(c.sources) - 1
		if err := c.sources[last].seek(lower); err != nil {
			return err
		}
		if c.sources[last].key == nil {
			if err := c.leave(last); err != nil {
				return err
			}
		}
	}
	return nil
}

// leave closes a source that has no row left, and its table if there are many.
func (c *Cursor) leave(i int) error {
	of, err := c.sources[i].table, c.sources[i].rows.Close()
	if c.sources = append(c.sources[:i], c.sources[i+1:]...); len(c.readers) > maxOpen {
		err = errors.Join(err, c.readers[of].Close())
		delete(c.readers, of)
	}
	return err
}

// open returns an iterator over a range of a table.
func (c *Cursor) open(of *table, lower, upper []byte) (sstable.Iterator, error) {
	r := c.readers[of]
	if r == nil {
		var err error
		if r, err = c.tables.open(of); err != nil {
			return nil, err
		}
		c.readers[of] = r
	}
	return r.NewPointIter(context.Background(), sstable.IterOptions{
		Lower: lower, Upper: upper,
		Transforms:           sstable.IterTransforms{SyntheticSeqNum: of.sequence},
		FilterBlockSizeLimit: sstable.NeverUseFilterBlock,
		Env:                  sstable.ReadEnv{Block: block.ReadEnv{BufferPool: &c.buffers}},
		ReaderProvider:       sstable.MakeTrivialReaderProvider(r),
	})
}

// end closes what the scan has left.
func (c *Cursor) end() (err error) {
	for i := range c.sources {
		err = errors.Join(err, c.sources[i].rows.Close())
	}
	if c.sources = c.sources[:0]; len(c.readers) > maxOpen {
		err = errors.Join(err, c.closeReaders())
	}
	return err
}

// read passes on the rows of the source with the least key, as long as its keys are below bound, which no
// other source is below. Nil: there is no other source.
func (c *Cursor) read(s *source, bound []byte, fn func(key, value []byte) error) error {
	for {
		if !bytes.Equal(s.key, c.last) {
			c.last, c.hidden = append(c.last[:0], s.key...), false
		}
		if !c.hidden {
			if err := c.pass(s, fn); err != nil {
				return err
			}
		}
		if err := s.next(); err != nil {
			return err
		}
		if s.key == nil || bound != nil && bytes.Compare(s.key, bound) >= 0 {
			return nil
		}
	}
}

// pass passes the row of s on, unless it is a deletion.
func (c *Cursor) pass(s *source, fn func(key, value []byte) error) error {
	switch s.kind {
	case pebble.InternalKeyKindSet, pebble.InternalKeyKindSetWithDelete:
		c.hidden = true
		return fn(s.key, s.value)
	case pebble.InternalKeyKindMerge:
		return fn(s.key, s.value)
	case pebble.InternalKeyKindDelete, pebble.InternalKeyKindDeleteSized, pebble.InternalKeyKindSingleDelete:
		c.hidden = true
		return nil
	default:
		return fmt.Errorf("%s: row %x is of the unexpected kind %d", s.table.name, s.key, s.kind)
	}
}
