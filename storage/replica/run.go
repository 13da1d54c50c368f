package replica

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"shunt/storage/clusterlog"
	"shunt/storage/replicate"
)

// New returns a replica of a store of the cluster, which nobody writes to yet.
func New(log clusterlog.Log, store *replicate.Rows, node Node, o Options) *Replica {
	r := &Replica{
		log: log, store: store, node: node, name: o.Name, nodes: o.Nodes, follows: o.NeverLeads,
		maxKept: o.MaxKept, logger: cmp.Or(o.Logger, slog.Default()),
	}
	r.known.Store(&clusterlog.Leader{})
	return r
}

// errElected ends a Follow: this node leads, and has applied everything before its election.
var errElected = errors.New("elected")

// errSucceeded ends a Follow: this node was elected, but others led and wrote before it had applied
// everything before its election.
var errSucceeded = errors.New("another node leads by now")

// resignTimeout bounds how long a stop waits for a last write to settle, before the leadership is left
// to end by itself. A process has 8 s to stop, and the clients, whom the write's answer waits for, come after this.
const resignTimeout = 3 * time.Second

// Run follows and leads until ctx is done: then it gives up the leadership, so that another node can
// take over at once, and returns nil. Links must be loaded. Other errors are those of Follow, with
// which this node cannot go on: clusterlog.ErrBelowFloor, ErrAhead, ErrDiverged, ErrForeignLog,
// ErrNewerVersion; or the store's.
func (r *Replica) Run(ctx context.Context) error {
	for {
		lead, err := r.follow(ctx)
		if err == nil {
			err = r.reign(ctx, lead)
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil && !errors.Is(err, errSucceeded) {
			return fmt.Errorf("cluster: %w", err)
		}
	}
}

// follow applies what other nodes write, until this node is elected and has applied everything before its election.
func (r *Replica) follow(ctx context.Context) (*leadership, error) {
	standing, stop := context.WithCancel(ctx)
	elected := make(chan *leadership, 1)
	failed := make(chan error, 1)
	if !r.follows {
		go r.stand(standing, elected, failed)
	}
	var lead *leadership
	defer func() {
		stop()
		if lead == nil && !r.follows { // the campaign may have been won just now
			select {
			case late := <-elected:
				late.give()
			case <-failed:
			}
		}
	}()
	for {
		following, end := context.WithCancel(ctx)
		result := make(chan error, 1)
		go func(lead *leadership) { result <- r.apply(following, lead) }(lead)
		select {
		case err := <-result:
			end()
			if errors.Is(err, errElected) {
				return lead, nil
			}
			if lead != nil {
				lead.give()
			}
			return nil, err
		case err := <-failed:
			end()
			<-result
			failed <- err // for the deferred function
			return nil, err
		case lead = <-elected:
			end() // and again, up to the head of the election
			if err := <-result; err != nil && !errors.Is(err, context.Canceled) {
				lead.give()
				return nil, err
			}
		}
	}
}

// stand waits until this node is elected, and keeps the leadership from then on.
func (r *Replica) stand(ctx context.Context, elected chan<- *leadership, failed chan<- error) {
	won, err := r.log.Campaign(ctx, r.name)
	if err != nil {
		failed <- err
		return
	}
	keeping, resign := context.WithCancel(context.WithoutCancel(ctx))
	lead := &leadership{Leadership: won, resign: resign, ended: make(chan struct{})}
	go func() {
		defer close(lead.ended)
		if err := won.Run(keeping); err != nil {
			r.logger.Warn("this node no longer leads the cluster", "error", err)
		}
	}()
	elected <- lead
}

// give ends a leadership and waits for its end.
func (l *leadership) give() {
	l.resign()
	<-l.ended
}

// apply follows the log. With a leadership it returns errElected as soon as everything before the
// election is applied.
func (r *Replica) apply(ctx context.Context, lead *leadership) error {
	from, ok := r.store.LogPosition()
	if !ok {
		return errors.New("the store is of no cluster")
	}
	if err := lead.reached(from); err != nil {
		return err
	}
	return r.log.Follow(ctx, from, func(p clusterlog.Progress) error {
		if len(p.Entries) > 0 {
			if err := r.store.Learn(p.Entries, p.After, r.node); err != nil {
				return err
			}
		}
		r.note(&p)
		return lead.reached(p.After)
	})
}

// reached returns errElected if at is the head of the election: everything before it is applied. A store
// that is beyond it while nobody else can have written, or has another entry there, has a history that
// the log has not. If others can have written, reached returns errSucceeded. A nil leadership has no
// head.
func (l *leadership) reached(at clusterlog.Position) error {
	if l == nil {
		return nil
	}
	switch head := l.Head(); {
	case at == head:
		return errElected
	case at.Sequence > head.Sequence && !l.Valid():
		return errSucceeded
	default:
		return at.Before(head)
	}
}

// note records the progress of a follower.
func (r *Replica) note(p *clusterlog.Progress) {
	r.at.Store(p.After.Sequence)
	r.head.Store(max(p.Head, p.After.Sequence))
	if asOf := p.AsOf; !asOf.IsZero() {
		r.asOf.Store(&asOf)
	}
	if p.Leader != *r.known.Load() {
		leader := p.Leader
		r.known.Store(&leader)
	}
}

// reign admits writes until the leadership ends, or ctx does.
func (r *Replica) reign(ctx context.Context, lead *leadership) error {
	defer lead.give()
	if err := r.node.Lead(ctx, func() { r.store.Lead(lead) }); err != nil {
		return err
	}
	r.known.Store(&clusterlog.Leader{Candidate: r.name, Epoch: lead.Epoch()})
	r.lead.Store(lead)
	trimming, stop := context.WithCancel(ctx)
	var joined sync.WaitGroup
	joined.Go(func() { r.trim(trimming, lead) })
	defer joined.Wait()
	defer stop()
	select {
	case <-lead.Done():
	case <-ctx.Done():
	}
	r.lead.Store(nil)
	asOf := lead.Until() // this process may have been stopped since
	if now := time.Now(); now.Before(asOf) {
		asOf = now
	}
	r.asOf.Store(&asOf)
	r.node.StopLeading()
	settled := make(chan struct{})
	go func() {
		r.store.StopLeading()
		close(settled)
	}()
	select {
	case <-settled:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-settled:
	case <-time.After(resignTimeout):
		r.logger.Warn("the cluster's log does not answer; the outcome of the last writes is unknown")
		r.store.Abandon()
		<-settled
	}
	return nil
}
