package node

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

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

// unlockTimeout bounds a question about a password, which waits for its turn at the node that leads.
const unlockTimeout = 10 * time.Second

// Unlock returns what asks the node that leads whether a visitor has typed the password of a link: this node is an edge,
// which has no hashes. Each question that is under way has a connection, which the next one uses again.
func (n *Node) Unlock() func(context.Context, lock.Question) (lock.Answer, error) {
	senders := make(chan *sender, lock.MaxQuestions)
	for range cap(senders) {
		senders <- &sender{node: n, timeout: unlockTimeout}
	}
	return func(ctx context.Context, q lock.Question) (a lock.Answer, err error) {
		if n.Stale() {
			return a, errNoLeader
		}
		leader := <-senders
		defer func() { senders <- leader }()
		err = leader.ask(ctx, cluster.UnlockPath, &q, &a)
		return a, err
	}
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
