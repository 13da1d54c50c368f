package node

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"shunt/api/cluster"
	"shunt/api/problem"
	"shunt/engine"
	"shunt/storage/clusterlog"
	"shunt/storage/replicate"
)

// Every full node pulls the outboxes of all other nodes, edges included; an edge pulls from nobody. Each outbox
// has a goroutine of its own, so that a slow node does not delay the others. What has been applied is in the
// store. The position with which a node asks acknowledges everything before it.

const (
	pullInterval = 250 * time.Millisecond // while there is nothing
	pullPause    = time.Second            // after a failure
	lostPause    = time.Minute            // after one that only the operator can repair
	pullTimeout  = 20 * time.Second       // of one request
	dropInterval = time.Second
)

// pulls is what a node knows of the outboxes of others, and of those who pull its own.
type pulls struct {
	mu       sync.Mutex
	began    uint64                         // position of the first record with hits of this process
	acked    map[string]uint64              // by node: through which position it has applied our records
	nodes    map[string]puller              // by node: which process it was when acked was begun
	copies   []replicate.Copy               // of our data, which may become nodes
	saving   sync.Mutex                     // of the file that has copies; comes before mu
	renewing sync.RWMutex                   // read while records are given, held while another outbox begins; comes after dropping
	dropping sync.Mutex                     // of records, or the beginning of another outbox; comes before saving
	asked    map[clusterlog.OutboxID]uint64 // by outbox of another node: through which position it is applied here, durably
	complete map[string]time.Time           // by node: when everything that it had was applied here
	running  map[string]pullingOne          // by node
	patient  time.Time                      // until then nothing is pulled before etcd says what this process is
	behind   map[string]behind              // by node that is pulled from
	settled  map[[16]byte]uint64            // by outbox: an entry of the log; all hits from before it are in the engine's counters (cluster.Outbox.Settled)
	wanted   uint64                         // settled should be
}

// puller is a process of a node. Another one may have begun with an older state of its folder.
type puller struct {
	outbox  [16]byte
	sinceMs int64
}

type pullingOne struct {
	advertise string
	stop      context.CancelFunc
	ended     chan struct{}
}

func (n *Node) initPulls() {
	n.members.asking = make(chan struct{}, 1)
	n.pulls = &pulls{
		acked: make(map[string]uint64), nodes: make(map[string]puller), asked: make(map[clusterlog.OutboxID]uint64), complete: make(map[string]time.Time), running: make(map[string]pullingOne),
		behind:  make(map[string]behind),
		settled: make(map[[16]byte]uint64),
	}
}

// followMembers pulls from all other nodes until ctx is done. An edge notes where the full ones are
// instead.
func (n *Node) followMembers(ctx context.Context) {
	defer n.stopPulls(func(string) bool { return true })
	var clock clockWatch
	if n.replaced {
		n.pulls.patient = time.Now().Add(announcePatience)
	}
	for {
		err := n.clusterLog.Members(ctx, func(members []clusterlog.Member) {
			n.hear(ctx, &clock, members)
		})
		if ctx.Err() != nil {
			return
		}
		n.log.Warn("the nodes of the cluster cannot be listed; retrying", "error", err)
		sleep(ctx, pullPause)
	}
}

// announcePatience is how long a node with a copy of another one's data pulls nothing while etcd does not say what this
// process is.
const announcePatience = 10 * time.Second

// isAnnounced reports whether etcd says what this process is. Until then other nodes may drop hits that an earlier
// process had, and the copy in the place of its folder has not: see pulledByAll.
func (n *Node) isAnnounced(members []clusterlog.Member) bool {
	outbox, _ := n.store.OutboxID()
	return slices.ContainsFunc(members, func(m clusterlog.Member) bool {
		return m.Name == n.settings.Name && m.SinceMs == n.sinceMs && m.Outbox == outbox
	})
}

// hear takes the list of all nodes from the registry.
func (n *Node) hear(ctx context.Context, clock *clockWatch, members []clusterlog.Member) {
	clock.look(n, time.Now(), members)
	n.members.learn(members)
	if n.Edge() {
		n.noteFulls(members)
	} else if time.Now().After(n.pulls.patient) || n.isAnnounced(members) {
		n.pullFrom(ctx, members)
	}
}

// pullFrom begins to pull from new members, and stops for those that are gone.
func (n *Node) pullFrom(ctx context.Context, members []clusterlog.Member) {
	now := make(map[string]string, len(members))
	for _, m := range members {
		if m.Name != n.settings.Name && m.Live {
			now[m.Name] = m.Advertise
		}
	}
	n.stopPulls(func(name string) bool { return now[name] != n.pulls.running[name].advertise })
	for _, m := range members {
		if _, runs := n.pulls.running[m.Name]; runs || now[m.Name] == "" {
			continue
		}
		pulling, stop := context.WithCancel(ctx)
		one := pullingOne{advertise: m.Advertise, stop: stop, ended: make(chan struct{})}
		n.pulls.running[m.Name] = one
		go func() {
			defer close(one.ended)
			n.pullOne(pulling, m)
		}()
	}
}

