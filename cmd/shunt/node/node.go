package node

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"shunt/api/account"
	"shunt/api/admin"
	"shunt/api/certificate"
	"shunt/api/cluster"
	"shunt/api/domain"
	"shunt/api/folder"
	"shunt/cmd/shunt/certs"
	"shunt/engine"
	"shunt/storage"
	"shunt/storage/clusterlog"
	"shunt/storage/etcdlog"
	"shunt/storage/replica"
	"shunt/storage/replicate"
)

// Node is this process as a node of its cluster. It implements cluster.State and replica.Node.
type Node struct {
	settings *Settings
	log      *slog.Logger
	sinceMs  int64 // start of this process, in Unix ms
	identity identity
	files    *certs.Files // of the certificate
	etcd     etcdlog.Options

	clusterLog   *etcdlog.Log
	store        *replicate.Rows
	engine       *engine.Engine
	accounts     *account.Accounts
	domains      *domain.Domains
	folders      *folder.Folders
	certificates *certificate.Certificates
	replica      atomic.Pointer[replica.Replica] // nil before Run
	catchingUp   replica.CatchingUp

	gate         *cluster.Gate
	owners       owners
	pulls        *pulls
	members      members
	fulls        atomic.Pointer[[]cluster.Place] // full nodes, of an edge
	replaced     bool                            // this process has put a copy of another node's data in the place of its own
	announcement clusterlog.Announcement         // nil until the name is claimed; Check's, then Run's
	lost         atomic.Pointer[replica.Replica] // it found that the servers have lost the log: see logLost; nil: they have it
}

var (
	_ cluster.State = (*Node)(nil)
	_ replica.Node  = (*Node)(nil)
)

// Open reads the certificates of a node with settings that Check accepts. It connects to nobody yet.
func Open(s *Settings, log *slog.Logger) (*Node, error) {
	n := &Node{settings: s, log: log, sinceMs: time.Now().UnixMilli(), gate: cluster.NewGate(), catchingUp: replica.CatchingUp{Patience: s.StaleAfter}}
	n.initPulls()
	var err error
	if n.identity, n.files, err = s.readIdentity(log); err != nil {
		return nil, err
	}
	if n.etcd, err = s.etcd(); err != nil {
		return nil, err
	}
	if n.etcd.TLS != nil {
		n.etcd.TLS = n.identity.client()
	}
	n.etcd.Logger, n.etcd.OpenOnly = log, n.Edge()
	return n, nil
}

// joinTimeout bounds how long a start waits for etcd where it must decide which cluster it is of. A node
// that knows its cluster starts without etcd.
const joinTimeout = 10 * time.Second

// Join adds the store, which is not in use yet, to the cluster, if it belongs to none: the first node of a cluster
// begins its log. Errors leave the store as it was.
func (n *Node) Join(ctx context.Context, store *storage.Store) error {
	n.store = replicate.Of(store)
	n.readCopies()
	if err := n.checkFolder(); err != nil {
		return err
	}
	n.etcd.Key = clusterlog.FingerprintOf(store.Identity().VisitorKey)
	id, member := n.store.Cluster()
	begins := !member
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	if !member {
		found, _, err := etcdlog.Find(ctx, n.etcd)
		switch {
		case err == nil:
			return fmt.Errorf("--cluster: there is the cluster %v already, and this data folder is of none: begin with a copy of another node's (shunt join)", found)
		case !errors.Is(err, clusterlog.ErrForeignLog):
			return fmt.Errorf("--cluster: %w", err)
		}
		id = clusterlog.NewID()
		if err := n.store.JoinLog(id, clusterlog.Origin(id)); err != nil {
			return err
		}
		n.log.Info("this data folder is the first of a new cluster", "cluster", id.String())
	}
	n.etcd.ID = id
	if at, _ := n.store.LogPosition(); at == clusterlog.Origin(id) && !n.Edge() { // its log may not have been made
		if err := etcdlog.Create(ctx, n.etcd); err != nil {
			if begins && errors.Is(err, clusterlog.ErrForeignLog) { // another node was faster: this folder is of none again
				err = errors.Join(err, n.store.LeaveLog())
			}
			err, _ = withVerdict(err)
			return fmt.Errorf("--cluster: beginning the log: %w", err)
		}
	}
	var err error
	if n.clusterLog, err = etcdlog.New(n.etcd); err == nil {
		n.members.list = n.clusterLog.Nodes
	}
	return err
}

