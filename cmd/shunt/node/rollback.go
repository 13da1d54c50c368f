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
// finds out in three ways: etcd has the entry that it had applied; another node asks for records after one that its
// outbox never had; or that one is another than the other node has applied, as its hash shows.
//
// Its figures lack what was counted since the snapshot, and only a copy of another full node's data has that. A full
// node that finds out at its start takes one before it redirects (again.go). One that finds out while it runs, or that
// gets no copy, notes in its folder, durably, that its figures lack hits, and takes a copy at its next start. An edge
// has no figures. Neither have others to ask if there is no other full node: then its figures are what is left.
//
// The hits that it has counted since the rollback move to the new outbox: those of this process, or, at a start, those
// that were made after the time at which this node last said anything in etcd. Others have the older records, or later
// ones in their places. A full node that was down and lacks records of the time that is gone never gets them, although
// others have applied them, because a node gives only the hits that it has counted; a copy has them.
//
// Hits that were in the journal, and not in the outbox, when the snapshot was made, came to the other nodes soon after
// that. So they are not given again: those of the journal do not move to the new outbox. Lost are those that nobody had
// pulled when the time that is gone ended, usually those of a second. If the copy shows that no record of that time was
// pulled from this node, the outbox goes on, and the hits of the journal count.
//
// Hits of that journal may count twice in two cases: etcd did not answer at the first start after the rollback, and no
// node asked before the next one; or a start without a copy was killed between two commits, of these hits and of the
// new outbox. Then they look like hits since.

const saysOlder = "the data folder of this node is older than what other nodes know of it: it was rolled back, such as by a snapshot of its machine. It begins another outbox, and its links follow the log"

// checkRollBack does what the folder needs if this node had applied more of the log than its store has, or if its
// figures are known to lack hits. replaced reports whether another store is in its place when it is opened next.
func (n *Node) checkRollBack(ctx context.Context, f *Folder) (replaced bool, err error) {
	own, others, err := n.ownMember(ctx)
	older := own.Applied > n.Applied()
	if err != nil || !older && !n.store.LacksHits() {
		return false, err
	}
	if others && !n.Edge() {
		if err := n.store.NoteLacksHits(); err != nil {
			return false, err
		}
	}
	outbox, _ := n.store.OutboxID()
	since, err := n.countedSince(own.ClockMs)
	if err != nil {
		return false, err
	}
	if n.store.LacksHits() && !n.replaced {
		if n.replaced = n.takeWhole(ctx, f, since, max(own.Applied, n.Applied())); n.replaced {
			return true, nil
		}
	}
	if !older || ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err := since.replay(f, true); err != nil {
		return false, err
	}
	if n.pulls.began = since.first; since.none {
		n.pulls.began = n.store.Metrics().OutboxNext
	}
	if err := n.beginOutbox(outbox, "had_applied", own.Applied, "has_applied", n.Applied()); err != nil {
		n.log.Error("this node goes on with its outbox until another node asks for it", "error", err)
	}
	return false, nil
}

// ownMember returns what this node last said in etcd, and whether there are other full nodes. It is zero if etcd does
// not answer.
func (n *Node) ownMember(ctx context.Context) (own clusterlog.Member, others bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	members, err := n.clusterLog.Nodes(ctx)
	if errors.Is(err, clusterlog.ErrUnavailable) {
		return own, false, nil
	}
	for _, m := range members {
		switch {
		case m.Name == n.settings.Name:
			own = m
		case m.Role == clusterlog.Full:
			others = true
		}
	}
	return own, others, err
}

// countedSince is what the store has counted since its folder was rolled back.
type countedSince struct {
	first uint64 // position of its first record in the outbox
	none  bool   // there is no such record, so what the journal has is of the time before
}

// countedSince returns what was counted after a time, when this node last said anything in etcd.
func (n *Node) countedSince(saidMs int64) (*countedSince, error) {
	next := n.store.Metrics().OutboxNext
	if saidMs == 0 {
		return &countedSince{next, true}, nil
	}
	first, err := n.store.MadeAfter(saidMs)
	return &countedSince{first, first == next}, err
}

// replay puts the hits of the journal into the store, if they are to count: others have those of the time before,
// unless their outbox goes on.
func (c *countedSince) replay(f *Folder, goesOn bool) error {
	if c.none && !goesOn {
		return nil
	}
	return f.Replay()
}

// beginAnother is beginOutbox while this node runs, after another full node has found out.
func (n *Node) beginAnother(old [16]byte, details ...any) error {
	if !n.Edge() {
		if err := n.store.NoteLacksHits(); err != nil {
			return err
		}
	}
	return n.beginOutbox(old, details...)
}

// beginOutbox begins another outbox in the place of one with that id, unless that has happened. The records since
// pulls.began move to it.
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
	p.began = 1 // all in it are of the time since
	p.mu.Lock()
	clear(p.acked)
	for i := range p.copies {
		p.copies[i].Own = 0
	}
	p.mu.Unlock()
	says := saysOlder
	if n.store.LacksHits() {
		says += ". Its figures lack hits that the others have: its next start takes a copy of another node's data, which has them"
	}
	n.log.Error(says, append(details, "hits_that_waited", waiting)...)
	return n.saveCopies()
}
