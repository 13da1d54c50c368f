package node

import (
	"context"
	"errors"
	"fmt"

	"shunt/api/cluster"
	"shunt/engine"
	"shunt/storage/clusterlog"
)

// Each node tells the one that leads what it has used of the caps of links, and that one answers through the
// log: see engine/caps.

// shareCaps tells the leader about caps until ctx is done.
func (n *Node) shareCaps(ctx context.Context) {
	s := sender{node: n}
	defer s.close()
	n.engine.ShareCaps(ctx, n, func(ctx context.Context, m *engine.CapMessage) error {
		if n.Leads() {
			return n.TakeCaps(ctx, cluster.Peer{Name: n.settings.Name}, m)
		}
		body, err := cluster.AppendCapMessage(m)
		if err != nil {
			return err
		}
		return s.post(ctx, cluster.CapsPath, body)
	})
}

// TakeCaps handles a message about caps from another node, while this one leads.
func (n *Node) TakeCaps(ctx context.Context, peer cluster.Peer, m *engine.CapMessage) error {
	outboxes, err := n.members.outboxes(ctx)
	if errors.Is(err, clusterlog.ErrUnavailable) { // soon: it leads, so etcd has answered
		return fmt.Errorf("%w: %w", engine.ErrNotLeader, err)
	}
	if err != nil {
		return err
	}
	if err := n.mayHave(outboxes, peer, m.Node); err != nil {
		n.members.forget() // it may have come since
		return fmt.Errorf("%w: node %s is another one here: %w", engine.ErrNotLeader, peer.Name, err)
	}
	return n.engine.TakeCapMessage(ctx, m, len(outboxes))
}

// All implements engine.CapNodes.
func (n *Node) All(ctx context.Context) ([][16]byte, error) {
	n.members.forget()
	outboxes, err := n.members.outboxes(ctx)
	all := make([][16]byte, 0, len(outboxes))
	for _, outbox := range outboxes {
		all = append(all, outbox)
	}
	return all, err
}

// Shown implements engine.CapNodes.
func (n *Node) Shown(outbox [16]byte) (uint64, error) {
	p := n.pulls
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shown[outbox], nil
}
