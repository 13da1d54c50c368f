package node

import (
	"context"
	"errors"
	"time"

	"shunt/storage/clusterlog"
)

// A node that the log has been trimmed past can never follow it again. But it redirects, and what it counts
// is nowhere else. So it stays announced, and other full nodes go on pulling its outbox, until it has been
// begun again. The same holds for one that is too old for the log's entries. What such a node has applied
// is a part of the log's history, so its records mean the same links elsewhere. A node with another history
// than the log's offers nothing: a link of its own may have the id of another one there.

// mayOffer reports whether other nodes may pull the outbox of a node that cannot follow the log because of err.
func mayOffer(err error) bool {
	return errors.Is(err, clusterlog.ErrBelowFloor) || errors.Is(err, clusterlog.ErrNewerVersion)
}

const (
	drainPoll = time.Second // between two looks whether the outbox has been pulled

	// drainQuiet is how long it must have been so, and nothing must have been counted. It is longer than
	// hits take to get into the outbox.
	drainQuiet   = 5 * time.Second
	drainFlushes = 3
)

// offer goes on offering the outbox of a node that can no longer follow, until ctx is done or the node may
// not have its name any more. It says when everything has been pulled, if the node must begin again.
func (n *Node) offer(ctx context.Context, why error, announced <-chan error) error {
	again := errors.Is(why, clusterlog.ErrBelowFloor)
	n.log.Error("this node can no longer follow its cluster. It redirects with the links that it has, and other full nodes go on pulling its hits", "error", why)
	if again {
		n.log.Error("the hits of this node are nowhere else until others have pulled them: let it run until it says that they have all")
	}
	d := drain{quiet: max(drainQuiet, drainFlushes*n.engine.Metrics().FlushInterval)}
	tick := time.NewTicker(drainPoll)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			if m := n.store.Metrics(); d.look(now, m.OutboxFirst, m.OutboxNext) && again {
				n.log.Info("other full nodes have pulled all hits of this node, and it counts none: it can be stopped, and begun again with 'shunt join'")
			}
		case err := <-announced:
			if ctx.Err() == nil {
				n.log.Error("other nodes no longer pull the hits of this node", "error", err)
			}
			<-ctx.Done()
			return nil
		}
	}
}

// drain watches an outbox until it is empty and stays so.
type drain struct {
	quiet time.Duration
	next  uint64    // position of the record that comes next, at the last look
	since time.Time // the outbox is empty, with that position; zero: it is not
	said  bool
}

// look reports whether everything has been pulled, once.
func (d *drain) look(now time.Time, first, next uint64) bool {
	if first < next || next != d.next || d.since.IsZero() {
		d.next, d.since, d.said = next, now, false
		if first < next {
			d.since = time.Time{}
		}
		return false
	}
	if d.said || now.Sub(d.since) < d.quiet {
		return false
	}
	d.said = true
	return true
}
