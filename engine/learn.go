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
	Caps  []CapChange     // in the order of their writes
	Freed []Freed         // hot records that were deleted, because nobody is to know the link any more

	Receipts     []RequestKey // that the store did not have before
	ReceiptsGone []RequestKey // that the store has no more
}

// PulledHits is a number of hits of a link that another node of the cluster has counted.
type PulledHits struct{ ID, Hits uint64 }

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
		if err := e.raiseHits(h.ID, h.Hits); err != nil { // Pulled may have been faster
			return err
		}
	}
	e.caps.put(l.Caps) // before their links
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

// raiseHits raises the counter of a link that may not be known yet.
func (e *Engine) raiseHits(id, hits uint64) error {
	if err := e.index.RaiseHits(id, hits); err != nil {
		return fmt.Errorf("engine: hits of link %d: %w", id, err)
	}
	return nil
}

// Pulled has apply commit hits that another node of the cluster has counted, and shows those that it
// returns: when Pulled returns, everything that shows figures has them, except that a ranking which is
// kept (see rankings) gets them within a minute, as it gets the hits of this node. apply must have made
// the hits durable when it returns, in a batch that no other call commits. Pulled is an error of apply's,
// or ErrLoading before Ready, and then apply is not called: Load counts what the store had before the
// first flush, so hits that came in between would be missing in counters, or be there twice. Any
// goroutine may call it.
//
// A counter may get hits before its link: storage knows that the link exists, and Learn is about to put
// it.
func (e *Engine) Pulled(apply func() ([]PulledHits, error)) error {
	if !e.Ready() {
		return ErrLoading
	}
	hits, err := apply()
	if err != nil {
		return err
	}
	e.flusher.pulled.Store(true)
	for _, h := range hits {
		if err := e.raiseHits(h.ID, h.Hits); err != nil {
			return err
		}
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
		e.journal.LookAgain(capsGivenFolds) // see countAtOnce
	}
	return nil
}
