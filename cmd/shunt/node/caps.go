package node

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"shunt/api/cluster"
	"shunt/engine"
)

// The node that leads decides the redirects of links with a cap: see engine/caps.

// askCaps asks the node that leads about redirects that wait here, until ctx is done.
func (n *Node) askCaps(ctx context.Context) {
	leader := sender{node: n}
	defer leader.close()
	n.engine.AskCaps(ctx, func(ctx context.Context, asks []engine.CapAsk) (answers []engine.CapAnswer, err error) {
		if n.Leads() {
			return n.GrantCaps(ctx, asks)
		}
		body, err := json.Marshal(asks)
		if err != nil {
			return nil, err
		}
		if body, err = leader.post(ctx, cluster.CapsPath, body, http.StatusOK, cluster.MaxCapsBytes); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(body, &answers); err != nil {
			return nil, fmt.Errorf("an answer about caps: %w", err)
		}
		return answers, nil
	})
}

// GrantCaps answers a node that asks about caps, while this one leads.
func (n *Node) GrantCaps(ctx context.Context, asks []engine.CapAsk) ([]engine.CapAnswer, error) {
	return n.engine.GrantCaps(ctx, n, asks)
}

// Settled implements engine.CapNodes.
func (n *Node) Settled(ctx context.Context, sequence uint64) bool {
	if !n.settledBy(ctx, sequence) {
		return false
	}
	n.members.forget() // a node may have come since
	return n.settledBy(ctx, sequence)
}

// settledBy is Settled as far as the nodes are known.
func (n *Node) settledBy(ctx context.Context, sequence uint64) bool {
	all, err := n.members.outboxes(ctx)
	if err != nil {
		return false
	}
	p := n.pulls
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wanted = max(p.wanted, sequence)
	for name, outbox := range all {
		if name != n.settings.Name && p.settled[outbox] < sequence {
			return false
		}
	}
	return true
}
