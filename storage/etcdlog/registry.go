package etcdlog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"shunt/storage/clusterlog"
)

// A node has two keys. names/NAME is its claim, which lasts until the node is forgotten, together with
// what the node said last. nodes/NAME is what it says now, under a lease. It is created only while the
// claim is there, and a claim is deleted only while nodes/NAME is not, so none is live without one.
//
// The revision that created a claim stands for it in conditions, as an epoch does for a leadership:
// what the claim says changes, and this never does.

var _ clusterlog.Registry = (*Log)(nil)

func (k *keys) name(name string) string { return k.names + name }
func (k *keys) node(name string) string { return k.nodes + name }

// below extends an operation to everything below a key that ends in /.
func below(key string) clientv3.OpOption { return clientv3.WithRange(clientv3.GetPrefixRangeEnd(key)) }

// memberPause is the least time between two reads of Members. Each node changes twice a second while
// entries are written, and each change wakes all the others.
const memberPause = 200 * time.Millisecond

// errTooMany reports that there are more keys below a prefix than anyone should have written.
var errTooMany = fmt.Errorf("%w: more than %d nodes", clusterlog.ErrCorrupt, clusterlog.MaxNodes)

// Nodes implements clusterlog.Registry.
func (l *Log) Nodes(ctx context.Context) ([]clusterlog.Member, error) {
	k := &l.keys
	var names, nodes []*mvccpb.KeyValue
	var answer error
	err := l.repeat(ctx, func(ctx context.Context, client *clientv3.Client) error {
		resp, err := client.Txn(ctx).Then(
			clientv3.OpGet(k.names, below(k.names), clientv3.WithLimit(clusterlog.MaxNodes+1)),
			clientv3.OpGet(k.nodes, below(k.nodes), clientv3.WithLimit(clusterlog.MaxNodes+1)),
			k.getState(),
		).Commit()
		if isTooLarge(err) {
			answer = fmt.Errorf("%w: what is below %s and %s is larger than %d nodes: %w", clusterlog.ErrCorrupt, k.names, k.nodes, clusterlog.MaxNodes, err)
			return nil
		}
		if err != nil {
			return err
		}
		names, nodes = resp.Responses[0].GetResponseRange().Kvs, resp.Responses[1].GetResponseRange().Kvs
		answer = l.ownState(resp.Responses[2].GetResponseRange().Kvs)
		return nil
	})
	if err = errors.Join(err, answer); err != nil {
		return nil, err
	}
	return k.members(names, nodes)
}

// members decodes all claims and live nodes, both sorted by key. The error names the key.
func (k *keys) members(names, nodes []*mvccpb.KeyValue) ([]clusterlog.Member, error) {
	if len(names) > clusterlog.MaxNodes {
		return nil, fmt.Errorf("below %s: %w", k.names, errTooMany)
	}
	members := make([]clusterlog.Member, 0, len(names))
	for _, kv := range names {
		n, _, err := clusterlog.DecodeClaim(kv.Value)
		if err == nil {
			err = checkKey(kv, k.name(n.Name), false)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kv.Key, err)
		}
		members = append(members, clusterlog.Member{Node: n})
	}
	for _, kv := range nodes {
		n, err := clusterlog.DecodeNode(kv.Value)
		if err == nil {
			err = checkKey(kv, k.node(n.Name), true)
		}
		at, claimed := slices.BinarySearchFunc(members, n.Name, func(m clusterlog.Member, name string) int { return strings.Compare(m.Name, name) })
		if err == nil && !claimed {
			err = fmt.Errorf("%w: a node without a claim", clusterlog.ErrCorrupt)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kv.Key, err)
		}
		members[at] = clusterlog.Member{Node: n, Live: true}
	}
	return members, nil
}

// checkKey returns ErrCorrupt unless a node is at its own key, and under a lease if it is live.
func checkKey(kv *mvccpb.KeyValue, own string, live bool) error {
	if string(kv.Key) != own || (kv.Lease != 0) != live {
		return fmt.Errorf("%w: a node that belongs at %s; under a lease: %t, want %t", clusterlog.ErrCorrupt, own, kv.Lease != 0, live)
	}
	return nil
}

