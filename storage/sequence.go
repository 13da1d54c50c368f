package storage

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/row"
)

func readSequence(r pebble.Reader) (row.Sequence, error) {
	v, err := read(r, row.MetaKey(row.MetaSequence))
	if err != nil || v == nil {
		return row.Sequence{}, err
	}
	return row.DecodeSequence(v)
}

// writer numbers and commits batches. Every batch that changes the store goes through it.
type writer struct {
	db    *pebble.DB
	fatal func(format string, args ...any) // ends the process
	acked ackedFile
	waits commitWaits

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

func (w *writer) init(db *pebble.DB, log *slog.Logger) {
	w.db, w.fatal = db, pebbleLogger{log}.Fatalf
}

// commit makes b durable. An error means that b is not committed and never will be: after a failed
// write of its log Pebble cannot continue, and the process ends before any caller is answered.
func (w *writer) commit(b *pebble.Batch) error {
	w.waits.begin(time.Now())
	defer func() { w.waits.end(time.Now()) }()
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

// raise records that the batch with this number is durable.
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

// awaitDurable waits until the batch with this number is durable. If ctx is done first, it returns
// engine.ErrOverloaded.
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

// below returns nil if the batch with this number is durable, or else a channel that is closed when
// another batch becomes durable.
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

// apply numbers b and writes it to the log. The lock guarantees that the numbers have the order of
// the log.
func (w *writer) apply(b *pebble.Batch) (number uint64, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	number = w.mu.last + 1
	w.mu.row = row.AppendSequence(w.mu.row[:0], row.Sequence{Count: 1, Last: number})
	merge(b, row.MetaKey(row.MetaSequence), w.mu.row)
	if err := w.db.ApplyNoSyncWait(b, pebble.Sync); err != nil {
		return 0, err
	}
	w.mu.last = number
	return number, nil
}

// checkWhole returns an error if a store that contains q has lost writes. Those up to acked were
// acknowledged.
func checkWhole(q row.Sequence, acked uint64) error {
	switch {
	case q.Count < q.Last:
		return fmt.Errorf("%w: it contains %d of its first %d", ErrLostWrites, q.Count, q.Last)
	case q.Last < acked:
		return fmt.Errorf("%w: it contains %d, %d were acknowledged", ErrLostWrites, q.Last, acked)
	case q.Count > q.Last:
		return fmt.Errorf("%w: it contains %d writes of %d", ErrCorrupt, q.Count, q.Last)
	}
	return nil
}

// commitWaits says for how long commits have waited without an answer. The log is written in order, so
// while any commit is answered, the others come nearer to their turn.
type commitWaits struct {
	mu struct {
		sync.Mutex
		under int       // commits that wait
		since time.Time // when the first of them began, or the last answer after that
	}
}

func (c *commitWaits) begin(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.under++; c.mu.under == 1 {
		c.mu.since = now
	}
}

func (c *commitWaits) end(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.under--
	c.mu.since = now
}

// wait returns the time for which no commit was answered, 0 if none waits.
func (c *commitWaits) wait(now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.under == 0 {
		return 0
	}
	return max(0, now.Sub(c.mu.since)) // an answer may have come since now
}
