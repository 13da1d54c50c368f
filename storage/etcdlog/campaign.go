package etcdlog

import (
	"context"
	"errors"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"shunt/storage/clusterlog"
)

// Campaign implements clusterlog.Log.
func (l *Log) Campaign(ctx context.Context, candidate string) (clusterlog.Leadership, error) {
	w, stop := l.watch(ctx, l.keys.leader, "")
	defer stop()
	for {
		s, err := l.ownState(ctx)
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
	if err != nil {
		return nil, noSpace(ctx, err)
	}
	ttl := time.Duration(lease.TTL) * time.Second
	electing, cancel := context.WithDeadline(ctx, sent.Add(ttl-leaseMargin))
	defer cancel()
	s, err := l.elect(electing, candidate, lease.ID)
	if err == nil && s.lease == lease.ID {
		return newLeadership(l, &s, sent.Add(ttl-leaseMargin)), nil
	}
	l.revoke(ctx, lease.ID)
	if ctx.Err() == nil && errors.Is(err, clusterlog.ErrUnavailable) {
		return nil, nil // Campaign tries again
	}
	return nil, noSpace(ctx, err)
}

// noSpace waits and returns no error if err is that the servers are full: the operator has to make room.
func noSpace(ctx context.Context, err error) error {
	if !errors.Is(err, clusterlog.ErrNoSpace) {
		return err
	}
	wait(ctx, fullPause)
	return ctx.Err()
}

// grant takes a lease. A lease of an answer that was lost ends by itself.
func (l *Log) grant(ctx context.Context, ttl time.Duration) (lease *clientv3.LeaseGrantResponse, err error) {
	err = l.repeat(ctx, func(ctx context.Context, client *clientv3.Client) (err error) {
		lease, err = client.Grant(ctx, int64(ttl/time.Second))
		return err
	})
	return lease, err
}

// elect makes candidate the leader if there is none, and returns the state after that. The
// transaction may be repeated: one that comes again finds the lease of the first.
func (l *Log) elect(ctx context.Context, candidate string, lease clientv3.LeaseID) (state, error) {
	resp, err := l.txn(ctx, tx{
		If:   []clientv3.Cmp{created(l.keys.leader, "=", 0)},
		Then: []clientv3.Op{clientv3.OpPut(l.keys.leader, candidate, clientv3.WithLease(lease)), l.keys.getState()},
		Else: []clientv3.Op{l.keys.getState()},
	})
	if err != nil {
		return state{}, err
	}
	return l.parseOwn(found(resp, len(resp.Responses)-1))
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
