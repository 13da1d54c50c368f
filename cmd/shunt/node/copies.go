package node

import (
	"maps"
	"slices"
	"time"

	"shunt/storage/replicate"
)

// After this node's data was copied for another node, and before that node first pulls, no other node knows what
// the new one lacks. So this node holds the records that the copy lacks: it keeps its own, and tells other nodes
// that it may still need theirs. It writes that to its folder, because it may be restarted in between.

// heldForCopy is how long records are kept for a node that copies this one's data, unless it acknowledges some
// before.
const heldForCopy = time.Hour

// readCopies reads what was held before a restart. If that cannot be known, everything is held.
func (n *Node) readCopies() {
	copies, err := n.store.Copies()
	if err != nil {
		n.log.Error("this node does not know which copies of its data other nodes start from; it keeps all hits for a while", "error", err, "time", heldForCopy)
		copies = []replicate.Copy{{BegunMs: time.Now().UnixMilli()}}
	}
	p := n.pulls
	p.mu.Lock()
	defer p.mu.Unlock()
	p.copies = copies
}

// saveCopies makes what is held durable.
func (n *Node) saveCopies() error {
	p := n.pulls
	p.saving.Lock()
	defer p.saving.Unlock()
	p.mu.Lock()
	copies := slices.Clone(p.heldLocked())
	p.mu.Unlock()
	return n.store.NoteCopies(copies)
}

// HoldForCopy keeps the records from now on, which a copy of the data that is about to be made will lack,
// and has the other nodes keep theirs. It ends when the node of that name asks for itself: from then on
// all nodes know that it may lack everything. A copy that it took before is of no use any more.
func (n *Node) HoldForCopy(name string) error {
	next := n.store.Metrics().OutboxNext
	p := n.pulls
	p.mu.Lock()
	p.copies = slices.DeleteFunc(p.copies, func(c replicate.Copy) bool { return c.Name == name && !c.Lost })
	p.copies = append(p.copies, replicate.Copy{Name: name, BegunMs: time.Now().UnixMilli(), Own: next - 1, Others: maps.Clone(p.asked)})
	p.mu.Unlock()
	return n.saveCopies()
}

// heldLocked returns the copies that are expected to become nodes.
func (p *pulls) heldLocked() []replicate.Copy {
	p.copies = slices.DeleteFunc(p.copies, func(c replicate.Copy) bool { return time.Since(time.UnixMilli(c.BegunMs)) > heldForCopy })
	return p.copies
}

// heldAfterLoss is how long hits are kept for a node after the servers of etcd have lost what they knew of it.
const heldAfterLoss = 24 * time.Hour

// holdAfterLoss keeps the records that other full nodes lack. The servers of etcd have lost which nodes there are, so
// one that is down is unknown until it is back.
func (n *Node) holdAfterLoss() {
	ends := time.Now().Add(heldAfterLoss - heldForCopy).UnixMilli()
	p := n.pulls
	p.mu.Lock()
	for _, name := range n.members.others(n.settings.Name) {
		p.copies = append(p.copies, replicate.Copy{Name: name, BegunMs: ends, Own: p.acked[name], Lost: true})
	}
	p.mu.Unlock()
	if err := n.saveCopies(); err != nil {
		n.log.Error("it cannot be noted which hits other nodes lack; a restart may lose them there", "error", err)
	}
}

// acknowledge notes through which position another node has applied this one's records. That ends the hold
// of its copy.
func (n *Node) acknowledge(name string, through uint64) {
	p := n.pulls
	p.mu.Lock()
	p.acked[name] = max(p.acked[name], through)
	before := len(p.copies)
	p.copies = slices.DeleteFunc(p.copies, func(c replicate.Copy) bool { return c.Name == name && !c.Lost })
	for i := range p.copies {
		if p.copies[i].Name == name { // while etcd may not know it
			p.copies[i].Own = max(p.copies[i].Own, through)
		}
	}
	ended := len(p.copies) < before
	p.mu.Unlock()
	if !ended {
		return
	}
	if err := n.saveCopies(); err != nil { // then a restart holds for longer
		n.log.Warn("cannot record that a new node has started", "node", name, "error", err)
	}
}

// kept notes that another node's outbox is applied here through a position, and returns the position through which
// no copy of this node's data needs its records. The copy asks for later ones itself.
func (n *Node) kept(outbox [16]byte, applied uint64) uint64 {
	p := n.pulls
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked[outbox] = applied
	for _, c := range p.heldLocked() {
		if !c.Lost { // each node holds its own for that
			applied = min(applied, c.Others[outbox])
		}
	}
	return applied
}
