package etcdlog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"shunt/storage/clusterlog"
)

// Times of an announcement.
const (
	nodeTTL           = 10 * time.Second
	nodeRenewInterval = 2 * time.Second        // so four servers in turn may fail
	saidInterval      = 500 * time.Millisecond // between two values of a node, at least
	sayAgain          = nodeTTL                // what has not changed, since somebody may have deleted it
	// The lease of a crashed process ends after nodeTTL. Each election among etcd's servers restarts that time, so
	// a lease that lasts does not prove that its process is alive. But a live process writes at least every
	// sayAgain. So after predecessorPatience a process counts as alive if it was seen to write within signOfLife.
	// Late requests of a crashed process are older than that by then.
	predecessorPatience = 3 * nodeTTL
	signOfLife          = 2 * sayAgain
)

// announcement implements clusterlog.Announcement.
type announcement struct {
	log     *Log
	name    string
	claim   clusterlog.Claim
	changed chan struct{} // wakes Run

	mu struct {
		sync.Mutex
		node clusterlog.Node
	}

	// The rest belongs to Run.
	revision int64            // that created the claim's key
	lease    clientv3.LeaseID // 0: none
	renewer  uint32           // the server that the last renewal went to
	renewAt  time.Time
	sayAt    time.Time
	said     clusterlog.Node // as the servers have it
	saidAt   time.Time
	warned   time.Time // when it was last reported that it cannot be said
	waits    time.Time // since when another process announces itself by the same claim; zero: none does
	wrote    int64     // the revision of what that process wrote last
	wroteAt  time.Time // when that was seen; zero: it has written nothing since waits
}

// Announce implements clusterlog.Registry.
func (l *Log) Announce(ctx context.Context, n clusterlog.Node, claim clusterlog.Claim) (clusterlog.Announcement, error) {
	told := n
	told.ClockMs = l.now().UnixMilli()
	value, err := clusterlog.EncodeClaim(&told, claim)
	if err != nil {
		return nil, err
	}
	for {
		found, err := l.claimOf(ctx, n.Name)
		if err != nil {
			return nil, err
		}
		if found.kv != nil {
			switch err := l.checkClaim(found.kv, claim); {
			case errors.Is(err, clusterlog.ErrCorrupt):
				if err := l.clearClaim(ctx, &found, err); err != nil {
					return nil, err
				}
				continue
			case err != nil:
				return nil, err
			}
			a := &announcement{log: l, name: n.Name, claim: claim, revision: found.kv.CreateRevision, changed: make(chan struct{}, 1), renewer: l.preferred.Load()}
			a.mu.node = n
			return a, nil
		}
		if found.count >= clusterlog.MaxNodes {
			return nil, fmt.Errorf("%w: it has %d; shunt cluster forget removes one that is gone", clusterlog.ErrTooManyNodes, found.count)
		}
		if err := l.makeClaim(ctx, n.Name, string(value), found.revision); err != nil {
			return nil, err
		}
	}
}

// clearClaim removes a claim that no node wrote, unless its node is live: a live node writes its claim again.
func (l *Log) clearClaim(ctx context.Context, found *claimed, why error) error {
	if found.live {
		if !wait(ctx, pollInterval) {
			return fmt.Errorf("%w: the name is claimed, and it cannot be read by whom: %w", clusterlog.ErrUnavailable, why)
		}
		return nil
	}
	l.logger.Error("The claim of this node's name was not written by a node; it is replaced.", "error", why)
	_, err := l.txn(ctx, removal(found.kv))
	return err
}

// makeClaim claims a name, unless a name was claimed after a revision: so the count read at that revision is
// still right. The caller must read whether it did.
func (l *Log) makeClaim(ctx context.Context, name, value string, since int64) error {
	k := &l.keys
	_, err := l.txn(ctx, tx{
		If:   []clientv3.Cmp{created(k.names, "<", since+1).WithPrefix(), l.isOwn()},
		Then: []clientv3.Op{clientv3.OpPut(k.name(name), value)},
	})
	return err
}

// isOwn is the condition that the log is that of this cluster: nothing is written to servers that have lost it.
func (l *Log) isOwn() clientv3.Cmp {
	return clientv3.Compare(clientv3.Value(l.keys.id), "=", l.id.String())
}

// checkClaim returns ErrNameTaken unless a claim is the node's own.
func (l *Log) checkClaim(kv *mvccpb.KeyValue, own clusterlog.Claim) error {
	other, claim, err := clusterlog.DecodeClaim(kv.Value)
	if err != nil {
		return fmt.Errorf("%s: %w", kv.Key, err)
	}
	if claim != own {
		return fmt.Errorf("%w: %q is the node at %s. Start this one with another --node-name; or, if that one is gone for good, run shunt cluster forget %s, and shunt cluster admit %s",
			clusterlog.ErrNameTaken, other.Name, other.Advertise, other.Name, other.Name)
	}
	return nil
}

