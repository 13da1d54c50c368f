package etcdlog

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
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
	resp, err := l.txn(ctx, tx{
		If: []clientv3.Cmp{created(k.prefix, "=", 0).WithPrefix()},
		Then: []clientv3.Op{
			clientv3.OpPut(k.format, formatLine),
			clientv3.OpPut(k.id, l.id.String()),
			clientv3.OpPut(k.key, l.key.String()),
			clientv3.OpPut(k.head, clusterlog.Origin(l.id).String()),
			clientv3.OpPut(k.floor, floorText(1)),
		},
		Else: []clientv3.Op{k.getState()},
	})
	if err != nil || resp.Succeeded {
		return err
	}
	_, err = l.parseOwn(found(resp, 0))
	return err
}

// renewedBy is by how much the epochs of a renewed log are higher than that of the last entry before it: more than any
// leadership of the lost log can have had.
const renewedBy = 1 << 32

// The errors of Renew that callers distinguish.
var (
	// ErrLogThere: a log is not to be renewed, because its servers have not lost it.
	ErrLogThere = errors.New("the servers have the cluster's log")
	// ErrOlderLog: what they have is an older state of it.
	ErrOlderLog = errors.New("the servers have an older state of the cluster's log")
)

// Renew makes the log of the cluster o.ID again, after its servers have lost it: it goes on after a position that a
// node has applied, without the entries before. The error is ErrLogThere if there is a log that is not older than the
// position, and, unless replace is set, ErrOlderLog if there is an older one, as an older copy of the servers' data has
// it.
func Renew(ctx context.Context, o Options, at clusterlog.Position, replace bool) error {
	l, err := New(o)
	if err != nil {
		return err
	}
	defer l.Close()
	k := &l.keys
	puts := []clientv3.Op{
		clientv3.OpPut(k.format, formatLine), clientv3.OpPut(k.id, l.id.String()), clientv3.OpPut(k.key, l.key.String()),
		clientv3.OpPut(k.head, at.String()), clientv3.OpPut(k.floor, floorText(at.Sequence+1)), clientv3.OpPut(k.base, floorText(at.Epoch+renewedBy)),
	}
	resp, err := l.txn(ctx, tx{If: []clientv3.Cmp{created(k.prefix, "=", 0).WithPrefix()}, Then: puts, Else: []clientv3.Op{k.getState()}})
	if err != nil || resp.Succeeded {
		return err
	}
	s, err := l.parseOwn(found(resp, 0))
	switch {
	case err != nil:
		return err
	case s.head == at && s.floor == at.Sequence+1 && s.base == at.Epoch+renewedBy: // by a request whose answer was lost
		return nil
	case s.head.Sequence < at.Sequence && !replace:
		return fmt.Errorf("%w: it ends with entry %d, and this node has applied entry %d", ErrOlderLog, s.head.Sequence, at.Sequence)
	case s.head.Sequence >= at.Sequence:
		return fmt.Errorf("%w: it ends with entry %d, and this node has applied entry %d", ErrLogThere, s.head.Sequence, at.Sequence)
	}
	resp, err = l.txn(ctx, tx{
		If: []clientv3.Cmp{clientv3.Compare(clientv3.Value(k.head), "=", s.head.String())},
		Then: append(puts, clientv3.OpDelete(k.leader), clientv3.OpDelete(k.logs, clientv3.WithPrefix()),
			clientv3.OpDelete(k.privates, clientv3.WithPrefix())),
	})
	if err == nil && !resp.Succeeded {
		err = fmt.Errorf("%w: it has changed just now", ErrLogThere)
	}
	return err
}

// Find returns the ID of the cluster whose log is under the prefix, and the fingerprint of its visitor
// key. The error is ErrForeignLog if there is none.
func Find(ctx context.Context, o Options) (clusterlog.ID, clusterlog.Fingerprint, error) {
	l, err := New(o)
	if err != nil {
		return clusterlog.ID{}, clusterlog.Fingerprint{}, err
	}
	defer l.Close()
	kvs, err := l.getState(ctx)
	if err != nil {
		return clusterlog.ID{}, clusterlog.Fingerprint{}, err
	}
	s, err := l.keys.parseState(kvs)
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
	_, err := l.ownState(ctx)
	return err
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

func (l *Log) getState(ctx context.Context) ([]*mvccpb.KeyValue, error) {
	return l.get(ctx, l.keys.floor, clientv3.WithRange(l.keys.logs))
}

// ownState reads the state of the log, as of now. It is an error unless it is of this cluster.
func (l *Log) ownState(ctx context.Context) (state, error) {
	kvs, err := l.getState(ctx)
	if err != nil {
		return state{}, err
	}
	return l.parseOwn(kvs)
}

// parseOwn reads the result of getState. It is an error unless it is of this cluster.
func (l *Log) parseOwn(kvs []*mvccpb.KeyValue) (state, error) {
	s, err := l.keys.parseState(kvs)
	if err == nil {
		err = l.own(&s)
	}
	return s, err
}
