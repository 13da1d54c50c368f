package node

import (
	"context"
	"errors"
	"sync"
	"time"

	"shunt/storage/clusterlog"
	"shunt/storage/replica"
)

// Run follows the cluster and leads it, until ctx is done. Links must be loaded.
func (n *Node) Run(ctx context.Context) error {
	offering, endOffers := context.WithCancel(ctx)
	defer endOffers()
	following, stop := context.WithCancel(offering)
	defer stop()
	replicated := make(chan error, 1)
	go func() { replicated <- n.replicate(following) }()
	announced := make(chan error, 1)
	go func() { announced <- n.announce(offering) }()
	var running sync.WaitGroup
	running.Go(func() { n.followMembers(following) })
	running.Go(func() { n.askCaps(following) })
	running.Go(func() { n.followRefusals(offering) })
	running.Go(func() { n.dropPulled(offering) })
	defer running.Wait()
	defer endOffers()
	var err error
	select {
	case err = <-replicated:
		stop()
		if ctx.Err() == nil && mayOffer(err) {
			return n.offer(ctx, err, announced)
		}
		endOffers()
		<-announced
	case err = <-announced: // another node has this name, or it was forgotten
		endOffers()
		<-replicated
	}
	if ctx.Err() != nil {
		return nil
	}
	// Redirects go on with the links that are here; the API is refused as soon as the node is stale.
	n.log.Error("this node can no longer follow its cluster", "error", err)
	<-ctx.Done()
	return nil
}

// replicatePause is the time between two attempts to follow the cluster.
const replicatePause = 5 * time.Second

// replicate follows the cluster and leads it until ctx is done. It returns early only if a retry cannot help.
// Whatever else goes wrong, redirects must not end.
func (n *Node) replicate(ctx context.Context) error {
	for {
		r := replica.New(n.clusterLog, n.store, n, replica.Options{
			Name: n.candidate(), Nodes: n.clusterLog.Nodes, NeverLeads: n.Edge(), Logger: n.log,
		})
		n.replica.Store(r)
		err := r.Run(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, clusterlog.ErrBelowFloor) {
			if !n.takeCopy(ctx, err) {
				return nil
			}
			continue
		}
		err, final := withVerdict(err)
		if final {
			return err
		}
		n.log.Error("following the cluster failed; retrying", "error", err)
		if !sleep(ctx, replicatePause) {
			return nil
		}
	}
}

// claimPause is the time between two attempts to claim the name of this node while etcd does not answer.
const claimPause = time.Second

// announce tells the other nodes about this one until ctx is done. It returns early only if this node may not
// have its name.
func (n *Node) announce(ctx context.Context) error {
	for n.announcement == nil {
		asking, cancel := context.WithTimeout(ctx, joinTimeout)
		err := n.claim(asking)
		cancel()
		if err != nil && ctx.Err() == nil {
			err, final := withVerdict(err)
			if final {
				return err
			}
			n.log.Error("this node cannot claim its name; retrying", "error", err)
		}
		if !sleep(ctx, claimPause) {
			return nil
		}
	}
	telling, stop := context.WithCancel(ctx)
	defer stop()
	go n.tellApplied(telling)
	err := n.announcement.Run(ctx)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// tellApplied tells the other nodes how far this one is, until ctx is done.
func (n *Node) tellApplied(ctx context.Context) {
	for sleep(ctx, time.Second) {
		n.announcement.Applied(n.Applied())
	}
}

// sleep waits for d, and reports whether ctx is not done.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}
