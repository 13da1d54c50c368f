package node

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"shunt/api/cluster"
	"shunt/engine"
)

// Each node tells the one that leads what it has used of the caps of links, and that one answers through the
// log: see engine/caps.

// capsTimeout bounds one message. What it says is said again.
const capsTimeout = 3 * time.Second

// capsSender sends messages to the node that leads.
type capsSender struct {
	node   *Node
	name   string // of the node that client is for
	client *http.Client
}

// shareCaps tells the leader about caps until ctx is done.
func (n *Node) shareCaps(ctx context.Context) {
	s := capsSender{node: n}
	n.engine.ShareCaps(ctx, n, s.send)
	s.close()
}

func (s *capsSender) close() {
	if s.client != nil {
		s.client.CloseIdleConnections()
	}
}

var errNoLeader = errors.New("no node of the cluster is known to lead")

// send implements the send of engine.Engine.ShareCaps.
func (s *capsSender) send(ctx context.Context, m *engine.CapMessage) error {
	n := s.node
	if n.Leads() {
		return n.TakeCaps(ctx, n.settings.Name, m)
	}
	name, address := n.Leader()
	if address == "" {
		return errNoLeader
	}
	if s.name != name {
		s.close()
		config := n.identity.client()
		config.ServerName = name
		s.name, s.client = name, newClient(config)
	}
	body, err := cluster.AppendCapMessage(m)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+address+cluster.CapsPath, bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if resp.StatusCode != http.StatusNoContent {
		return fmt.Errorf("%s answered %s: %s", name, resp.Status, said)
	}
	return nil
}

func newClient(config *tls.Config) *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: config, MaxIdleConnsPerHost: 1}, Timeout: capsTimeout}
}

// TakeCaps handles a message about caps from a node of that name, while this one leads.
func (n *Node) TakeCaps(ctx context.Context, name string, m *engine.CapMessage) error {
	outboxes, err := n.members.outboxes(ctx)
	if err != nil {
		return err
	}
	if outboxes[name] != m.Node {
		n.members.forget() // it may have come since
		return fmt.Errorf("%w: node %s is another one here", engine.ErrNotLeader, name)
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
