package link

import (
	"context"
	"time"

	"shunt/engine/caps"
	"shunt/engine/internal/errs"
)

// openCaps opens the caps whose earlier hits are known by now, while this node leads. led says whether it led the
// last time; then only what nodes hold that have gone since needs to be written off.
func (ls *Links) openCaps(ctx context.Context, nodes CapNodes, led bool) (leads bool) {
	if !ls.Ready() || ls.gate.enter() != nil {
		return false
	}
	defer ls.gate.leave()
	if !ls.opensDue(led) {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, CommitTimeout)
	defer cancel()
	all, err := nodes.All(ctx)
	if err != nil {
		return led
	}
	now := make(map[caps.NodeID]bool, len(all))
	for _, node := range all {
		now[node] = true
	}
	if ls.anyLeft(now, led) {
		if err := ls.writeOff(ctx, nodes, now); err != nil {
			return false // again
		}
	}
	for id, x := range ls.endedByAll(nodes, all) {
		if err := ls.open(ctx, id, x); err != nil {
			return true // at the next tick
		}
	}
	return true
}

// leftInterval is the time between two looks for nodes that the cluster does not have any more.
const leftInterval = 5 * time.Second

// opensDue reports whether openCaps has anything to do.
func (ls *Links) opensDue(led bool) bool {
	c := &ls.caps
	c.mu.Lock()
	defer c.mu.Unlock()
	if !led {
		clear(c.mu.ended) // of an earlier leadership; nodes repeat what is true
	}
	if led && len(c.mu.ended) == 0 && time.Since(c.mu.looked) < leftInterval {
		return false
	}
	c.mu.looked = time.Now()
	return true
}

// anyLeft reports whether a node may have blocks that is not among those of the cluster.
func (ls *Links) anyLeft(now map[caps.NodeID]bool, led bool) bool {
	c := &ls.caps
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.mu.nodes
	c.mu.nodes = now
	if !led {
		return true
	}
	for node := range before {
		if !now[node] {
			return true
		}
	}
	return false
}

// writeOff writes off the blocks of nodes that the cluster does not have any more: neither among known, nor when it is
// asked again. A node is in the cluster before it is given a block, so it looks at the blocks in between.
func (ls *Links) writeOff(ctx context.Context, nodes CapNodes, known map[caps.NodeID]bool) error {
	type held struct {
		id   uint64
		code string
		node caps.NodeID
	}
	var found []held
	ls.caps.table.Each(func(id uint64, c caps.Cap) {
		for i := range c.Blocks {
			if node := c.Blocks[i].Node; !known[node] {
				found = append(found, held{id, c.Code, node})
			}
		}
	})
	if found == nil {
		return nil
	}
	all, err := nodes.All(ctx)
	if err != nil {
		return err
	}
	now := make(map[caps.NodeID]bool, len(all))
	for _, node := range all {
		now[node] = true
	}
	for _, h := range found {
		if now[h.node] {
			continue
		}
		err := ls.changeCapNow(ctx, h.id, h.code, func(c caps.Cap, known bool) (caps.Cap, bool) {
			return c.WrittenOff(h.node), known
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// changeCapNow is changeCap that waits for the outcome.
func (ls *Links) changeCapNow(ctx context.Context, id uint64, code string, change func(c caps.Cap, known bool) (caps.Cap, bool)) error {
	done := make(chan error, 1)
	wrote, err := ls.changeCap(ctx, id, code, done, change)
	if err != nil || !wrote {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return errs.ErrOutcomeUnknown
	}
}

// endedByAll returns the links, with the generations of their caps, whose earlier hits are in the counters
// here: every node has ended the generation before, and this one shows the hits up to there.
func (ls *Links) endedByAll(nodes CapNodes, all []caps.NodeID) map[uint64]uint64 {
	c := &ls.caps
	shown := make(map[caps.NodeID]uint64, len(all))
	c.mu.Lock()
	defer c.mu.Unlock()
	found := make(map[uint64]uint64)
	for id, x := range c.mu.ended {
		if !c.closed(id, x.generation) { // it has no cap any more, or another one
			delete(c.mu.ended, id)
			continue
		}
		if ls.shows(nodes, all, x.at, shown) {
			found[id] = x.generation
			delete(c.mu.ended, id)
		}
	}
	return found
}

func (ls *Links) shows(nodes CapNodes, all []caps.NodeID, ended, shown map[caps.NodeID]uint64) bool {
	for _, node := range all {
		position, ok := ended[node]
		if !ok {
			return false
		}
		if node == ls.options.CapNode {
			continue // it has counted them itself
		}
		at, known := shown[node]
		if !known {
			var err error
			if at, err = nodes.Shown(node); err != nil {
				return false
			}
			shown[node] = at
		}
		if at < position {
			return false
		}
	}
	return true
}

// open opens the cap of a link. If that fails, nodes say again that they have ended the generation before.
func (ls *Links) open(ctx context.Context, id, generation uint64) error {
	c, ok := ls.caps.table.Cap(id)
	if !ok || c.Open || c.Generation != generation {
		return nil
	}
	return ls.changeCapNow(ctx, id, c.Code, func(c caps.Cap, known bool) (caps.Cap, bool) {
		if !known || c.Open || c.Generation != generation {
			return c, false
		}
		return c.Opened(ls.index.Hits(id), ls.liveSessions()), true
	})
}
