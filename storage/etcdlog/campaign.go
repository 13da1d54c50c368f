package etcdlog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"shunt/storage/clusterlog"
)

// Campaign implements clusterlog.Log.
func (l *Log) Campaign(ctx context.Context, candidate string) (clusterlog.Leadership, error) {
	watching, stop := context.WithCancel(ctx)
	w := newWatcher(l, l.keys.leader, "")
	var joined sync.WaitGroup
	joined.Go(func() { w.run(watching) })
	defer joined.Wait()
	defer stop()
	for {
		s, err := l.state(ctx)
		if err == nil {
			err = l.own(&s)
		}
		if err != nil {
			return nil, err
		}
		if s.leader.Candidate == "" {
			if lead, err := l.stand(ctx, candidate); lead != nil || err != nil {
				return lead, err
			}
			continue
		}
		if err := w.await(ctx); err != nil {
			return nil, err
		}
	}
}

// fullPause is the time between two attempts to be elected while the servers give no leases.
const fullPause = time.Second

// stand tries to be elected. It returns nil if another candidate was elected, or if no server gave a lease.
func (l *Log) stand(ctx context.Context, candidate string) (clusterlog.Leadership, error) {
	sent := time.Now()
	lease, err := l.grant(ctx, leaseTTL)
	if errors.Is(err, clusterlog.ErrNoSpace) { // the operator has to make room
		wait(ctx, fullPause)
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	ttl := time.Duration(lease.TTL) * time.Second
	electing, cancel := context.WithDeadline(ctx, sent.Add(ttl-leaseMargin))
	defer cancel()
	s, err := l.elect(electing, candidate, lease.ID)
	if err == nil && s.lease == lease.ID {
		l.metrics.elections.Add(1)
		return newLeadership(l, &s, sent.Add(ttl-leaseMargin)), nil
	}
	l.revoke(ctx, lease.ID)
	if ctx.Err() == nil && errors.Is(err, clusterlog.ErrUnavailable) {
		return nil, nil // Campaign tries again
	}
	return nil, err
}

// grant takes a lease. A lease of an answer that was lost ends by itself.
func (l *Log) grant(ctx context.Context, ttl time.Duration) (lease *clientv3.LeaseGrantResponse, err error) {
	var full error
	err = l.repeat(ctx, func(ctx context.Context, client *clientv3.Client) (err error) {
		lease, err = client.Grant(ctx, int64(ttl/time.Second))
		if errors.Is(err, rpctypes.ErrNoSpace) {
			full = fmt.Errorf("%w: lease: %w", clusterlog.ErrNoSpace, err)
			return nil
		}
		return err
	})
	return lease, errors.Join(err, full)
}

// elect makes candidate the leader if there is none, and returns the state after that. The
// transaction may be repeated: one that comes again finds the lease of the first.
func (l *Log) elect(ctx context.Context, candidate string, lease clientv3.LeaseID) (s state, err error) {
	var answer error
	vacant := clientv3.Compare(clientv3.CreateRevision(l.keys.leader), "=", 0)
	err = l.repeat(ctx, func(ctx context.Context, client *clientv3.Client) error {
		resp, err := client.Txn(ctx).If(vacant).
			Then(clientv3.OpPut(l.keys.leader, candidate, clientv3.WithLease(lease)), l.keys.getState()).
			Else(l.keys.getState()).Commit()
		if err != nil {
			return err
		}
		last := resp.Responses[len(resp.Responses)-1].GetResponseRange()
		s, answer = l.keys.parseState(last.Kvs)
		return nil
	})
	if err = errors.Join(err, answer); err != nil {
		return state{}, err
	}
	return s, l.own(&s)
}

// revoke ends a lease, if a server answers in time. Otherwise it ends by itself.
func (l *Log) revoke(ctx context.Context, lease clientv3.LeaseID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resignTimeout)
	defer cancel()
	err := l.repeat(ctx, func(ctx context.Context, client *clientv3.Client) error {
		_, err := client.Revoke(ctx, lease)
		if isLeaseGone(err) {
			return nil
		}
		return err
	})
	if err != nil {
		l.logger.Warn("A lease could not be given back; it ends by itself.", "error", err)
	}
}
