package etcdlog

import (
	"context"
	"errors"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"shunt/storage/clusterlog"
)

// Create makes the log of the cluster o.ID where nothing is under the prefix yet. If it has been
// made before for the same cluster and visitor key, nothing changes.
func Create(ctx context.Context, o Options) error {
	l, err := New(o)
	if err != nil {
		return err
	}
	defer l.Close()
	k := &l.keys
	empty := clientv3.Compare(clientv3.CreateRevision(k.prefix), "=", 0).WithPrefix()
	var found state
	var foreign error
	err = l.repeat(ctx, func(ctx context.Context, client *clientv3.Client) error {
		resp, err := client.Txn(ctx).If(empty).Then(
			clientv3.OpPut(k.format, formatLine),
			clientv3.OpPut(k.id, l.id.String()),
			clientv3.OpPut(k.key, l.key.String()),
			clientv3.OpPut(k.head, clusterlog.Origin(l.id).String()),
			clientv3.OpPut(k.floor, floorText(1)),
		).Else(k.getState()).Commit()
		if err != nil {
			return err
		}
		if resp.Succeeded {
			found, foreign = state{id: l.id, key: l.key}, nil
		} else {
			found, foreign = k.parseState(resp.Responses[0].GetResponseRange().Kvs)
		}
		return nil
	})
	if err = errors.Join(err, foreign); err != nil {
		return err
	}
	return l.own(&found)
}

// Find returns the ID of the cluster whose log is under the prefix, and the fingerprint of its visitor
// key. The error is ErrForeignLog if there is none.
func Find(ctx context.Context, o Options) (clusterlog.ID, clusterlog.Fingerprint, error) {
	l, err := New(o)
	if err != nil {
		return clusterlog.ID{}, clusterlog.Fingerprint{}, err
	}
	defer l.Close()
	s, err := l.state(ctx)
	return s.id, s.key, err
}

// Check returns nil if at least one server answers, and all that answer are new enough and have the log of
// this cluster. Call it before anything else: its error says what is wrong.
func (l *Log) Check(ctx context.Context) error {
	servers := l.askAll(ctx)
	var errs []error
	answers := false
	for _, s := range servers {
		answers = answers || s.Err == nil
		if errors.Is(s.Err, clusterlog.ErrOldServer) {
			return s.Err
		}
		errs = append(errs, s.Err)
	}
	if !answers {
		return fmt.Errorf("%w: %w", clusterlog.ErrUnavailable, errors.Join(errs...))
	}
	s, err := l.state(ctx)
	if err != nil {
		return err
	}
	return l.own(&s)
}

// own returns ErrForeignLog unless a state is of this cluster.
func (l *Log) own(found *state) error {
	switch {
	case found.id != l.id:
		return fmt.Errorf("%w: %s has the log of cluster %v; this is cluster %v", clusterlog.ErrForeignLog, l.keys.prefix, found.id, l.id)
	case found.key != l.key:
		return fmt.Errorf("%w: the nodes of the cluster at %s have a visitor key with the fingerprint %v; this node's has %v."+
			" Start it with the cluster's visitor key, or from a backup of another node",
			clusterlog.ErrForeignLog, l.keys.prefix, found.key, l.key)
	}
	return nil
}

// state reads the state of the log, as of now.
func (l *Log) state(ctx context.Context) (s state, err error) {
	var answer error
	err = l.repeat(ctx, func(ctx context.Context, client *clientv3.Client) error {
		resp, err := client.Do(ctx, l.keys.getState())
		if err == nil {
			s, answer = l.keys.parseState(resp.Get().Kvs)
		}
		return err
	})
	return s, errors.Join(err, answer)
}
