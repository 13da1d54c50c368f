package links

import (
	"context"
	"fmt"

	"shunt/engine"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// LoadLinks implements engine.Store.
func (l *Links) LoadLinks(ctx context.Context, fn func([]engine.HotView) error) error {
	hot := []row.Range{row.TableRange(row.TableHot)}
	err := kv.Scan(ctx, l.db, hot, l.progress, func() kv.Reader { return newLinkBatch(fn) })
	if err != nil {
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

func (b *linkBatch) Read(key, value []byte) error {
	if len(b.links) == batchLinks || len(b.bytes)+len(key)+len(value) > cap(b.bytes) {
		if err := b.End(); err != nil {
			return err
		}
	}
	start := len(b.bytes)
	b.bytes = append(append(b.bytes, key...), value...)
	k, err := row.SplitHotKey(b.bytes[start : start+len(key)])
	if err != nil {
		return err
	}
	b.links = b.links[:len(b.links)+1]
	if err := row.ReadHot(&b.links[len(b.links)-1], k, b.bytes[start+len(key):]); err != nil {
		return fmt.Errorf("code %q: %w", k.Code, err)
	}
	return nil
}

func (b *linkBatch) End() error {
	if len(b.links) == 0 {
		return nil
	}
	err := b.fn(b.links)
	b.links, b.bytes = b.links[:0], b.bytes[:0]
	return err
}

// Scanned implements engine.Store.
func (l *Links) Scanned() (share float64, records uint64) { return l.progress.Progress() }
