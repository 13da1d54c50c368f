package node

import (
	"context"
	"errors"
	"time"

	"shunt/storage/clusterlog"
)

// A node that the log has been trimmed past can never follow it again. But it redirects, and no other node has
// the hits that it counts. So it stays announced, and other full nodes pull its outbox, until it is added again.
// The same holds for a node that is too old for the log's entries. Such a node has applied a part of the log's
// history, so its records mean the same links elsewhere. A node whose history differs from the log's offers
// nothing: its link may have the id of another link elsewhere.

// mayOffer reports whether other nodes may pull the outbox of a node that cannot follow the log because of err.
func mayOffer(err error) bool {
	return errors.Is(err, clusterlog.ErrBelowFloor) || errors.Is(err, clusterlog.ErrNewerVersion)
}

const (
	drainPoll = time.Second // how often to check whether the outbox has been pulled

	// drainQuiet is how long the outbox must stay empty, with nothing counted. It is longer than hits take to get
	// into the outbox.
	drainQuiet   = 5 * time.Second
	drainFlushes = 3
)

// offer keeps offering the outbox of a node that can no longer follow, until ctx is done or the node loses its
// name. If the node must be added again, it logs when everything has been pulled.
func (n *Node) offer(ctx context.Context, why error, announced <-chan error) error {
	again := errors.Is(why, clusterlog.ErrBelowFloor)
	n.log.Error("this node can no longer follow its cluster. It redirects with the links that it has, and other full nodes still pull its hits", "error", why)
	if again {
		n.log.Error("no other node has all hits of this node yet: let it run until it reports that they were pulled")
	}
	d := drain{quiet: max(drainQuiet, drainFlushes*n.engine.Metrics().FlushInterval)}
	tick := time.NewTicker(drainPoll)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			if m := n.store.Metrics(); d.look(now, m.OutboxFirst, m.OutboxNext) && again {
				n.log.Info("other full nodes have pulled all hits of this node, and it counts none: stop it, and add it again with 'shunt join'")
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

// look reports, once, that everything has been pulled.
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
