package etcdlog

import (
	"context"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"shunt/storage/clusterlog"
)

// A node has two keys. names/NAME is its claim, which lasts until the node is forgotten, together with
// what the node said last. nodes/NAME is what it says now, under a lease. It is created only while the
// claim is there, and a claim is deleted only while nodes/NAME is not, so none is live without one.
//
// The revision that created a claim stands for it in conditions, as an epoch does for a leadership:
// what the claim says changes, and this never does.
//
// Others may delete or overwrite these rows: another program, an operator by mistake, or an edge its own rows.
// So a missing claim means nothing by itself. The transaction that forgets a node also
// writes marks/NAME, which no edge may write: claims that were created before the mark was written are
// forgotten. A node whose claim is gone without that claims its name again.

var _ clusterlog.Registry = (*Log)(nil)

func (k *keys) name(name string) string { return k.names + name }
func (k *keys) node(name string) string { return k.nodes + name }
func (k *keys) mark(name string) string { return k.marks + name }

// below extends an operation to everything below a key that ends in /.
func below(key string) clientv3.OpOption { return clientv3.WithRange(clientv3.GetPrefixRangeEnd(key)) }

// memberPause is the least time between two reads of Members. Each node changes twice a second while
// entries are written, and each change wakes all the others.
const memberPause = 200 * time.Millisecond

// Nodes implements clusterlog.Registry.
func (l *Log) Nodes(ctx context.Context) ([]clusterlog.Member, error) {
	names, nodes, err := l.rows(ctx)
	if isTooLarge(err) {
		names, nodes, err = l.rowsOneByOne(ctx)
	}
	if err != nil {
		return nil, err
	}
	members, bad := l.keys.members(names, nodes)
	l.seen.report(l.logger, bad, time.Now())
	missing := l.seen.note(members, l.keys.created(names), time.Now())
	if len(missing) == 0 {
		return members, nil
	}
	return l.withMissing(ctx, members, missing)
}

// Members implements clusterlog.Registry.
func (l *Log) Members(ctx context.Context, fn func([]clusterlog.Member)) error {
	w, stop := l.watch(ctx, l.keys.names, clientv3.GetPrefixRangeEnd(l.keys.nodes))
	defer stop()
	return follow(ctx, w, memberPause, "The nodes of the cluster", l.Nodes, fn)
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
	resp, err := l.txn(ctx, tx{
		If:   []clientv3.Cmp{created(k.name(name), "=", claim.kv.CreateRevision), created(k.node(name), "=", 0)},
		Then: []clientv3.Op{clientv3.OpDelete(k.name(name)), clientv3.OpPut(k.mark(name), ""), clientv3.OpPut(k.refusedName(name), "")},
		Else: []clientv3.Op{clientv3.OpGet(k.node(name))},
	})
	if err != nil {
		return err
	}
	// Otherwise an earlier request, whose answer was lost, has removed it.
	if !resp.Succeeded && len(found(resp, 0)) > 0 {
		return fmt.Errorf("%w: %s; stop it first, or wait until its lease of %v ends", clusterlog.ErrStillLive, name, nodeTTL)
	}
	return l.dropMarks(ctx)
}

// maxMarks is how many marks are kept, the last ones. A forgotten node whose mark is gone claims its name again
// if it was cut off all the time; so does one that is restarted.
const maxMarks = 4 * clusterlog.MaxNodes

// dropMarks removes the oldest marks above maxMarks.
func (l *Log) dropMarks(ctx context.Context) error {
	marks, err := l.get(ctx, l.keys.marks, below(l.keys.marks), clientv3.WithKeysOnly(), clientv3.WithSort(clientv3.SortByModRevision, clientv3.SortAscend))
	for i := 0; i < len(marks)-maxMarks && err == nil; i++ {
		_, err = l.txn(ctx, removal(marks[i]))
	}
	return err
}

// removal deletes a row as it was read.
func removal(kv *mvccpb.KeyValue) tx {
	key := string(kv.Key)
	return tx{If: []clientv3.Cmp{written(key, "=", kv.ModRevision)}, Then: []clientv3.Op{clientv3.OpDelete(key)}}
}

// claimed is a claim, and what was known when it was read.
type claimed struct {
	kv       *mvccpb.KeyValue // nil: nobody has claimed the name
	live     bool             // the node's own key is there
	count    int64            // of all claims
	revision int64
}

// claimOf reads the claim on a name.
func (l *Log) claimOf(ctx context.Context, name string) (c claimed, err error) {
	k := &l.keys
	resp, err := l.txn(ctx, tx{Then: []clientv3.Op{
		clientv3.OpGet(k.name(name)), clientv3.OpGet(k.names, below(k.names), clientv3.WithCountOnly()), k.getState(),
		clientv3.OpGet(k.node(name), clientv3.WithCountOnly()),
	}})
	if err != nil {
		return c, err
	}
	c = claimed{count: resp.Responses[1].GetResponseRange().Count, revision: resp.Header.Revision}
	c.live = resp.Responses[3].GetResponseRange().Count > 0
	if kvs := found(resp, 0); len(kvs) > 0 {
		c.kv = kvs[0]
	}
	_, err = l.parseOwn(found(resp, 2))
	return c, err
}
