package node

import (
	"cmp"
	"slices"
	"time"

	"shunt/api/admin"
	"shunt/api/cluster"
	"shunt/storage/replica"
)

// behind is the part of another node's outbox that was not applied here when it last answered.
type behind struct {
	since          time.Time // when this node began to ask it
	records, bytes uint64
}

// beginBehind notes that this node begins to pull from another one. Only such nodes have figures, so there are
// at most as many as nodes of the cluster.
func (n *Node) beginBehind(name string) {
	p := n.pulls
	p.mu.Lock()
	defer p.mu.Unlock()
	p.behind[name] = behind{since: time.Now()}
}

func (n *Node) endBehind(name string) {
	n.pulls.mu.Lock()
	defer n.pulls.mu.Unlock()
	delete(n.pulls.behind, name)
}

func (n *Node) noteBehind(name string, records, bytes uint64) {
	p := n.pulls
	p.mu.Lock()
	defer p.mu.Unlock()
	if b, pulled := p.behind[name]; pulled {
		b.records, b.bytes = records, bytes
		p.behind[name] = b
	}
}

// countLeft sets in o how much this node's outbox has after it.
func (n *Node) countLeft(o *cluster.Outbox) {
	m := n.store.Metrics()
	first, end := m.OutboxFirst, o.First+uint64(len(o.Records))
	if m.OutboxNext <= end || m.OutboxNext <= first {
		return
	}
	o.Left = m.OutboxNext - end
	o.LeftBytes = uint64(float64(m.OutboxBytes) * min(1, float64(o.Left)/float64(m.OutboxNext-first)))
}

// outboxFigures fills in the figures of outboxes.
func (n *Node) outboxFigures(c *admin.Cluster) {
	m := n.store.Metrics()
	c.OutboxBytes, c.Append, c.LacksHits = m.OutboxBytes, admin.Buckets(m.Append), n.store.LacksHits()
	if !m.OutboxOldest.IsZero() {
		c.OutboxAge = max(0, time.Since(m.OutboxOldest).Seconds())
	}
	p := n.pulls
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, b := range p.behind {
		since := b.since
		if complete := p.complete[name]; complete.After(since) {
			since = complete
		}
		c.Pulls = append(c.Pulls, admin.ClusterPull{Node: name, Records: b.records, Bytes: b.bytes, Seconds: time.Since(since).Seconds()})
	}
	slices.SortFunc(c.Pulls, func(a, b admin.ClusterPull) int { return cmp.Compare(a.Node, b.Node) })
}

// serverFigures fills in what only the node that leads knows of etcd.
func serverFigures(c *admin.Cluster, r *replica.Replica) {
	c.WritesRefused = r.Full()
	if s := r.Fullest(); s != nil {
		c.Etcd = &admin.ClusterServer{Used: s.UsedBytes, Size: s.SizeBytes, Quota: s.QuotaBytes}
	}
}