func (n *Node) stopPulls(which func(name string) bool) {
	for name, one := range n.pulls.running {
		if which(name) {
			one.stop()
			<-one.ended
			delete(n.pulls.running, name)
		}
	}
}

// pullOne pulls from one node until ctx is done.
func (n *Node) pullOne(ctx context.Context, m clusterlog.Member) {
	address, err := addressOf(m.Advertise)
	if err != nil {
		n.log.Error("a node cannot be reached at what it advertises", "node", m.Name, "error", err)
		return
	}
	config := n.identity.client()
	config.ServerName = m.Name
	client := newClient(n.gate, config, pullTimeout)
	defer client.CloseIdleConnections()
	n.beginBehind(m.Name)
	defer n.endBehind(m.Name)
	outbox, failing := [16]byte(m.Outbox), false
	for ctx.Err() == nil {
		more, err := n.pull(ctx, client, m.Name, address, &outbox)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errLost) && !failing:
			failing = true
			n.log.Error("hits that another node has counted are lost here: it no longer keeps them. The next start of this node takes a copy of another node's data, which has them", "node", m.Name)
			if err := n.store.NoteLacksHits(); err != nil {
				n.log.Error("it cannot be noted that the next start takes a copy", "error", err)
			}
		case err != nil && !failing:
			failing = true
			n.log.Warn("the hits of another node cannot be pulled; retrying", "node", m.Name, "error", err)
		case err == nil && failing:
			failing = false
			n.log.Info("the hits of another node are pulled again", "node", m.Name)
		}
		pause := pullInterval
		switch {
		case errors.Is(err, errLost):
			pause = lostPause
		case err != nil:
			pause = pullPause
		case more:
			continue
		}
		sleep(ctx, pause)
	}
}

// errLost: another node no longer has the records that come next here.
var errLost = errors.New("the records that come next are lost")

// pull asks a node once and applies what it gives. It remembers the id of the node's outbox.
func (n *Node) pull(ctx context.Context, client *http.Client, name, address string, outbox *[16]byte) (more bool, err error) {
	through, last, err := n.store.PulledThrough(*outbox)
	if err != nil {
		return false, err
	}
	query := cluster.OutboxQuery{Known: *outbox, After: through, Hash: last, Kept: n.kept(*outbox, through), Settle: n.wantsSettled(*outbox), Lost: n.logLost()}
	asked := time.Now()
	resp, err := ask(ctx, client, name, http.MethodGet, "https://"+address+query.String(), nil, http.StatusOK)
	if said, answered := errors.AsType[*answerError](err); answered && said.status == http.StatusGone {
		return false, errLost
	}
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	part, err := cluster.ReadOutbox(resp.Body)
	if err != nil {
		return false, err
	}
	peer, err := cluster.PeerBy(resp.TLS.PeerCertificates[0])
	if err != nil {
		return false, err
	}
	if peer.Name != name {
		return false, fmt.Errorf("the node that answers has the certificate of %s", peer.Name)
	}
	if err := n.mayHave(n.members.remembered(), peer, part.ID); err != nil {
		return false, err
	}
	got := uint64(0)
	for _, record := range part.Records {
		got += uint64(len(record))
	}
	n.noteBehind(name, part.Left+uint64(len(part.Records)), part.LeftBytes+got)
	if *outbox = part.ID; len(part.Records) > 0 {
		if err := n.applyPart(ctx, &part); err != nil {
			return false, err
		}
	}
	n.noteBehind(name, part.Left, part.LeftBytes)
	if !part.More {
		n.pulls.mu.Lock()
		n.pulls.complete[name] = asked
		n.pulls.settled[part.ID] = max(n.pulls.settled[part.ID], part.Settled)
		n.pulls.mu.Unlock()
	}
	return part.More, nil
}

// applyPart applies all records of a part.
func (n *Node) applyPart(ctx context.Context, part *cluster.Outbox) error {
	pause := 10 * time.Millisecond
	for last := part.First + uint64(len(part.Records)); ; {
		var next uint64
		err := n.engine.Pulled(func() ([]engine.PulledHits, error) {
			p, err := n.store.ApplyPulled(part.ID, part.First, part.Records)
			next = p.Next
			return p.Hits, err
		})
		switch {
		case errors.Is(err, replicate.ErrOutboxEarly), errors.Is(err, engine.ErrBehind), errors.Is(err, engine.ErrLoading): // soon
			if !sleep(ctx, pause) {
				return ctx.Err()
			}
			pause = min(2*pause, pullPause)
		case err != nil:
			return err
		case next >= last:
			return nil
		}
	}
}