// Check refuses servers of etcd that are too old, or have the log of another cluster, if they answer, and claims the
// name of this node. Then it does what a folder that was rolled back needs: replaced reports that the store is to be
// opened again, because it is another one now, and Join and Check called for it.
func (n *Node) Check(ctx context.Context, f *Folder) (replaced bool, err error) {
	answers, err := n.checkLog(ctx)
	if err == nil && answers {
		replaced, err = n.checkRollBack(ctx, f)
	}
	if err != nil {
		err, _ = withVerdict(err)
		return false, fmt.Errorf("--cluster: %w", err)
	}
	return replaced, nil
}

// checkLog is Check without what a folder that was rolled back needs; answers is false if etcd does not answer.
func (n *Node) checkLog(ctx context.Context) (answers bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	err = n.clusterLog.Check(ctx)
	if errors.Is(err, clusterlog.ErrUnavailable) {
		n.log.Warn("the log of the cluster does not answer; redirects work, and the rest waits for it", "error", err)
		return false, nil
	}
	if err == nil {
		err = n.checkPosition(ctx)
	}
	if err == nil {
		err = n.checkClockAtStart(ctx)
	}
	if err == nil {
		err = n.claim(ctx)
	}
	return err == nil, err
}

// checkPosition compares the store with the log, so that a start fails at once if the node could never follow. A node
// that the log was trimmed past starts, and takes a copy of what it missed.
func (n *Node) checkPosition(ctx context.Context) error {
	status, err := n.clusterLog.Status(ctx)
	if errors.Is(err, clusterlog.ErrUnavailable) {
		return nil
	}
	if err != nil {
		return err
	}
	at, _ := n.store.LogPosition()
	return at.Before(status.Head)
}

// claim claims the name of this node, unless etcd does not answer.
func (n *Node) claim(ctx context.Context) error {
	id, _, err := n.store.NodeID()
	if err != nil {
		return err
	}
	outbox, _ := n.store.OutboxID()
	n.announcement, err = n.clusterLog.Announce(ctx, clusterlog.Node{
		Name: n.settings.Name, Advertise: n.settings.Advertise, Role: clusterlog.Role(n.settings.Role), Outbox: outbox, Reads: replicate.ReadsEntries,
		Applied: n.Applied(), SinceMs: n.sinceMs, LacksHits: n.store.LacksHits(),
	}, id)
	if errors.Is(err, clusterlog.ErrUnavailable) {
		return nil
	}
	return err
}

// Close closes the connections to etcd.
func (n *Node) Close() error {
	if n.clusterLog == nil {
		return nil
	}
	return n.clusterLog.Close()
}

// Use gives the node the parts that it keeps up to date. The hits of the last journal are in the outbox.
func (n *Node) Use(e *engine.Engine, a *account.Accounts, f *folder.Folders, d *domain.Domains, c *certificate.Certificates) {
	n.engine, n.accounts, n.folders, n.domains, n.certificates = e, a, f, d, c
	n.pulls.began = n.store.Metrics().OutboxNext
	a.ShareUses(n.sendUses)
}

// Listener returns the listener for other nodes. prepare gets the one below TLS.
func (n *Node) Listener(prepare func(net.Listener)) (net.Listener, error) {
	ln, err := net.Listen("tcp", n.settings.Listen)
	if err != nil {
		return nil, fmt.Errorf("--cluster-listen: %w", err)
	}
	prepare(ln)
	return n.gate.Listener(ln, n.identity.server()), nil
}

