package kv

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/disk"
	"shunt/storage/row"
)

// ReadSequence returns how many batches the store has, and the highest number.
func ReadSequence(r pebble.Reader) (row.Sequence, error) {
	v, err := Read(r, row.MetaKey(row.MetaSequence))
	if err != nil || v == nil {
		return row.Sequence{}, err
	}
	return row.DecodeSequence(v)
}

// Writer numbers and commits batches. Every batch that changes the store goes through it.
type Writer struct {
	db    *pebble.DB
	Fatal func(format string, args ...any) // ends the process
	Acked disk.AckedFile
	Waits commitWaits

	mu struct {
		sync.Mutex
		last uint64 // number of the last batch handed to Pebble
		row  []byte
	}

	durable struct {
		sync.Mutex
		last   uint64        // number of the last durable batch; all before it are durable too
		raised chan struct{} // closed when last rises; nil unless a goroutine waits for that
	}
}

// Init gives the writer its open database. fatal ends the process.
func (w *Writer) Init(db *pebble.DB, fatal func(format string, args ...any)) {
	w.db, w.Fatal = db, fatal
}

// Begin continues the numbers after last: everything up to it is durable.
func (w *Writer) Begin(last uint64) {
	w.mu.last = last
	w.Raise(last)
}

// Get returns a copy of a value, or nil if there is none.
func (w *Writer) Get(key []byte) ([]byte, error) { return Read(w.db, key) }

// Known reports whether there is a row.
func (w *Writer) Known(key []byte) (bool, error) {
	v, err := w.Get(key)
	return v != nil, err
}

// Sync commits b durably.
func (w *Writer) Sync(b *pebble.Batch, doing string) error {
	if err := w.Commit(b); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// Commit makes b durable. An error means that b is not committed and never will be: after a failed
// write of its log Pebble cannot continue, and the process ends before any caller is answered.
func (w *Writer) Commit(b *pebble.Batch) error {
	w.Waits.begin(time.Now())
	defer func() { w.Waits.end(time.Now()) }()
	number, err := w.Apply(b)
	if err != nil {
		return err
	}
	if err := b.SyncWait(); err != nil {
		w.Fatal("writing the log: %v", err)
		return err
	}
	w.Acked.Raise(number)
	w.Raise(number)
	return nil
}

// LastDurable returns the number of the last batch that is durable.
func (w *Writer) LastDurable() uint64 {
	w.durable.Lock()
	defer w.durable.Unlock()
	return w.durable.last
}

// Raise records that the batch with this number is durable.
func (w *Writer) Raise(number uint64) {
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

// AwaitDurable waits until the batch with this number is durable. If ctx is done first, it returns
// engine.ErrOverloaded.
func (w *Writer) AwaitDurable(ctx context.Context, number uint64) error {
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

// below returns nil if the batch with this number is durable, or else a channel that is closed when
// another batch becomes durable.
func (w *Writer) below(number uint64) <-chan struct{} {
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

// Apply numbers b and writes it to the log. The lock guarantees that the numbers have the order of
// the log.
func (w *Writer) Apply(b *pebble.Batch) (number uint64, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	number = w.mu.last + 1
	w.mu.row = row.AppendSequence(w.mu.row[:0], row.Sequence{Count: 1, Last: number})
	Merge(b, row.MetaKey(row.MetaSequence), w.mu.row)
	if err := w.db.ApplyNoSyncWait(b, pebble.Sync); err != nil {
		return 0, err
	}
	w.mu.last = number
	return number, nil
}

// CheckWhole returns an error if a store that contains q has lost writes. Those up to acked were
// acknowledged.
func CheckWhole(q row.Sequence, acked uint64) error {
	switch {
	case q.Count < q.Last:
		return fmt.Errorf("%w: it contains %d of its first %d", ErrLostWrites, q.Count, q.Last)
	case q.Last < acked:
		return fmt.Errorf("%w: it contains %d, %d were acknowledged", ErrLostWrites, q.Last, acked)
	case q.Count > q.Last:
		return fmt.Errorf("%w: it contains %d writes of %d", row.ErrCorrupt, q.Count, q.Last)
	}
	return nil
}
