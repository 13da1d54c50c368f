package etcdlog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"shunt/storage/clusterlog"
)

// leadership implements clusterlog.Leadership.
type leadership struct {
	log     *Log
	epoch   uint64
	created int64 // the revision that created the key leader: the epoch, without the base of epochs
	lease   clientv3.LeaseID
	elected clusterlog.Position // the head at the election

	began time.Time    // what until is counted from, with the monotonic clock
	until atomic.Int64 // nanoseconds after began; by Run
	ended atomic.Bool
	done  chan struct{}
	end   func() // closes done, once

	renewer  uint32        // the server that the last renewal went to; by Run
	revision atomic.Int64  // the highest known
	last     atomic.Uint64 // the sequence of the head

	// turn is a lock: the goroutine that has filled it appends, and owns the fields after it.
	turn    chan struct{}
	head    clusterlog.Position
	pending *pending

	// trimTurn is a lock: the goroutine that has filled it trims, and owns the fields after it.
	trimTurn  chan struct{}
	floor     uint64
	compacted time.Time
}

var _ clusterlog.Leadership = (*leadership)(nil)

func newLeadership(l *Log, s *state, until time.Time) *leadership {
	lead := &leadership{
		log: l, epoch: s.leader.Epoch, created: int64(s.leader.Epoch - s.base), lease: s.lease, elected: s.head, head: s.head, floor: s.floor,
		began: time.Now(), done: make(chan struct{}), renewer: l.preferred.Load(),
		turn: make(chan struct{}, 1), trimTurn: make(chan struct{}, 1),
	}
	lead.end = sync.OnceFunc(func() {
		lead.ended.Store(true)
		close(lead.done)
	})
	lead.until.Store(int64(until.Sub(lead.began)))
	lead.revision.Store(lead.created)
	lead.last.Store(s.head.Sequence)
	return lead
}

func (l *leadership) Epoch() uint64             { return l.epoch }
func (l *leadership) Head() clusterlog.Position { return l.elected }
func (l *leadership) Done() <-chan struct{}     { return l.done }

func (l *leadership) Valid() bool { return l.left() > 0 && !l.ended.Load() }

// Until implements clusterlog.Leadership.
func (l *leadership) Until() time.Time { return l.began.Add(time.Duration(l.until.Load())) }

// left returns how long the lease lasts, less the margin.
func (l *leadership) left() time.Duration {
	return time.Duration(l.until.Load()) - time.Since(l.began)
}

// saw remembers a revision; the servers may drop all older ones.
func (l *leadership) saw(revision int64) {
	for known := l.revision.Load(); known < revision && !l.revision.CompareAndSwap(known, revision); {
		known = l.revision.Load()
	}
}

// Run implements clusterlog.Leadership.
func (l *leadership) Run(ctx context.Context) error {
	l.log.logger.Info("This node leads the cluster.", "epoch", l.epoch, "head", l.elected.Sequence)
	err := l.keep(ctx)
	l.end()
	l.log.revoke(ctx, l.lease) // so that another node need not wait for its end
	if err != nil {
		l.log.logger.Warn("This node no longer leads the cluster.", "epoch", l.epoch, "error", err)
	}
	return err
}

// keep renews the lease until ctx ends, which is no error, or the lease has ended.
func (l *leadership) keep(ctx context.Context) error {
	next := time.Now() // the grant is as old as the election took
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-l.done: // an append has found another epoch
			return fmt.Errorf("%w: epoch %d is over", clusterlog.ErrDeposed, l.epoch)
		case <-time.After(min(time.Until(next), l.left())):
		}
		if !l.Valid() {
			return fmt.Errorf("%w: no server renewed its lease in time", clusterlog.ErrDeposed)
		}
		sent := time.Now()
		switch ttl, err := l.renew(ctx); {
		case err == nil:
			l.extend(sent.Add(ttl - leaseMargin))
			next = sent.Add(renewInterval)
		case isLeaseGone(err):
			return fmt.Errorf("%w: its lease is gone", clusterlog.ErrDeposed)
		default:
			l.log.counts.renewFailures.Add(1)
			next = time.Now().Add(renewPause)
		}
	}
}

// extend makes the leadership valid until then, unless it is invalid already.
func (l *leadership) extend(until time.Time) {
	if l.Valid() {
		l.until.Store(int64(until.Sub(l.began)))
	}
}

// renew renews the lease once, at the next server, and returns how long it lasts from then.
func (l *leadership) renew(ctx context.Context) (time.Duration, error) {
	l.renewer++
	return l.log.server(l.renewer).renew(ctx, l.lease, renewTimeout)
}

// renew renews a lease once, and returns how long it lasts from then.
//
// It does not use KeepAliveOnce of etcd's client, which repeats a call that fails at once without a
// pause: a server that refuses connections would keep a core busy until the timeout.
func (s *server) renew(ctx context.Context, lease clientv3.LeaseID, timeout time.Duration) (ttl time.Duration, err error) {
	err = s.ask(ctx, timeout, func(ctx context.Context, client *clientv3.Client) error {
		stream, err := pb.NewLeaseClient(client.ActiveConnection()).LeaseKeepAlive(ctx)
		if err != nil {
			return err
		}
		if err := stream.Send(&pb.LeaseKeepAliveRequest{ID: int64(lease)}); err != nil {
			return err
		}
		resp, err := stream.Recv()
		if err != nil {
			return rpctypes.Error(err)
		}
		if resp.TTL <= 0 {
			return rpctypes.ErrLeaseNotFound
		}
		ttl = time.Duration(resp.TTL) * time.Second
		return nil
	})
	return ttl, err
}

func isLeaseGone(err error) bool { return errors.Is(err, rpctypes.ErrLeaseNotFound) }
