package edge

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"shunt/api"
	"shunt/api/absent"
	"shunt/api/account"
	"shunt/api/admin"
	"shunt/api/certificate"
	"shunt/api/domain"
	"shunt/api/folder"
	"shunt/api/lock"
	"shunt/cmd/shunt/core"
	"shunt/engine"
	"shunt/storage"
	"shunt/storage/clusterlog"
	"shunt/storage/replica"
	"shunt/storage/replicate"
)

// staleAfter is how long an edge may lack what its writer has before it says so.
const staleAfter = 10 * time.Second

// Node is this process as an edge of a writer. It implements replica.Node.
type Node struct {
	domains      *domain.Domains
	certificates *certificate.Certificates
	settings     Settings
	log          *slog.Logger
	process      string
	listens      net.Addr // of the public address; nil: not known yet

	client   *client
	finder   *client // of codes
	unlocker *client // about passwords of links
	source   *source
	rows     *replicate.Rows
	engine   *engine.Engine // nil before Use
	replica  atomic.Pointer[replica.Replica]

	catchingUp replica.CatchingUp
}

var _ replica.Node = (*Node)(nil)

// Open reads the token of an edge with settings that Check accepts. It connects to nobody yet.
func Open(s *Settings, log *slog.Logger) (*Node, error) {
	token, err := s.readToken()
	if err != nil {
		return nil, err
	}
	n := &Node{settings: *s, log: log, process: rand.Text(), catchingUp: replica.CatchingUp{Patience: staleAfter}}
	n.client = newClient(s.Of, token, n.process, n.isOwn, 1)
	n.finder, n.unlocker = n.client.another(1), n.client.another(lock.MaxQuestions)
	return n, nil
}

// Edge reports that this is an edge.
func (*Node) Edge() bool { return true }

// Listener returns nil: an edge needs no listener for others.
func (*Node) Listener(func(net.Listener)) (net.Listener, error) { return nil, nil }

// ListensAt says where this process listens for everybody.
func (n *Node) ListensAt(public net.Addr) { n.listens = public }

