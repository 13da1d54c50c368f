package link

import (
	"context"
	"fmt"

	"shunt/engine/index"
)

// Learned is what another node of a cluster has written and this node's store has applied: what the
// engine keeps in memory of it. What it has is valid only during the call of Learn.
type Learned struct {
	Links []index.HotView // new hot records, tombstones too, in the order of their writes
	Hits  []ImportedHits  // that imported links among them brought along
	Caps  []CapChange     // in the order of their writes
	Freed []Freed         // hot records that were deleted, because nobody is to know the link any more

	Receipts     []RequestKey // that the store did not have before
	ReceiptsGone []RequestKey // that the store has no more
}

// ImportedHits is a number of hits of a link.
type ImportedHits struct{ ID, Hits uint64 }

// Freed is the key of a link that was purged.
type Freed struct {
	index.Key
	ID uint64
}

// Learn makes what another node wrote visible, in the order of its writes. Only one goroutine at a
// time may call it, only while Ready and while this node does not lead.
func (ls *Links) Learn(l *Learned) error {
	for _, h := range l.Hits { // before their links: lists show the hits from then on
		if err := ls.index.RaiseHits(h.ID, h.Hits); err != nil { // Pulled may have been faster
			return fmt.Errorf("engine: hits of link %d: %w", h.ID, err)
		}
	}
	ls.caps.put(l.Caps) // before their links
	for i := range l.Links {
		if err := ls.learnLink(&l.Links[i]); err != nil {
			return fmt.Errorf("engine: %w", err)
		}
	}
	for _, f := range l.Freed {
		ls.index.Forget(f.Key, f.ID)
	}
	for _, k := range l.Receipts {
		ls.receipts.loaded(k)
	}
	for _, k := range l.ReceiptsGone {
		ls.receipts.remove(k.Sender)
	}
	return nil
}

func (ls *Links) learnLink(h *index.HotView) error {
	if err := ls.checkStored(h); err != nil {
		return err
	}
	old, known := ls.Resolve(h.KeyView)
	capChanges := known && old.ID() == h.ID && old.MaxHits() != h.MaxHits
	if known {
		old.Release()
	}
	if err := ls.publish(h); err != nil {
		return err
	}
	if capChanges {
		ls.index.CapChanged(h.ID)
		ls.hits.LookAgain() // see countAtOnce
	}
	return nil
}

// Lead admits writes from now on, in an engine whose Options.Cluster is set. It first waits for the
// writes of an earlier leadership to end, until ctx is done, and then calls begin, from which on the
// store takes writes. Before that, everything that other nodes wrote must have been learned (Learn).
func (ls *Links) Lead(ctx context.Context, begin func()) error {
	if empty := ls.gate.emptied(); empty != nil {
		select {
		case <-empty:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	ls.ids.drop() // later leaders have given higher ones, and lists show the newest link first
	begin()
	ls.gate.set(true)
	return nil
}

// StopLeading refuses writes from now on. Those under way may yet succeed, if the store takes them.
func (ls *Links) StopLeading() { ls.gate.set(false) }