// Members implements clusterlog.Registry.
func (l *Log) Members(ctx context.Context, fn func([]clusterlog.Member)) error {
	watching, stop := context.WithCancel(ctx)
	w := newWatcher(l, l.keys.names, clientv3.GetPrefixRangeEnd(l.keys.nodes))
	var joined sync.WaitGroup
	joined.Go(func() { w.run(watching) })
	defer joined.Wait()
	defer stop()
	var known []clusterlog.Member
	var reported time.Time
	for first := true; ; {
		members, err := l.Nodes(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && time.Since(reported) >= reportEvery:
			reported = time.Now()
			l.logger.Error("The nodes of the cluster cannot be read; trying again.", "error", err)
		case err == nil && (first || !slices.Equal(members, known)):
			first, known = false, members
			fn(slices.Clone(members))
		}
		if !wait(ctx, memberPause) {
			return ctx.Err()
		}
		if err := w.await(ctx); err != nil {
			return err
		}
	}
}

// Forget implements clusterlog.Registry. It reads the claim first, so that a request that arrives late
// does not remove the claim of a later node of the same name.
func (l *Log) Forget(ctx context.Context, name string) error {
	if err := clusterlog.CheckNodeName(name); err != nil {
		return fmt.Errorf("%w: %w", clusterlog.ErrUnknownNode, err)
	}
	k := &l.keys
	claim, err := l.claimOf(ctx, name)
	if err != nil {
		return err
	}
	if claim.kv == nil {
		return fmt.Errorf("%w: %s", clusterlog.ErrUnknownNode, name)
	}
	var answer error
	err = l.repeat(ctx, func(ctx context.Context, client *clientv3.Client) error {
		resp, err := client.Txn(ctx).If(
			clientv3.Compare(clientv3.CreateRevision(k.name(name)), "=", claim.kv.CreateRevision),
			clientv3.Compare(clientv3.CreateRevision(k.node(name)), "=", 0),
		).Then(clientv3.OpDelete(k.name(name)), clientv3.OpPut(k.refusedName(name), "")).Else(clientv3.OpGet(k.node(name))).Commit()
		if errors.Is(err, rpctypes.ErrNoSpace) { // not of this transaction, but to be sure
			answer = fmt.Errorf("%w: %w", clusterlog.ErrNoSpace, err)
			return nil
		}
		if err != nil {
			return err
		}
		// Otherwise an earlier request, whose answer was lost, has removed it.
		if answer = nil; !resp.Succeeded && len(resp.Responses[0].GetResponseRange().Kvs) > 0 {
			answer = fmt.Errorf("%w: %s; stop it first, or wait until its lease of %v ends", clusterlog.ErrStillLive, name, nodeTTL)
		}
		return nil
	})
	return errors.Join(err, answer)
}

// claimed is a claim, and what was known when it was read.
type claimed struct {
	kv       *mvccpb.KeyValue // nil: nobody has claimed the name
	count    int64            // of all claims
	revision int64
}

// claimOf reads the claim on a name.
func (l *Log) claimOf(ctx context.Context, name string) (c claimed, err error) {
	k := &l.keys
	var answer error
	err = l.repeat(ctx, func(ctx context.Context, client *clientv3.Client) error {
		resp, err := client.Txn(ctx).Then(
			clientv3.OpGet(k.name(name)), clientv3.OpGet(k.names, below(k.names), clientv3.WithCountOnly()), k.getState(),
		).Commit()
		if err != nil {
			return err
		}
		c = claimed{count: resp.Responses[1].GetResponseRange().Count, revision: resp.Header.Revision}
		if kvs := resp.Responses[0].GetResponseRange().Kvs; len(kvs) > 0 {
			c.kv = kvs[0]
		}
		answer = l.ownState(resp.Responses[2].GetResponseRange().Kvs)
		return nil
	})
	return c, errors.Join(err, answer)
}

// ownState returns an error unless the result of getState is of this cluster.
func (l *Log) ownState(kvs []*mvccpb.KeyValue) error {
	s, err := l.keys.parseState(kvs)
	if err != nil {
		return err
	}
	return l.own(&s)
}
