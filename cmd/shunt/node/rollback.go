package node

import (
	"context"
	"errors"
	"fmt"

	"shunt/storage/clusterlog"
)

// A data folder may be rolled back, such as by a snapshot of its machine that is restored. Its links are those of some
// time ago, and the log has what came since. But its outbox would put other records at positions that other nodes
// have applied, and these would skip them. So a node whose folder was rolled back begins another outbox. It
// finds out in two ways: etcd has the entry that it had applied, and another node asks for records after one that its
// outbox never had. Its figures lack what was counted since, and only a copy of another node has that.
//
// The hits that it has counted since its start move to the new outbox.
//
// The older records go: the node that found it out has applied them or later ones. A third full node that was down and
// lacks them never gets them, although others have applied them, because a node gives only the hits that it has
// counted. The log says how many hits waited.
//
// Not found out: a folder without entries since, whose node counts more hits than were lost before another node asks.
// Hits that were in the journal, and not in the outbox, when the snapshot was made may count twice.

const saysRolledBack = "the data folder of this node is older than what other nodes know of it: it was rolled back, such as by a snapshot of its machine. It begins another outbox, " +
	"and its links follow the log. Its figures lack hits that the others have: add it again ('shunt cluster forget', 'shunt cluster admit', 'shunt join') when its outbox is empty. Nodes that were down may lack hits that waited here: add them again, too"

// checkRollBack begins another outbox if this node had applied more of the log than its folder has. Nobody uses the
// store yet.
func (n *Node) checkRollBack(ctx context.Context) error {
	members, err := n.clusterLog.Nodes(ctx)
	if errors.Is(err, clusterlog.ErrUnavailable) {
		return nil
	}
	if err != nil {
		return err
	}
	outbox, _ := n.store.OutboxID()
	for _, m := range members {
		if m.Name == n.settings.Name && m.Outbox == outbox && m.Applied > n.Applied() {
			return n.beginOutbox(outbox, "had_applied", m.Applied, "has_applied", n.Applied())
		}
	}
	return nil
}

// beginOutbox begins another outbox in the place of one with that id, unless that has happened.
func (n *Node) beginOutbox(old [16]byte, details ...any) error {
	p := n.pulls
	p.dropping.Lock()
	defer p.dropping.Unlock()
	p.renewing.Lock()
	defer p.renewing.Unlock()
	if id, _ := n.store.OutboxID(); id != old {
		return nil
	}
	waiting, err := n.store.WaitingHits(0)
	if err == nil {
		err = n.store.RenewOutboxFrom(p.began)
	}
	if err != nil {
		return fmt.Errorf("the data folder was rolled back, and another outbox cannot be begun: %w", err)
	}
	p.mu.Lock()
	clear(p.acked)
	for i := range p.copies {
		p.copies[i].Own = 0
	}
	p.mu.Unlock()
	n.log.Error(saysRolledBack, append(details, "hits_that_waited", waiting)...)
	return n.saveCopies()
}
