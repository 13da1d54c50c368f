package storage

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
)

const sequenceVersion = 1

// sequence says which batches a store contains. Batches that change it are numbered 1, 2, 3 … in the order in which they
// stand in the write-ahead log, and each adds itself to one row by a merge. A store that has lost nothing contains as many as
// the number of its last one; a crash takes only the last ones, so that stays true. If some in the middle are gone (a damaged
// manifest that leaves tables out, say), there are fewer.
type sequence struct {
	count uint64 // batches contained
	last  uint64 // the highest number among them
}

func (q sequence) add(r sequence) sequence { return sequence{q.count + r.count, max(q.last, r.last)} }

// appendSequence appends a sequence, which is the row and each operand of it.
//
//	┌───────────┬───────┬──────┐
//	│ version 1 │ count │ last │
//	└───────────┴───────┴──────┘
func appendSequence(dst []byte, q sequence) []byte {
	dst = binary.AppendUvarint(append(dst, sequenceVersion), q.count)
	return binary.AppendUvarint(dst, q.last)
}

func decodeSequence(v []byte) (sequence, error) {
	r := readValue("sequence of writes", v, sequenceVersion)
	q := sequence{count: r.uvarint(), last: r.uvarint()}
	return q, r.end()
}

func readSequence(r pebble.Reader) (sequence, error) {
	v, err := read(r, metaKey(metaSequence))
	if err != nil || v == nil {
		return sequence{}, err
	}
	return decodeSequence(v)
}

// sequenceMerge adds operands of the sequence's row.
type sequenceMerge struct{ sum sequence }

// MergeNewer implements pebble.ValueMerger.
func (m *sequenceMerge) MergeNewer(operand []byte) error {
	q, err := decodeSequence(operand)
	m.sum = m.sum.add(q)
	return err
}

// MergeOlder implements pebble.ValueMerger. The order does not matter.
func (m *sequenceMerge) MergeOlder(operand []byte) error { return m.MergeNewer(operand) }

// Finish implements pebble.ValueMerger.
func (m *sequenceMerge) Finish(bool) ([]byte, io.Closer, error) {
	return appendSequence(nil, m.sum), nil, nil
}

// writer commits batches. Every batch that changes the store goes through it.
type writer struct {
	db    *pebble.DB
	fatal func(format string, args ...any) // ends the process
	acked ackedFile

	mu struct {
		sync.Mutex
		last uint64 // number of the last batch handed to Pebble
		row  []byte
	}

	durable struct {
		sync.Mutex
		last   uint64        // number of the last batch that is durable; so are all before it
		raised chan struct{} // closed when last rises; nil unless somebody waits for that
	}
}

func (w *writer) init(db *pebble.DB, log *slog.Logger) {
	w.db, w.fatal = db, pebbleLogger{log}.Fatalf
}

// commit makes b durable. An error means that it has not happened and will not: Pebble cannot go on after a failed write of
// its log, and then the process ends before anybody is answered.
func (w *writer) commit(b *pebble.Batch) error {
	number, err := w.apply(b)
	if err != nil {
		return err
	}
	if err := b.SyncWait(); err != nil {
		w.fatal("writing the log: %v", err)
		return err
	}
	w.acked.raise(number)
	w.raise(number)
	return nil
}

// lastDurable returns the number of the last batch that is durable.
func (w *writer) lastDurable() uint64 {
	w.durable.Lock()
	defer w.durable.Unlock()
	return w.durable.last
}

// raise notes that the batch of that number is durable.
func (w *writer) raise(number uint64) {
	d := &w.durable
	d.Lock()
	defer d.Unlock()
	if d.last >= number {
		return
	}
	if d.last = number; d.raised != nil {
		close(d.raised)
		d.raised = nil
	}
}

// awaitDurable waits until the batch of that number is durable, or until ctx is done: engine.ErrOverloaded.
func (w *writer) awaitDurable(ctx context.Context, number uint64) error {
	for {
		raised := w.below(number)
		if raised == nil {
			return nil
		}
		select {
		case <-raised:
		case <-ctx.Done():
			return engine.ErrOverloaded
		}
	}
}

// below returns nil if the batch of that number is durable, or else what is closed when another one is.
func (w *writer) below(number uint64) <-chan struct{} {
	d := &w.durable
	d.Lock()
	defer d.Unlock()
	if d.last >= number {
		return nil
	}
	if d.raised == nil {
		d.raised = make(chan struct{})
	}
	return d.raised
}

// apply numbers b and puts it into the log. The lock makes the order of the numbers that of the log.
func (w *writer) apply(b *pebble.Batch) (number uint64, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	number = w.mu.last + 1
	w.mu.row = appendSequence(w.mu.row[:0], sequence{count: 1, last: number})
	merge(b, metaKey(metaSequence), w.mu.row)
	if err := w.db.ApplyNoSyncWait(b, pebble.Sync); err != nil {
		return 0, err
	}
	w.mu.last = number
	return number, nil
}

// checkWhole tells whether a store that contains q has lost writes of which those up to acked were acknowledged.
func checkWhole(q sequence, acked uint64) error {
	switch {
	case q.count < q.last:
		return fmt.Errorf("%w: it contains %d of its first %d", ErrLostWrites, q.count, q.last)
	case q.last < acked:
		return fmt.Errorf("%w: it contains %d, %d were acknowledged", ErrLostWrites, q.last, acked)
	case q.count > q.last:
		return fmt.Errorf("%w: it contains %d writes of %d", ErrCorrupt, q.count, q.last)
	}
	return nil
}
