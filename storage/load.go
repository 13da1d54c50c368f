package storage

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"golang.org/x/sync/errgroup"

	"shunt/engine"
	"shunt/storage/direct"
	"shunt/storage/row"
)

const (
	// partsAWorker is the average number of parts per goroutine of a scan. Parts are cut by key,
	// not by number of rows, so they differ in size; a goroutine that has finished one takes the
	// next.
	partsAWorker = 32

	// rowsBetweenChecks is the number of rows that a scan reads between two checks of its context:
	// about 1 ms.
	rowsBetweenChecks = 1024
)

// LoadLinks implements engine.Store.
func (s *Store) LoadLinks(ctx context.Context, fn func([]engine.HotView) error) error {
	hot := []row.Range{row.TableRange(row.TableHot)}
	tables := s.tablesWithout(&s.writer.since.links)
	err := scan(ctx, newRowSource(s.db, tables, hot), hot, &s.scanned, func() reader { return newLinkBatch(fn) })
	s.writer.since.links.Store(true) // nobody asks again
	if err = errors.Join(err, closeTables(tables)); err != nil {
		return fmt.Errorf("storage: loading links: %w", err)
	}
	return nil
}

const (
	// batchLinks is the number of links that LoadLinks passes on at once: enough for the reads of
	// memory that each needs to overlap, and few enough for the first two caches.
	batchLinks = 256

	// batchBytes is the room for a batch's keys and values: many times the largest row.
	batchBytes = 64 << 10
)

// linkBatch collects rows of links, which are valid for a moment only, in a copy.
type linkBatch struct {
	fn    func([]engine.HotView) error
	links []engine.HotView
	bytes []byte // what links alias; it never moves
}

func newLinkBatch(fn func([]engine.HotView) error) *linkBatch {
	return &linkBatch{fn: fn, links: make([]engine.HotView, 0, batchLinks), bytes: make([]byte, 0, batchBytes)}
}

func (b *linkBatch) read(key, value []byte) error {
	if len(b.links) == batchLinks || len(b.bytes)+len(key)+len(value) > cap(b.bytes) {
		if err := b.end(); err != nil {
			return err
		}
	}
	start := len(b.bytes)
	b.bytes = append(append(b.bytes, key[1:]...), value...)
	code, hot := b.bytes[start:start+len(key)-1], b.bytes[start+len(key)-1:]
	b.links = b.links[:len(b.links)+1]
	if err := row.ReadHot(&b.links[len(b.links)-1], code, hot); err != nil {
		return fmt.Errorf("code %q: %w", code, err)
	}
	return nil
}

func (b *linkBatch) end() error {
	if len(b.links) == 0 {
		return nil
	}
	err := b.fn(b.links)
	b.links, b.bytes = b.links[:0], b.bytes[:0]
	return err
}

// LoadHits implements engine.View.
func (v *view) LoadHits(ctx context.Context, fn func(id, hits uint64)) error {
	err := v.loadHits(ctx, fn)
	v.since.Store(true) // nobody asks again, and views of other figures are cheaper without tables
	if err != nil {
		return fmt.Errorf("storage: loading hits: %w", err)
	}
	return nil
}

func (v *view) loadHits(ctx context.Context, fn func(id, hits uint64)) error {
	ranges := []row.Range{row.TableRange(row.TableLinkLives)}
	for _, hour := range v.mark.Open(v.hours) {
		ranges = append(ranges, row.PrefixRange(row.AppendHourPrefix(nil, row.TableLinkHours, hour)))
	}
	return scan(ctx, newRowSource(v.snapshot, v.tables, ranges), ranges, v.scanned, eachRow(func(key, value []byte) error {
		id, err := row.LinkOf(key)
		if err != nil {
			return err
		}
		if key[0] == row.TableLinkHours && v.mark.Passed(row.StageLinks, row.HourOf(key), id) {
			return nil
		}
		hits, err := row.DecodeTallyHits(value)
		if err != nil {
			return fmt.Errorf("row %x: %w", key, err)
		}
		if hits > 0 {
			fn(id, hits)
		}
		return nil
	}))
}

// A reader reads rows for one goroutine of a scan. Key and value are valid only during the call.
type reader interface {
	read(key, value []byte) error
	end() error // after the last row
}

// eachRow returns what makes readers that pass each row on to fn, which any number of goroutines
// call at once.
func eachRow(fn rowFunc) func() reader { return func() reader { return fn } }

type rowFunc func(key, value []byte) error

func (f rowFunc) read(key, value []byte) error { return f(key, value) }

func (f rowFunc) end() error { return nil }

// scanned is how far the latest scan is: what its finished parts take of all, and their rows.
type scanned struct {
	mu struct {
		sync.Mutex
		bytes, doneBytes uint64
		rows             uint64
	}
}

func (s *scanned) begin(parts []part) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.bytes, s.mu.doneBytes, s.mu.rows = 0, 0, 0
	for i := range parts {
		s.mu.bytes += parts[i].bytes
	}
}

func (s *scanned) end(p *part, rows uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.doneBytes += p.bytes
	s.mu.rows += rows
}

// Scanned implements engine.Store.
func (s *Store) Scanned() (share float64, records uint64) {
	s.scanned.mu.Lock()
	defer s.scanned.mu.Unlock()
	return float64(s.scanned.mu.doneBytes) / float64(max(s.scanned.mu.bytes, 1)), s.scanned.mu.rows
}