// wantsSettled reports whether a node is to say how far its outbox is settled.
func (n *Node) wantsSettled(outbox [16]byte) bool {
	p := n.pulls
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.settled[outbox] < p.wanted
}

// Outbox returns records of this node's outbox for another node: see api.Cluster.
func (n *Node) Outbox(name string, q cluster.OutboxQuery) (cluster.Outbox, error) {
	if q.Lost != n.logLost() {
		return cluster.Outbox{}, problem.New(problem.Stale, "only one of the two nodes can follow the log of the cluster")
	}
	settled := uint64(0)
	if q.Settle {
		settled = n.settle()
	}
	part, err := n.records(name, q)
	if errors.Is(err, replicate.ErrOutboxUnknown) { // so it knows this outbox
		if err := n.beginAnother(q.Known, "node", name, "has_applied_record", q.After, "error", err); err != nil {
			return cluster.Outbox{}, err
		}
		part, err = n.records(name, q)
	}
	switch {
	case errors.Is(err, replicate.ErrOutboxDropped):
		return cluster.Outbox{}, fmt.Errorf("%w: %w", cluster.ErrLost, err)
	case err != nil:
		return cluster.Outbox{}, err
	}
	o := cluster.Outbox{ID: part.ID, First: part.First, Records: part.Records, More: part.More, Settled: settled}
	n.countLeft(&o)
	return o, nil
}

// records returns the records that a node asks for, and notes which it has. The outbox stays the same meanwhile, so
// a position in an old one is not noted for a new one.
func (n *Node) records(name string, q cluster.OutboxQuery) (part replicate.Posted, err error) {
	n.pulls.renewing.RLock()
	defer n.pulls.renewing.RUnlock()
	id, ok := n.store.OutboxID()
	if !ok {
		return part, errors.New("this node has no outbox")
	}
	after, hash := q.After, replicate.RecordHash(q.Hash)
	if q.Known != id {
		after, hash = 0, replicate.RecordHash{} // it knows another history of this node, or none
	}
	has, err := n.store.RecordHash(after)
	if err == nil && has != hash {
		err = fmt.Errorf("record %d is another one: %w", after, replicate.ErrOutboxUnknown)
	}
	if err != nil {
		return part, err
	}
	part, err = n.store.Outbox(after, cluster.MaxOutboxBytes)
	if err == nil && q.Known == part.ID {
		n.acknowledge(name, min(q.Kept, after))
	}
	return part, err
}

// settleTimeout bounds how long a node that pulls waits for a flush.
const settleTimeout = 5 * time.Second

// settle returns an entry of the log: all hits that this node has admitted before it had applied that are in its
// outbox. 0: it cannot say so at present.
func (n *Node) settle() uint64 {
	applied := n.Applied() // before: what it says must not be younger than the hits that are flushed
	ctx, cancel := context.WithTimeout(context.Background(), settleTimeout)
	defer cancel()
	if n.engine.SettleHits(ctx) != nil {
		return 0
	}
	return applied
}

// dropPulled drops what all other full nodes have applied, every second until ctx is done.
func (n *Node) dropPulled(ctx context.Context) {
	for sleep(ctx, dropInterval) {
		members, err := n.clusterLog.Nodes(ctx)
		if err != nil {
			continue // the outbox has a bound
		}
		for more := true; more && ctx.Err() == nil; {
			if more, err = n.dropSome(members); err != nil {
				n.log.Error("records of the outbox cannot be dropped", "error", err)
				break
			}
		}
	}
}

// dropSome drops some records that all other full nodes have applied; more reports whether there are others.
func (n *Node) dropSome(members []clusterlog.Member) (more bool, err error) {
	n.pulls.dropping.Lock()
	defer n.pulls.dropping.Unlock()
	return n.store.DropOutbox(n.pulledByAll(members))
}

// pulledByAll returns through which position all other full nodes have applied this node's records. A
// node that has not asked since this process began may lack all of them.
func (n *Node) pulledByAll(members []clusterlog.Member) uint64 {
	through, pulled := n.store.Metrics().OutboxNext-1, !n.Edge()
	p := n.pulls
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range members {
		if now := (puller{m.Outbox, m.SinceMs}); p.nodes[m.Name] != now { // it may be another node of that name
			p.nodes[m.Name], p.acked[m.Name] = now, 0
		}
		if m.Name != n.settings.Name && m.Role == clusterlog.Full {
			through, pulled = min(through, p.acked[m.Name]), true
		}
	}
	if !pulled { // only an edge has these hits
		return 0
	}
	for _, c := range p.heldLocked() {
		through = min(through, c.Own)
	}
	return through
}
