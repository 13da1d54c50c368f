package node

import (
	"context"
	"errors"

	"shunt/storage/clusterlog"
)

// A node that is too old for the log's entries cannot follow it. But it redirects, and no other node has the hits that
// it counts. So it stays announced, and other full nodes pull its outbox, until it is upgraded. It has applied a part
// of the log's history, so its records mean the same links elsewhere. A node whose history differs from the log's
// offers nothing: its link may have the id of another link elsewhere.

// mayOffer reports whether other nodes may pull the outbox of a node that cannot follow the log because of err.
func mayOffer(err error) bool { return errors.Is(err, clusterlog.ErrNewerVersion) }

// offer keeps offering the outbox of a node that cannot follow, until ctx is done or the node loses its name.
func (n *Node) offer(ctx context.Context, why error, announced <-chan error) error {
	n.log.Error("this node can no longer follow its cluster. It redirects with the links that it has, and other full nodes still pull its hits", "error", why)
	if err := <-announced; ctx.Err() == nil {
		n.log.Error("other nodes no longer pull the hits of this node", "error", err)
	}
	<-ctx.Done()
	return nil
}
