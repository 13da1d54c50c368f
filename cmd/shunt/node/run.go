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
	running.Go(func() { _ = n.files.Run(following) }) // it has no error
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
		lost := isLost(err)
		err, final := withVerdict(err)
		switch {
		case lost:
			n.loseLog(err)
		case final:
			return err
		default:
			n.log.Error("following the cluster failed; retrying", "error", err)
		}
		if !sleep(ctx, replicatePause) {
			return nil
		}
	}
}

// isLost reports whether the servers have lost the log that this node follows because of err: they are empty, or were
// restored from an older copy.
func isLost(err error) bool {
	return errors.Is(err, clusterlog.ErrForeignLog) || errors.Is(err, clusterlog.ErrAhead)
}

// loseLog notes that the servers have lost the log, which an operator may renew. Until then the nodes that have lost it
// go on pulling from each other: what each has applied is a part of one history.
func (n *Node) loseLog(why error) {
	if n.lost.Swap(n.replica.Load()) == nil {
		n.holdAfterLoss()
		n.log.Error("this node can no longer follow its cluster until its log is there again. It redirects with the links that it has, "+
			"and full nodes that cannot follow either exchange their hits", "error", why)
	}
}

// logLost reports whether the servers have lost the log, as far as this node knows.
func (n *Node) logLost() bool {
	lost, now := n.lost.Load(), n.replica.Load()
	if lost == nil || now == lost {
		return lost != nil
	}
	_, follows := now.Lag()
	if follows && n.lost.CompareAndSwap(lost, nil) {
		n.log.Info("the log of the cluster is there again, and this node follows it")
	}
	return !follows
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
	n.tellState()
	go n.tellApplied(telling)
	err := n.announcement.Run(ctx)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// tellApplied tells the other nodes how far this one is, and which outbox it has, until ctx is done.
func (n *Node) tellApplied(ctx context.Context) {
	for sleep(ctx, time.Second) {
		n.tellState()
	}
}

func (n *Node) tellState() {
	n.announcement.Applied(n.Applied())
	if outbox, ok := n.store.OutboxID(); ok {
		lacks := n.store.LacksHits()
		_ = n.announcement.Update(func(said *clusterlog.Node) { said.Outbox, said.LacksHits = outbox, lacks }) // any are valid
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