// A part of a scan is read by one goroutine.
type part struct {
	row.Range
	bytes uint64 // more or less, in tables; at least 1
}

// weigh returns the parts that these ranges are. Parts of a snapshot count as equal: Pebble only says what
// a database takes.
func weigh(r pebble.Reader, ranges []row.Range) ([]part, error) {
	parts := make([]part, len(ranges))
	for i, keys := range ranges {
		parts[i] = part{keys, 1}
		if db, ok := r.(*pebble.DB); ok {
			n, err := db.EstimateDiskUsage(keys.Lower, keys.Upper)
			if err != nil {
				return nil, err
			}
			parts[i].bytes += n
		}
	}
	return parts, nil
}

// scan reads every row in ranges, on as many goroutines as there are cores, each with a reader of
// its own, and notes its progress. The first error stops the scan and is returned.
func scan(ctx context.Context, from rowSource, ranges []row.Range, progress *scanned, newReader func() reader) error {
	workers := engine.Cores()
	var cuts []row.Range
	for _, keys := range ranges {
		cut, err := cutRange(from.db, keys, workers*partsAWorker)
		if err != nil {
			return err
		}
		cuts = append(cuts, cut...)
	}
	parts, err := weigh(from.db, cuts)
	if err != nil {
		return err
	}
	// The largest parts first, so that all goroutines end at about the same time.
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(b.bytes, a.bytes) })
	progress.begin(parts)
	g, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range min(workers, len(parts)) {
		g.Go(func() error { return scanParts(ctx, from, parts, &next, progress, newReader()) })
	}
	return g.Wait()
}

// scanParts takes parts, by the counter next, and reads them until none are left.
func scanParts(
	ctx context.Context, from rowSource, parts []part, next *atomic.Int64, progress *scanned, to reader,
) (err error) {
	c, err := from.newCursor()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	for i := next.Add(1) - 1; i < int64(len(parts)); i = next.Add(1) - 1 {
		rows, err := scanPart(ctx, c, &parts[i], to)
		if err != nil {
			return from.explain(err, &parts[i])
		}
		progress.end(&parts[i], rows)
	}
	return to.end()
}

func scanPart(ctx context.Context, c cursor, p *part, to reader) (rows uint64, err error) {
	err = c.Scan(p.Lower, p.Upper, func(key, value []byte) error {
		if rows++; rows%rowsBetweenChecks == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		return to.read(key, value)
	})
	return rows, cmp.Or(err, ctx.Err())
}

// cutRange cuts a range into at most n parts. They have about the same number of rows if keys are
// spread evenly over the eight bytes after the common prefix of the range's first and last key. Ids
// are spread evenly, since they are consecutive numbers. Codes are, within a factor of two, since
// they use 64 of 77 successive byte values.
func cutRange(r pebble.Reader, keys row.Range, n int) ([]row.Range, error) {
	first, last, err := ends(r, keys)
	if err != nil || first == nil {
		return nil, err
	}
	common := 0
	for common < min(len(first), len(last)) && first[common] == last[common] {
		common++
	}
	low, high := eightBytes(first[common:]), eightBytes(last[common:])
	step := (high - low) / uint64(n)
	parts := make([]row.Range, 0, n)
	for i := 1; i < n && step > 0; i++ {
		cut := binary.BigEndian.AppendUint64(append([]byte{}, first[:common]...), low+uint64(i)*step)
		parts = append(parts, row.Range{Lower: keys.Lower, Upper: cut})
		keys.Lower = cut
	}
	return append(parts, keys), nil
}

// ends returns the first and the last key of a range, or nil if it is empty.
func ends(r pebble.Reader, keys row.Range) (first, last []byte, err error) {
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: keys.Lower, UpperBound: keys.Upper})
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	if it.First() {
		first = append([]byte{}, it.Key()...)
	}
	if err := it.Error(); err != nil { // Last would clear it, and the range would count as empty
		return nil, nil, err
	}
	if it.Last() {
		last = append([]byte{}, it.Key()...)
	}
	return first, last, it.Error()
}

// eightBytes returns the first eight bytes of b as a number, as if zeros followed it.
func eightBytes(b []byte) uint64 {
	var padded [8]byte
	copy(padded[:], b)
	return binary.BigEndian.Uint64(padded[:])
}

// A start reads each link and its hits once. Pebble would put all of their blocks into the cache, and
// make garbage of them in a build without cgo, while the index grows to its full size. So a load reads
// the tables themselves (package direct), as long as they have all rows that it wants: since Open
// committed everything that logs had, that is until the first batch with such rows.

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

// explain returns Pebble's error about the damage that has ended a scan of tables. Pebble says which file
// it is, to the log, too.
func (r rowSource) explain(err error, p *part) error {
	if r.tables == nil || !pebble.IsCorruptionError(err) {
		return err
	}
	c, failed := rowSource{db: r.db}.newCursor()
	if failed != nil {
		return err
	}
	failed = c.Scan(p.Lower, p.Upper, func([]byte, []byte) error { return nil })
	_ = c.Close() // what it says was said by Scan
	return cmp.Or(failed, err)
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
