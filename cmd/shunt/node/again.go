package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"shunt/api/cluster"
	"shunt/storage"
	"shunt/storage/clusterlog"
	"shunt/storage/replicate"
)

// A full node whose figures lack hits starts from a copy of all data of another full node, as a new one does, but for
// three things: it proves that it has the cluster's data, as one that was away does, so nobody admits it; its folder
// keeps the id of the node, so its name stays its own; and the hits that it has counted and that the other node lacks
// go on in the copy (replicate.Rows.TakeOver). It redirects when it has the copy.

// Folder is what a start does with the data folder of a node, whose store nobody uses yet.
type Folder struct {
	// Replay puts the hits that only the journal has into the store.
	Replay func() error
	// Replace verifies a backup, which comes as a tar stream, makes a store of it, and calls take with that. If take
	// returns no error, that store is in the place of the folder's when it is opened next.
	Replace func(ctx context.Context, backup io.Reader, take func(*storage.Store) error) error
}

const (
	wholePatience = 15 * time.Second // until a copy begins to come: the cluster may have no leader yet, who notes it
	wholePause    = time.Second      // between two attempts
)

// takeWhole has a copy of another node's data take the place of this node's, if one that has the log up to an entry
// sends it.
func (n *Node) takeWhole(ctx context.Context, f *Folder, c *countedSince, entry uint64) (took bool) {
	n.log.Warn("the figures of this node lack hits that others have, because its folder was rolled back. It takes a copy of all data of another node, and redirects when it has that")
	for began := time.Now(); ; {
		from, came, err := n.copyWhole(ctx, f, c, entry)
		switch {
		case err == nil:
			if err := f.Replay(); err != nil { // into the store that goes, so that the files of its journal go, too
				n.log.Warn("the files of the old journal are left", "error", err)
			}
			n.log.Warn("this node starts with a copy of another node's data", "from", from, "took", time.Since(began).Round(time.Millisecond))
			return true
		case ctx.Err() != nil:
			return false
		case came, errors.Is(err, errAlone), time.Since(began) > wholePatience:
			n.log.Error("this node cannot take a copy of another node's data now. It starts with its own: its links follow the log, and its figures lack hits. Its next start tries again", "error", err)
			return false
		}
		sleep(ctx, wholePause)
	}
}

// copyWhole asks the nodes that may send a copy, one after the other, and returns the name of the one that did; came
// reports whether any has begun to.
func (n *Node) copyWhole(ctx context.Context, f *Folder, c *countedSince, entry uint64) (from string, came bool, err error) {
	senders, err := n.wholeSenders(ctx, entry)
	if err != nil {
		return "", false, err
	}
	take := func(s *storage.Store) error {
		return replicate.Of(s).TakeOver(ctx, n.store, func(goesOn bool) (uint64, error) { return c.first, c.replay(f, goesOn) })
	}
	var errs []error
	for _, m := range senders {
		body, err := n.askCopy(ctx, &m, cluster.BackupPath)
		if err == nil {
			came = true
			err = errors.Join(f.Replace(ctx, body, take), body.Close())
		}
		if err == nil || ctx.Err() != nil {
			return m.Name, came, err
		}
		errs = append(errs, fmt.Errorf("node %s: %w", m.Name, err))
	}
	return "", came, errors.Join(errs...)
}

// errAlone: waiting for a copy is of no use.
var errAlone = errors.New("no other full node runs whose figures are whole")

// wholeSenders returns the nodes that have figures that are whole, and the log up to an entry.
func (n *Node) wholeSenders(ctx context.Context, entry uint64) (senders []clusterlog.Member, err error) {
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	refused, err := n.clusterLog.Refusals(ctx)
	if err != nil {
		return nil, err
	}
	n.gate.Tell(namesAndSerials(refused))
	members, err := n.clusterLog.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	return wholeOf(members, n.settings.Name, entry)
}

// wholeOf is wholeSenders of all members, for the node of a name.
func wholeOf(members []clusterlog.Member, to string, entry uint64) (senders []clusterlog.Member, err error) {
	err = errAlone
	for _, m := range sendersOf(members, to, 0) {
		switch {
		case m.LacksHits:
		case m.Applied >= entry:
			senders = append(senders, m)
		default:
			err = fmt.Errorf("no other full node has the log up to entry %d yet", entry)
		}
	}
	if len(senders) > 0 {
		err = nil
	}
	return senders, err
}
