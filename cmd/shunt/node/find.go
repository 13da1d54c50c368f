package node

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"shunt/api/absent"
	"shunt/api/cluster"
	"shunt/api/lock"
	"shunt/engine"
)

// maxFoundBytes bounds an answer about codes, or about a password.
const maxFoundBytes = 4 << 10

// Absent is who is asked about codes that this node does not know: the one that leads.
func (n *Node) Absent() absent.Source {
	leader := &sender{node: n}
	return absent.Source{
		Gone: func() bool { return n.Leads() || n.Stale() },
		Ask: func(ctx context.Context, codes []engine.Key) (f absent.Found, err error) {
			err = leader.ask(ctx, cluster.FindPath, &absent.Question{Codes: codes}, &f)
			return f, err
		},
		Applied: n.AwaitApplied,
	}
}

// Unlock asks the node that leads whether a visitor has typed the password of a link: this node is an edge, which has no
// hashes.
func (n *Node) Unlock(ctx context.Context, q lock.Question) (a lock.Answer, err error) {
	leader := &sender{node: n}
	err = leader.ask(ctx, cluster.UnlockPath, &q, &a)
	return a, err
}

// ask asks the node that leads a question in JSON.
func (s *sender) ask(ctx context.Context, path string, question, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	if body, err = s.post(ctx, path, body, http.StatusOK, maxFoundBytes); err != nil {
		return err
	}
	if err := json.Unmarshal(body, answer); err != nil {
		return fmt.Errorf("an answer of the node that leads: %w", err)
	}
	return nil
}