// Update implements clusterlog.Announcement.
func (a *announcement) Update(change func(*clusterlog.Node)) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := a.mu.node
	change(&n)
	if n.Name != a.name {
		return fmt.Errorf("%w: its name cannot change from %s to %s", clusterlog.ErrInvalidNode, a.name, n.Name)
	}
	if _, err := clusterlog.EncodeNode(&n); err != nil {
		return err
	}
	a.mu.node = n
	select {
	case a.changed <- struct{}{}:
	default: // Run is about to look
	}
	return nil
}

// Applied implements clusterlog.Announcement.
func (a *announcement) Applied(sequence uint64) {
	_ = a.Update(func(n *clusterlog.Node) { n.Applied = max(n.Applied, sequence) }) // any sequence is valid
}

func (a *announcement) current() clusterlog.Node {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.mu.node
}

// Run implements clusterlog.Announcement.
func (a *announcement) Run(ctx context.Context) error {
	defer func() {
		if a.lease != 0 {
			a.log.revoke(ctx, a.lease) // so that the others need not wait for its end
		}
	}()
	gone := make(chan struct{}, 1) // one of the node's rows may have been deleted
	for _, key := range []string{a.log.keys.name(a.name), a.log.keys.node(a.name)} {
		w := newWatcher(a.log, key, "")
		w.gone, w.wake = true, gone
		defer w.start(ctx)()
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Until(a.next())):
		case <-a.changed:
		case <-gone:
			a.saidAt = time.Time{} // so that it is said again
		}
		if err := a.step(ctx, time.Now()); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// warn reports now and then that this node cannot announce itself.
func (a *announcement) warn(err error) {
	if time.Since(a.warned) >= reportEvery {
		a.warned = time.Now()
		a.log.logger.Warn("This node cannot announce itself to its cluster; retrying.", "node", a.name, "error", err)
	}
}

// next returns when the next step is due, unless something changes before.
func (a *announcement) next() time.Time {
	if at := a.due(); a.lease == 0 || at.Before(a.renewAt) {
		return at
	}
	return a.renewAt
}

// due returns when the node must next be announced.
func (a *announcement) due() time.Time {
	if again := a.saidAt.Add(sayAgain); a.lease != 0 && a.current() == a.said && again.After(a.sayAt) {
		return again
	}
	return a.sayAt
}

// step does what is due, by one request of each kind at most. An error ends the announcement.
func (a *announcement) step(ctx context.Context, now time.Time) error {
	if a.lease != 0 && !now.Before(a.renewAt) {
		a.renew(ctx)
	}
	if now.Before(a.due()) {
		return nil
	}
	a.sayAt = now.Add(saidInterval)
	if a.lease == 0 {
		if err := a.begin(ctx); err != nil {
			return err
		}
	}
	return a.say(ctx)
}

// begin takes a lease. That fails only with ctx, or if the servers are full.
func (a *announcement) begin(ctx context.Context) error {
	lease, err := a.log.grant(ctx, nodeTTL)
	if errors.Is(err, clusterlog.ErrNoSpace) {
		a.warn(err)
		return nil
	}
	if err != nil {
		return err
	}
	a.lease, a.renewAt, a.said = lease.ID, time.Now().Add(nodeRenewInterval), clusterlog.Node{}
	return nil
}

// renew renews the lease, at another server each time.
func (a *announcement) renew(ctx context.Context) {
	a.renewer++
	sent := time.Now()
	_, err := a.log.server(a.renewer).renew(ctx, a.lease, attemptTimeout)
	switch {
	case err == nil:
		a.renewAt = sent.Add(nodeRenewInterval)
	case isLeaseGone(err):
		a.lease, a.sayAt = 0, time.Now()
	default:
		a.log.counts.renewFailures.Add(1)
		a.renewAt = time.Now().Add(renewPause)
	}
}

// say writes what the node announces now, by one request at one server. If it fails, the next step repeats it. The
// error is ErrNameTaken, or ErrForgotten if an operator forgot the node.
//
// The first of a lease creates the key: if it is there under another lease, that is of a process that
// crashed, or of one that has a copy of this node's folder. The others need the key under the own
// lease, so a request that arrives late does nothing.
func (a *announcement) say(ctx context.Context) error {
	if a.lease == 0 {
		return nil
	}
	n := a.current()
	told := n
	told.ClockMs = a.log.now().UnixMilli()
	node, err := clusterlog.EncodeNode(&told)
	claim, err2 := clusterlog.EncodeClaim(&told, a.claim)
	if err := errors.Join(err, err2); err != nil {
		return err // Update lets none through
	}
	k := &a.log.keys
	held := clientv3.Compare(clientv3.LeaseValue(k.node(a.name)), "=", a.lease)
	if a.said.Name == "" {
		held = created(k.node(a.name), "=", 0)
	}
	at := a.log.preferred.Load()
	resp, err := a.log.server(at).txn(ctx, tx{
		If:   []clientv3.Cmp{held, created(k.name(a.name), "=", a.revision)},
		Then: []clientv3.Op{clientv3.OpPut(k.node(a.name), string(node), clientv3.WithLease(a.lease)), clientv3.OpPut(k.name(a.name), string(claim))},
		Else: []clientv3.Op{clientv3.OpGet(k.node(a.name)), clientv3.OpGet(k.name(a.name)), clientv3.OpGet(k.mark(a.name))},
	})
	switch {
	case isLeaseGone(err):
		a.lease, a.sayAt = 0, time.Now()
		return nil
	case err != nil:
		a.log.preferred.CompareAndSwap(at, at+1)
		a.log.counts.retries.Add(1)
		if !errors.Is(err, rpctypes.ErrNoSpace) {
			a.sayAt = time.Now().Add(renewPause)
		}
		return nil
	case resp.Succeeded:
		a.said, a.saidAt, a.waits = n, time.Now(), time.Time{}
		return nil
	}
	return a.contest(ctx, found(resp, 0), found(resp, 1), found(resp, 2))
}

