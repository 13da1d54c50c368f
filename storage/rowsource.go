package storage

import (
	"errors"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"shunt/storage/direct"
	"shunt/storage/row"
)

// A start reads each link and its hits once. Pebble would put all of their blocks into the cache, and
// make garbage of them in a build without cgo, while the index grows to its full size. So a load reads
// the tables themselves (package direct), as long as they have all rows that it wants: since Open
// committed everything that logs had, that is until the first batch with such rows.

// rowsSince says of which rows that a load reads a batch was committed since Open. Tables may lack these.
type rowsSince struct{ links, tallies atomic.Bool }

// note notes the rows of a batch before it is committed. It reads the batch only until all is noted, so
// seldom after a start.
func (n *rowsSince) note(b *pebble.Batch) error {
	if n.links.Load() && n.tallies.Load() {
		return nil
	}
	for r := b.Reader(); ; {
		kind, key, value, ok, err := r.Next()
		if err != nil || !ok {
			return err
		}
		switch {
		case len(key) == 0: // no row
		case kind == pebble.InternalKeyKindRangeDelete && len(value) > 0:
			n.noteTables(key[0], value[0])
		default:
			n.noteTables(key[0], key[0])
		}
	}
}

// noteTables notes rows in the tables from first to last.
func (n *rowsSince) noteTables(first, last byte) {
	has := func(table byte) bool { return first <= table && table <= last }
	if has(row.TableHot) {
		n.links.Store(true)
	}
	if has(row.TableLinkLives) || has(row.TableLinkHours) {
		n.tallies.Store(true)
	}
}

// tablesWithout returns the tables of the store, to be closed, if no batch since Open had the rows that
// since is about: then tables have all of these. Otherwise, and if they cannot be read directly, it
// returns nil.
func (s *Store) tablesWithout(since *atomic.Bool) *direct.Tables {
	if since.Load() {
		return nil
	}
	t, err := direct.Open(s.db, s.fs, s.folder.path(dbName), newMerger())
	if err != nil {
		return nil
	}
	if since.Load() {
		_ = t.Close() // it was never read
		return nil
	}
	return t
}

func closeTables(t *direct.Tables) error {
	if t == nil {
		return nil
	}
	return t.Close()
}

// A rowSource is what a scan reads.
type rowSource struct {
	db     pebble.Reader
	tables *direct.Tables // read instead of db, which has the same rows; nil: db
}

// newRowSource returns the rows of db in ranges, by tables that have the same rows, if they can be read
// directly; nil: there are no such tables.
func newRowSource(db pebble.Reader, tables *direct.Tables, ranges []row.Range) rowSource {
	for _, keys := range ranges {
		if tables == nil || tables.Check(keys.Lower, keys.Upper) != nil {
			return rowSource{db, nil}
		}
	}
	return rowSource{db, tables}
}

// cursor reads ranges of rows for one goroutine.
type cursor interface {
	// Scan calls fn with each row from lower to before upper, and stops at the first error. Of a row that
	// was merged, fn may get the operands one by one. Key and value are valid only during the call.
	Scan(lower, upper []byte, fn func(key, value []byte) error) error
	Close() error
}

func (r rowSource) newCursor() (cursor, error) {
	if r.tables != nil {
		return r.tables.NewCursor(), nil
	}
	it, err := r.db.NewIter(&pebble.IterOptions{LowerBound: []byte{0}, UpperBound: []byte{0, 0}})
	if err != nil {
		return nil, err
	}
	return pebbleCursor{it}, nil
}

// pebbleCursor is a cursor that reads by Pebble's iterators.
type pebbleCursor struct{ it *pebble.Iterator }

func (c pebbleCursor) Close() error { return c.it.Close() }

func (c pebbleCursor) Scan(lower, upper []byte, fn func(key, value []byte) error) error {
	c.it.SetBounds(lower, upper)
	for valid := c.it.First(); valid; valid = c.it.Next() {
		value, err := c.it.ValueAndErr()
		if err == nil {
			err = fn(c.it.Key(), value)
		}
		if err != nil {
			return errors.Join(err, c.it.Error())
		}
	}
	return c.it.Error()
}
