package kv

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"golang.org/x/sync/errgroup"

	"shunt/engine"
	"shunt/storage/row"
)

// A Reader reads rows for one goroutine of a scan. Key and value are valid only during the call.
type Reader interface {
	Read(key, value []byte) error
	End() error // after the last row
}

// EachRow returns what makes readers that pass each row on to fn, which any number of goroutines
// call at once.
func EachRow(fn rowFunc) func() Reader { return func() Reader { return fn } }

type rowFunc func(key, value []byte) error

func (f rowFunc) Read(key, value []byte) error { return f(key, value) }

func (f rowFunc) End() error { return nil }

// Scanned is how far the latest scan is: what its finished parts take of all, and their rows.
type Scanned struct {
	mu struct {
		sync.Mutex
		bytes, doneBytes uint64
		rows             uint64
	}
}

func (s *Scanned) begin(parts []part) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.bytes, s.mu.doneBytes, s.mu.rows = 0, 0, 0
	for i := range parts {
		s.mu.bytes += parts[i].bytes
	}
}

func (s *Scanned) end(p *part, rows uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.doneBytes += p.bytes
	s.mu.rows += rows
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

// Scan reads every row in ranges, on as many goroutines as there are cores, each with a reader of
// its own, and notes its progress. The first error stops the scan and is returned.
func Scan(ctx context.Context, from pebble.Reader, ranges []row.Range, progress *Scanned, newReader func() Reader) error {
	workers := engine.Cores()
	var cuts []row.Range
	for _, keys := range ranges {
		cut, err := CutRange(from, keys, workers*PartsAWorker)
		if err != nil {
			return err
		}
		cuts = append(cuts, cut...)
	}
	parts, err := weigh(from, cuts)
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
	ctx context.Context, from pebble.Reader, parts []part, next *atomic.Int64, progress *Scanned, to Reader,
) (err error) {
	it, err := from.NewIter(&pebble.IterOptions{LowerBound: []byte{0}, UpperBound: []byte{0, 0}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for i := next.Add(1) - 1; i < int64(len(parts)); i = next.Add(1) - 1 {
		rows, err := scanPart(ctx, it, &parts[i], to)
		if err != nil {
			return err
		}
		progress.end(&parts[i], rows)
	}
	return to.End()
}

func scanPart(ctx context.Context, it *pebble.Iterator, p *part, to Reader) (rows uint64, err error) {
	it.SetBounds(p.Lower, p.Upper)
	for valid := it.First(); valid; valid = it.Next() {
		if rows++; rows%RowsBetweenChecks == 0 && ctx.Err() != nil {
			break
		}
		value, err := it.ValueAndErr()
		if err == nil {
			err = to.Read(it.Key(), value)
		}
		if err != nil {
			return rows, errors.Join(err, it.Error())
		}
	}
	return rows, cmp.Or(it.Error(), ctx.Err())
}

// CutRange cuts a range into at most n parts. They have about the same number of rows if keys are
// spread evenly over the eight bytes after the common prefix of the range's first and last key. Ids
// are spread evenly, since they are consecutive numbers. Codes are, within a factor of two, since
// they use 64 of 77 successive byte values.
func CutRange(r pebble.Reader, keys row.Range, n int) ([]row.Range, error) {
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

const (
	// PartsAWorker is the average number of parts per goroutine of a scan. Parts are cut by key,
	// not by number of rows, so they differ in size; a goroutine that has finished one takes the
	// next.
	PartsAWorker = 32

	// RowsBetweenChecks is the number of rows that a scan reads between two checks of its context:
	// about 1 ms.
	RowsBetweenChecks = 1024
)

// Progress returns how much of the latest scan is done, by bytes, and how many rows it has read.
func (s *Scanned) Progress() (share float64, rows uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return float64(s.mu.doneBytes) / float64(max(s.mu.bytes, 1)), s.mu.rows
}