// contest finds out why the node's key was not written: from what is at that key and at its claim's, and from the
// mark that an operator forgot a node of its name.
func (a *announcement) contest(ctx context.Context, nodes, names, marks []*mvccpb.KeyValue) error {
	switch {
	case len(marks) > 0 && marks[0].ModRevision > a.revision:
		return fmt.Errorf("%w: %s. Start it again to join as a new node", clusterlog.ErrForgotten, a.name)
	case len(names) == 0:
		a.claimAgain(ctx)
		return nil
	case names[0].CreateRevision != a.revision:
		return a.compareClaim(ctx, names[0])
	case len(nodes) == 0: // somebody deleted it
		a.said = clusterlog.Node{}
		return nil
	case nodes[0].Lease == int64(a.lease): // by a request whose answer was lost
		a.said, _ = clusterlog.DecodeNode(nodes[0].Value)
		a.said.Name, a.said.ClockMs, a.sayAt, a.waits = a.name, 0, time.Now(), time.Time{}
		return nil
	case nodes[0].Lease == 0:
		a.removeForeign(ctx, nodes[0])
		return nil
	}
	return a.await(nodes[0].ModRevision, time.Now())
}

// claimAgain claims the name after somebody has deleted the claim, by one request. The next say finds out whether
// it succeeded.
func (a *announcement) claimAgain(ctx context.Context) {
	k := &a.log.keys
	n := a.current()
	n.ClockMs = a.log.now().UnixMilli()
	value, err := clusterlog.EncodeClaim(&n, a.claim)
	if err != nil {
		return // Update lets none through
	}
	resp, err := a.log.server(a.log.preferred.Load()).txn(ctx, tx{
		If:   []clientv3.Cmp{created(k.name(a.name), "=", 0), written(k.mark(a.name), "<", a.revision+1), a.log.isOwn()},
		Then: []clientv3.Op{clientv3.OpPut(k.name(a.name), string(value))},
	})
	switch {
	case err != nil:
		a.warn(err)
	case resp.Succeeded:
		a.revision, a.sayAt = resp.Header.Revision, time.Now()
		a.log.logger.Warn("Somebody deleted the claim of this node's name; it has claimed it again.", "node", a.name)
	}
}

// compareClaim decides about a claim of the node's name that was created after its own. It may be its own,
// by a request whose answer was lost. The error is ErrNameTaken.
func (a *announcement) compareClaim(ctx context.Context, kv *mvccpb.KeyValue) error {
	err := a.log.checkClaim(kv, a.claim)
	switch {
	case err == nil:
		a.revision, a.sayAt = kv.CreateRevision, time.Now()
	case errors.Is(err, clusterlog.ErrNameTaken):
		return err
	default:
		a.removeForeign(ctx, kv)
	}
	return nil
}

// removeForeign removes a row in the place of one of the node's that no node wrote, by one request.
func (a *announcement) removeForeign(ctx context.Context, kv *mvccpb.KeyValue) {
	a.warn(fmt.Errorf("%w: somebody else wrote %s; it is removed", clusterlog.ErrCorrupt, kv.Key))
	if _, err := a.log.server(a.log.preferred.Load()).txn(ctx, removal(kv)); err != nil {
		a.warn(err)
	}
}

// await waits for the end of a lease under which another process has written the node's key. wrote is the
// revision of that. It is an error if the process is alive.
func (a *announcement) await(wrote int64, now time.Time) error {
	switch {
	case a.waits.IsZero():
		a.waits, a.wrote, a.wroteAt = now, wrote, time.Time{}
		a.log.logger.Info("An earlier process of this node is still announced; waiting for the end of its lease.", "node", a.name)
	case wrote != a.wrote:
		a.wrote, a.wroteAt = wrote, now
	}
	if now.Sub(a.waits) < predecessorPatience || now.Sub(a.wroteAt) > signOfLife {
		return nil
	}
	return fmt.Errorf("%w: another process announces itself as %s, from a copy of this node's folder. Stop one of the two;"+
		" a node must not be started from a copy of another's folder", clusterlog.ErrNameTaken, a.name)
}