// TLS returns the settings of connections to other nodes.
func (n *Node) TLS() *tls.Config { return n.identity.client() }

// Learn implements replica.Node.
func (n *Node) Learn(l *engine.Learned) error { return n.engine.Learn(l) }

// AccountsChanged implements replica.Node.
func (n *Node) AccountsChanged() { n.accounts.Changed() }

// FoldersChanged implements replica.Node.
func (n *Node) FoldersChanged() {
	if err := n.folders.Changed(); err != nil { // those that are known go on
		n.log.Error("a folder in the store cannot be read", "cause", err)
	}
}

// DomainsChanged implements replica.Node.
func (n *Node) DomainsChanged() error {
	if err := n.certificates.Changed(); err != nil { // the others serve
		n.log.Error("a certificate in the store cannot be read", "cause", err)
	}
	return n.domains.Changed()
}

// Lead implements replica.Node.
func (n *Node) Lead(ctx context.Context, begin func()) error {
	return n.accounts.Lead(ctx, func() error {
		return n.domains.Lead(ctx, func() error {
			return n.certificates.Lead(ctx, func() error {
				return n.folders.Lead(ctx, func() error { return n.engine.Lead(ctx, begin) })
			})
		})
	})
}

// StopLeading implements replica.Node.
func (n *Node) StopLeading() { n.engine.StopLeading() }

// Leads implements cluster.State.
func (n *Node) Leads() bool {
	r := n.replica.Load()
	return r != nil && r.Leads()
}

// Leader implements cluster.State.
func (n *Node) Leader() (name, address string) {
	r := n.replica.Load()
	if r == nil {
		return "", ""
	}
	name, advertise := splitCandidate(r.Leader().Candidate)
	if name == n.settings.Name {
		return name, ""
	}
	address, err := addressOf(advertise)
	if err != nil {
		return name, ""
	}
	return name, address
}

// candidate is how the log names this node while it leads: by its name, and where it is.
func (n *Node) candidate() string { return n.settings.Name + " " + n.settings.Advertise }

func splitCandidate(candidate string) (name, advertise string) {
	name, advertise, _ = strings.Cut(candidate, " ")
	return name, advertise
}

// Applied implements cluster.State.
func (n *Node) Applied() uint64 { return n.store.AppliedSequence() }

// appliedPoll is the time between two looks of AwaitApplied. An entry takes milliseconds.
const appliedPoll = 500 * time.Microsecond

// AwaitApplied implements cluster.State.
func (n *Node) AwaitApplied(ctx context.Context, sequence uint64) error {
	for n.Applied() < sequence {
		select {
		case <-time.After(appliedPoll):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Stale implements cluster.State.
func (n *Node) Stale() bool {
	r := n.replica.Load()
	if r == nil {
		return true
	}
	lag, known := r.Lag()
	return !known || lag > n.settings.StaleAfter
}

// Member implements cluster.State.
func (n *Node) Member(name string) (member, known bool) { return n.members.has(name) }

// Figures returns the metrics of the node. Any goroutine may call it.
func (n *Node) Figures() admin.Cluster {
	c := admin.Cluster{Role: "follower", Lag: -1, Applied: n.Applied(), Head: n.Applied(), Stale: n.Stale(), CertificateEnds: n.identity.certificate().Leaf.NotAfter}
	if n.Edge() {
		c.Role = "edge"
	}
	n.outboxFigures(&c)
	r := n.replica.Load()
	c.CatchingUp = n.catchingUp.Look(r)
	if r == nil {
		return c
	}
	serverFigures(&c, r)
	if r.Leads() {
		c.Role = "leader"
	}
	c.Epoch = r.Leader().Epoch
	c.Applied, c.Head = r.Sequences()
	if lag, known := r.Lag(); known {
		c.Lag = lag.Seconds()
	}
	return c
}
