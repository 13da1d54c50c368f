package engine

import (
	"fmt"

	"shunt/engine/index"
)

// Learned is what another node of a cluster has written and this node's store has applied: what the
// engine keeps in memory of it. What it has is valid only during the call of Learn.
type Learned struct {
	Links []index.HotView // new hot records, tombstones too, in the order of their writes
	Hits  []ImportedHits  // that imported links among them brought along
	Freed []Freed         // hot records that were deleted, because nobody is to know the link any more

	Receipts     []RequestKey // that the store did not have before
	ReceiptsGone []RequestKey // that the store has no more
}

// ImportedHits is a number of hits of a link.
type ImportedHits struct{ ID, Hits uint64 }

// Freed is the code of a link that was purged.
type Freed struct {
	Code string
	ID   uint64
}

// Learn makes what another node wrote visible, in the order of its writes. Only one goroutine at a
// time may call it, only while Ready and while this node does not lead.
func (e *Engine) Learn(l *Learned) error {
	for _, h := range l.Hits { // before their links: lists show the hits from then on
		if err := e.index.SetHits(h.ID, h.Hits); err != nil {
			return fmt.Errorf("engine: hits of link %d: %w", h.ID, err)
		}
	}
	for i := range l.Links {
		if err := e.learnLink(&l.Links[i]); err != nil {
			return fmt.Errorf("engine: %w", err)
		}
	}
	for _, f := range l.Freed {
		e.index.Forget(f.Code, f.ID)
	}
	for _, k := range l.Receipts {
		e.receipts.loaded(k)
	}
	for _, k := range l.ReceiptsGone {
		e.receipts.remove(k.Sender)
	}
	return nil
}

func (e *Engine) learnLink(h *index.HotView) error {
	if err := e.checkStored(h); err != nil {
		return err
	}
	old, known := e.Resolve(h.Code)
	capChanges := known && old.ID() == h.ID && old.MaxHits() != h.MaxHits
	if known {
		old.Release()
	}
	if err := e.publish(h); err != nil {
		return err
	}
	if capChanges {
		e.index.CapChanged(h.ID)
	}
	return nil
}