// isOwn reports whether an address is where this process listens.
func (n *Node) isOwn(remote net.Addr) bool {
	own, there := n.listens.(*net.TCPAddr)
	to, ok := remote.(*net.TCPAddr)
	if !there || !ok || own.Port != to.Port {
		return false
	}
	if !own.IP.IsUnspecified() {
		return own.IP.Equal(to.IP)
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, one := range all {
		if p, err := netip.ParsePrefix(one.String()); err == nil && p.Addr().Unmap() == to.AddrPort().Addr().Unmap() {
			return true
		}
	}
	return false
}

// VisitorKey asks the writer for the key that the store of a new edge begins with.
func (n *Node) VisitorKey(ctx context.Context) (key [16]byte, err error) {
	id, err := n.client.meet(ctx)
	if err != nil {
		return key, fmt.Errorf("--edge-of %s: this edge cannot begin: %w", n.settings.Of, err)
	}
	return [16]byte(id.VisitorKey), nil
}

// Join makes the store, which is not in use yet, that of an edge, if it is new, and takes a copy if it has none. A
// store that has links does not wait for the writer.
func (n *Node) Join(ctx context.Context, store *storage.Store) error {
	n.rows = replicate.Of(store)
	defer n.rows.DoubtLinks() // till the journal is replayed: the copy may be newer
	id := store.Identity().StoreID
	n.client.store = hex.EncodeToString(id[:])
	n.source = &source{client: n.client, rows: n.rows, log: n.log, token: n.settings.readToken}
	n.source.revoked.Store(n.rows.Revoked())
	n.client.token.refused, n.client.token.again = n.source.refused, n.settings.readToken
	if !n.rows.Edge() {
		if err := n.begin(ctx, store); err != nil {
			return err
		}
	}
	if id, _ := n.rows.Log(); id != (clusterlog.ID{}) {
		return nil
	}
	if err := n.copy(ctx, deaf{}); err != nil {
		return fmt.Errorf("--edge-of %s: taking a copy of the links: %w", n.settings.Of, err)
	}
	return nil
}

// begin makes a store without a copy that of an edge.
func (n *Node) begin(ctx context.Context, store *storage.Store) error {
	if id, member := n.rows.Cluster(); member {
		return fmt.Errorf("--edge-of: this data folder is of the cluster %v: begin with an empty folder (--data)", id)
	}
	key, err := n.VisitorKey(ctx)
	if err != nil {
		return err
	}
	if key == store.Identity().VisitorKey {
		err = n.rows.BecomeEdge()
	} else {
		err = replicate.ErrNotEmpty
	}
	if errors.Is(err, replicate.ErrNotEmpty) {
		return errors.New("--edge-of: this data folder is that of a server of its own: begin with an empty folder (--data)")
	}
	return err
}

// copy takes a copy of the links, and tells to what has changed.
func (n *Node) copy(ctx context.Context, to replicate.Learner) error {
	began := time.Now()
	n.log.Info("taking a copy of the writer's links", "writer", n.settings.Of)
	err := n.client.copy(ctx, func(r io.Reader) error {
		defer n.catchingUp.Copies()()
		return n.rows.Mirror(ctx, r, to)
	})
	if err != nil {
		if _, refused := n.client.meet(ctx); errors.Is(refused, errRevoked) { // which ended the copy
			return refused
		}
		return err
	}
	_, at := n.rows.Log()
	n.log.Info("this edge has all links of its writer", "writer", n.settings.Of, "position", at.Sequence, "took", time.Since(began).Round(time.Millisecond))
	return nil
}

// deaf is told of links while nobody has any in memory.
type deaf struct{}

// Learn implements replicate.Learner.
func (deaf) Learn(*engine.Learned) error { return nil }

// AccountsChanged implements replicate.Learner.
func (deaf) AccountsChanged() {}

// FoldersChanged implements replicate.Learner.
func (deaf) FoldersChanged() {}

// DomainsChanged implements replicate.Learner.
func (deaf) DomainsChanged() error { return nil }

// Check finds nothing wrong: an edge starts without its writer.
func (*Node) Check(context.Context, *core.Core, *core.Data) (replaced bool, err error) {
	return false, nil
}

// Use gives the edge the engine that it keeps up to date. The hits of the last journal are in the outbox.
func (n *Node) Use(e *engine.Engine, _ *account.Accounts, _ *folder.Folders, d *domain.Domains, c *certificate.Certificates) {
	n.domains, n.certificates = d, c
	n.engine, n.source.began = e, n.rows.Metrics().OutboxNext
	n.rows.TrustLinks()
}

// Answer says in o that this is an edge.
func (n *Node) Answer(o *api.Options, _ *core.Core) {
	o.Metrics.Cluster = n.Figures
	n.source.certificate = o.Metrics.Certificate
	o.Absent, o.Unlock = n.absent(), n.unlock
	o.EdgeOf = api.EdgeOf{
		Writer: n.settings.Of, Process: n.process, Revoked: n.source.revoked.Load, Stale: n.stale, Token: n.client.token.Load,
		Refused: func(token string) { n.client.token.isRefused(token, errRevoked) },
	}
}

// unlock asks whether a visitor has typed the password of a link. It has connections of its own: what visitors do must
// not keep this edge from following its writer.
func (n *Node) unlock(ctx context.Context, q lock.Question) (lock.Answer, error) {
	if n.stale() {
		return lock.Answer{}, errGone
	}
	return n.unlocker.unlock(ctx, q)
}

// absent is who is asked about codes that this edge does not know.
func (n *Node) absent() absent.Source {
	return absent.Source{Gone: n.stale, Ask: n.finder.find, Applied: n.awaitApplied}
}

// appliedPoll is the time between two looks of awaitApplied. An entry takes milliseconds.
const appliedPoll = 500 * time.Microsecond

// awaitApplied waits until this edge has applied the log through sequence.
func (n *Node) awaitApplied(ctx context.Context, sequence uint64) error {
	for n.rows.AppliedSequence() < sequence {
		select {
		case <-time.After(appliedPoll):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// stale reports whether the writer has not answered for some time.
func (n *Node) stale() bool {
	r := n.replica.Load()
	if r == nil {
		return true
	}
	lag, known := r.Lag()
	return !known || lag > staleAfter
}

// retryPause is the time between two attempts to follow after an error that may go away.
const retryPause = 5 * time.Second

// Run follows the writer until ctx is done. Links must be loaded. Whatever goes wrong, redirects go on.
func (n *Node) Run(ctx context.Context) error {
	defer n.client.close()
	var asking sync.WaitGroup
	defer asking.Wait()
	asking.Go(func() { n.askCaps(ctx) })
	for ctx.Err() == nil {
		r := replica.New(n.source, n.rows, n, replica.Options{Name: "edge", NeverLeads: true, Logger: n.log})
		n.replica.Store(r)
		err := r.Run(ctx)
		if ctx.Err() != nil {
			break
		}
		if why := whyCopy(err); why != "" {
			n.log.Warn("this edge cannot follow its writer from where it is, and takes a new copy of all links; redirects go on meanwhile", "why", why)
			err = n.copy(ctx, n)
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		n.log.Error("this edge cannot follow its writer; retrying", "writer", n.settings.Of, "error", err)
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
		}
	}
	return nil
}

// askCaps asks the writer about redirects of links with a cap, until ctx is done.
func (n *Node) askCaps(ctx context.Context) {
	asker := n.client.another(1)
	defer asker.close()
	n.engine.AskCaps(ctx, func(ctx context.Context, asks []engine.CapAsk) ([]engine.CapAnswer, error) {
		if n.stale() {
			return nil, errGone
		}
		return asker.caps(ctx, asks)
	})
}

// errGone: the writer has not answered for some time, so no visitor waits for it.
var errGone = errors.New("the writer does not answer")

// whyCopy says to people why an edge that cannot follow because of err can after another copy; empty: it cannot.
func whyCopy(err error) string {
	switch {
	case errors.Is(err, clusterlog.ErrForeignLog):
		return "the writer has begun another log of changes: it was restored from a backup, or had no edge with a token for a while. Links that it has lost end here, too"
	case errors.Is(err, clusterlog.ErrAhead), errors.Is(err, clusterlog.ErrDiverged):
		return "the data folder of the writer was rolled back, such as by a snapshot of its machine. Links that it has lost end here, too"
	case errors.Is(err, clusterlog.ErrBelowFloor):
		return "this edge was away for longer than its writer keeps changes"
	case errors.Is(err, clusterlog.ErrCorrupt):
		return "a change came damaged: " + err.Error()
	}
	return ""
}

// Close closes the connection.
func (n *Node) Close() error {
	n.client.close()
	n.finder.close()
	n.unlocker.close()
	return nil
}

// Learn implements replica.Node.
func (n *Node) Learn(l *engine.Learned) error { return n.engine.Learn(l) }

// AccountsChanged implements replica.Node: an edge has no accounts.
func (*Node) AccountsChanged() {}

// FoldersChanged implements replica.Node: nor has it folders.
func (*Node) FoldersChanged() {}

// DomainsChanged implements replica.Node.
func (n *Node) DomainsChanged() error {
	if err := n.certificates.Changed(); err != nil { // the others serve
		n.log.Error("a certificate in the store cannot be read", "cause", err)
	}
	return n.domains.Changed()
}

// Lead implements replica.Node.
func (*Node) Lead(context.Context, func()) error { return errNeverLeads }

// StopLeading implements replica.Node.
func (*Node) StopLeading() {}

// Leads reports that an edge does not lead.
func (*Node) Leads() bool { return false }

// Figures returns the metrics of the edge. Any goroutine may call it.
func (n *Node) Figures() admin.Cluster {
	applied := n.rows.AppliedSequence()
	c := admin.Cluster{Role: "edge", OfWriter: true, Lag: -1, Applied: applied, Head: applied, Stale: true}
	m := n.rows.Metrics()
	c.OutboxBytes, c.Append = m.OutboxBytes, admin.Buckets(m.Append)
	if !m.OutboxOldest.IsZero() {
		c.OutboxAge = max(0, time.Since(m.OutboxOldest).Seconds())
	}
	r := n.replica.Load()
	c.CatchingUp = n.catchingUp.Look(r)
	if r == nil {
		return c
	}
	_, c.Head = r.Sequences()
	c.Head = max(c.Head, applied)
	if lag, known := r.Lag(); known {
		c.Lag, c.Stale = lag.Seconds(), lag > staleAfter
	}
	return c
}
