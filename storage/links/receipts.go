package links

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// ReceiptChunk is the number of receipts that a chunk of a sweep reads: some 5 ms, and an fsync if
// any is deleted.
const ReceiptChunk = 4096

// ReadReceipt implements engine.Store.
func (l *Links) ReadReceipt(k engine.RequestKey) (engine.Receipt, error) {
	v, err := l.writer.Get(row.AppendReceiptKey(nil, &k))
	if err != nil {
		return engine.Receipt{}, fmt.Errorf("storage: %w", err)
	}
	if v == nil {
		return engine.Receipt{}, engine.ErrNotFound
	}
	r, err := row.DecodeReceipt(k, v)
	if err != nil {
		return engine.Receipt{}, fmt.Errorf("storage: %w", err)
	}
	return r, nil
}

// LoadReceipts implements engine.Store. It reads keys only.
func (l *Links) LoadReceipts(ctx context.Context, fn func(engine.RequestKey)) error {
	all := []row.Range{row.TableRange(row.TableReceipts)}
	err := kv.Scan(ctx, l.db, all, new(kv.Scanned), kv.EachRow(func(key, _ []byte) error {
		k, err := row.SplitReceiptKey(key)
		if err == nil {
			fn(k)
		}
		return err
	}))
	if err != nil {
		return fmt.Errorf("storage: loading receipts: %w", err)
	}
	return nil
}

// SweepReceipts implements engine.Store. Its position is kept in memory only, so a sweep that a
// restart interrupted begins again. A sweep reads all receipts: an index by time would be a second
// row for each.
func (l *Links) SweepReceipts(w engine.ReceiptSweep) (more bool, err error) {
	if more, err = l.sweepReceipts(&w); err != nil {
		return false, fmt.Errorf("storage: deleting old receipts: %w", err)
	}
	return more, nil
}

func (l *Links) sweepReceipts(w *engine.ReceiptSweep) (more bool, err error) {
	b := l.db.NewBatch()
	defer b.Close()
	gone, next, err := l.oldReceipts(b, w)
	if err != nil {
		return false, err
	}
	if len(gone) > 0 {
		if err := l.share(b, "committing a chunk"); err != nil {
			return false, err
		}
	}
	for _, k := range gone {
		w.Gone(k)
	}
	l.nextReceipt = next
	return next != nil, nil
}

// oldReceipts adds the deletions of a chunk to b. It returns the requests of the deleted receipts,
// and the key at which the next chunk begins, or nil if this is the last one.
func (l *Links) oldReceipts(b *pebble.Batch, w *engine.ReceiptSweep) (gone []engine.RequestKey, next []byte, err error) {
	keys := row.TableRange(row.TableReceipts)
	if l.nextReceipt != nil {
		keys.Lower = l.nextReceipt
	}
	it, err := l.db.NewIter(&pebble.IterOptions{LowerBound: keys.Lower, UpperBound: keys.Upper})
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	seen := 0
	for valid := it.First(); valid; valid = it.Next() {
		if seen == ReceiptChunk {
			return gone, bytes.Clone(it.Key()), nil
		}
		seen++
		k, err := row.SplitReceiptKey(it.Key())
		if err != nil {
			return nil, nil, err
		}
		old, err := l.isOldReceipt(it, w, k)
		if err != nil {
			return nil, nil, fmt.Errorf("row %x: %w", it.Key(), err)
		}
		if old {
			kv.Remove(b, it.Key())
			gone = append(gone, k)
		}
	}
	return gone, nil, it.Error()
}

// isOldReceipt reports whether the receipt at the iterator may be deleted. The iterator shows the
// store as it was before the key was locked, and the receipt may have been written again since, so
// isOldReceipt reads it again.
func (l *Links) isOldReceipt(it *pebble.Iterator, w *engine.ReceiptSweep, k engine.RequestKey) (bool, error) {
	v, err := it.ValueAndErr()
	if err != nil {
		return false, err
	}
	createdAtMs, err := row.DecodeReceiptTime(v)
	if err != nil || !w.Old(createdAtMs) || !w.Lock(k) {
		return false, err
	}
	if v, err = l.writer.Get(it.Key()); err != nil || v == nil {
		return false, err
	}
	createdAtMs, err = row.DecodeReceiptTime(v)
	return err == nil && w.Old(createdAtMs), err
}
