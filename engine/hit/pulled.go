package hit

import (
	"fmt"

	"shunt/engine/internal/errs"
)

// PulledHits is a number of hits of a link that another node of the cluster has counted: those of its targets are among
// them.
type PulledHits struct{ ID, Hits uint64 }

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
func (hs *Hits) Pulled(apply func() ([]PulledHits, error)) error {
	if !hs.links.Ready() {
		return errs.ErrLoading
	}
	hits, err := apply()
	if err != nil {
		return err
	}
	hs.flusher.pulled.Store(true)
	for _, h := range hits {
		if err := hs.index.RaiseHits(h.ID, h.Hits); err != nil {
			return fmt.Errorf("engine: hits of link %d: %w", h.ID, err)
		}
	}
	return nil
}
