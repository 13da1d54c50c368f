package check

import (
	"bytes"
	"errors"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"golang.org/x/sync/errgroup"

	"shunt/engine"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// Rows checks the rows of a range in parts, on as many goroutines as there are cores, and counts them. If rows
// cannot be read, that is a fault, and the rest of the part is skipped.
func (c *Run) Rows(name string, keys row.Range, begin func() (Part, error)) (uint64, error) {
	workers := engine.Cores()
	parts, err := kv.CutRange(c.Reader, keys, workers*kv.PartsAWorker)
	if err != nil {
		c.Fault(name, "%s", kv.Unreadable(err))
		parts = []row.Range{keys}
	}
	var next atomic.Int64
	var rows atomic.Uint64
	g, ctx := errgroup.WithContext(c.ctx)
	for range min(workers, len(parts)) {
		g.Go(func() error {
			for i := next.Add(1) - 1; i < int64(len(parts)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				if err := c.checkPart(name, parts[i], begin, &rows); err != nil {
					return err
				}
			}
			return ctx.Err()
		})
	}
	err = g.Wait()
	return rows.Load(), err
}

func (c *Run) checkPart(name string, keys row.Range, begin func() (Part, error), rows *atomic.Uint64) (err error) {
	part, err := begin()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, part.End()) }()
	it, err := c.Reader.NewIter(&pebble.IterOptions{LowerBound: keys.Lower, UpperBound: keys.Upper})
	if err != nil {
		return err
	}
	var last []byte
	defer func() {
		if unread := it.Close(); unread != nil {
			c.Fault(Where(name, last), "rows after it: %s", kv.Unreadable(unread))
		}
	}()
	for valid := it.First(); valid; valid = it.Next() {
		if n := rows.Add(1); n%kv.RowsBetweenChecks == 0 {
			c.o.Progress(name, n)
			if c.ctx.Err() != nil {
				return c.ctx.Err()
			}
		}
		last = append(last[:0], it.Key()...)
		value, err := it.ValueAndErr()
		if err != nil {
			c.Fault(Where(name, last), "%s", kv.Unreadable(err))
			continue
		}
		if err := part.Row(it.Key(), value); err != nil {
			return err
		}
	}
	return nil
}

// Lookup returns a value, which is valid until done is called. missing reports that the row does
// not exist. For a value that cannot be read, Lookup reports a fault and returns nil.
func (c *Run) Lookup(name string, key []byte) (value []byte, missing bool, done func()) {
	value, closer, err := c.Reader.Get(key)
	if err == nil {
		return value, false, func() { _ = closer.Close() } // it repeats the error of Get, if any
	}
	if missing = errors.Is(err, pebble.ErrNotFound); !missing {
		c.Fault(Where(name, key), "%s", kv.Unreadable(err))
	}
	return nil, missing, func() {}
}

// A Join iterates over a table in step with another one that has the same order of ids.
type Join struct {
	it    *pebble.Iterator
	asked []byte
	valid bool
}

// NewJoin returns a join with a table.
func (c *Run) NewJoin(table byte) (*Join, error) {
	keys := row.TableRange(table)
	it, err := c.Reader.NewIter(&pebble.IterOptions{LowerBound: keys.Lower, UpperBound: keys.Upper})
	if err != nil {
		return nil, err
	}
	return &Join{it: it}, nil
}

// Find returns the value of key; ok is false if there is none. If keys ascend, each costs a step or
// a short seek.
func (j *Join) Find(key []byte) (value []byte, ok bool) {
	ahead := j.valid && bytes.Compare(j.it.Key(), key) >= 0 && bytes.Compare(j.asked, key) <= 0
	if !ahead {
		j.valid = j.it.SeekGE(key)
	}
	j.asked = append(j.asked[:0], key...)
	if !j.valid || !bytes.Equal(j.it.Key(), key) {
		return nil, false
	}
	value, err := j.it.ValueAndErr()
	return value, err == nil // an error is reported when its own table is checked
}

// End closes the iterator. An error of the iterator belongs to the rows of its table and is
// reported with them.
func (j *Join) End() {
	if j != nil {
		_ = j.it.Close()
	}
}
