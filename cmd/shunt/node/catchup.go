package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"shunt/api/cluster"
	"shunt/storage/clusterlog"
)

// A node that the log was trimmed past takes a copy of what all nodes share from another full node, and follows from
// there. It goes on redirecting meanwhile, keeps its folder, its figures and its outbox, pulls and is pulled from. See
// replicate.Rows.MirrorShared.

const (
	copyPause  = 30 * time.Second // after an attempt that failed; each has an entry in the audit log
	copySilent = 30 * time.Second // a copy of which nothing comes for so long is given up
)

// takeCopy takes a copy, and tries again until it has one. It returns false if ctx is done before.
func (n *Node) takeCopy(ctx context.Context, why error) bool {
	n.log.Warn("this node was away for so long that the cluster's log no longer has what it missed. It takes a copy of that from another node; redirects go on", "error", why)
	for {
		began := time.Now()
		from, err := n.copyShared(ctx)
		if ctx.Err() != nil {
			return false
		}
		if err == nil {
			n.log.Info("this node has what it missed, and follows its cluster again", "from", from, "entry", n.Applied(), "took", time.Since(began).Round(time.Millisecond))
			return true
		}
		n.log.Error("this node cannot take a copy of what it missed; retrying", "error", err)
		if !sleep(ctx, copyPause) {
			return false
		}
	}
}

// copyShared takes a copy from one of the full nodes that follow the log, and returns its name.
func (n *Node) copyShared(ctx context.Context) (from string, err error) {
	asking, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	status, err := n.clusterLog.Status(asking)
	if err != nil {
		return "", err
	}
	members, err := n.clusterLog.Nodes(asking)
	if err != nil {
		return "", err
	}
	var errs []error
	for _, m := range sendersOf(members, n.settings.Name, status.Floor) {
		if err := n.copyFrom(ctx, &m); err == nil || ctx.Err() != nil {
			return m.Name, err
		} else {
			errs = append(errs, fmt.Errorf("node %s: %w", m.Name, err))
		}
	}
	if errs == nil {
		return "", errors.New("no other full node runs and follows the log")
	}
	return "", errors.Join(errs...)
}

// sendersOf returns the nodes that can give a copy to another one, those with the most entries first.
func sendersOf(members []clusterlog.Member, to string, floor uint64) (all []clusterlog.Member) {
	for _, m := range members {
		if m.Live && m.Role == clusterlog.Full && m.Name != to && m.Applied+1 >= floor {
			all = append(all, m)
		}
	}
	slices.SortStableFunc(all, func(a, b clusterlog.Member) int { return cmp.Compare(b.Applied, a.Applied) })
	return all
}

// copyFrom takes a copy from a node.
func (n *Node) copyFrom(ctx context.Context, m *clusterlog.Member) error {
	body, err := n.askCopy(ctx, m, cluster.SharedPath)
	if err != nil {
		return err
	}
	defer body.Close()
	defer n.catchingUp.Copies()()
	return n.store.MirrorShared(ctx, body, n, func(ctx context.Context) error {
		body.silent.Stop()
		return n.engine.FlushRecorded(ctx)
	})
}

// copyBody is a copy that comes from another node.
type copyBody struct {
	body   io.ReadCloser
	asking context.Context
	silent *time.Timer // ends asking
	end    func()
}

// askCopy asks a node for the copy at a path, and proves that this node has the data of the cluster as of some time
// ago.
func (n *Node) askCopy(ctx context.Context, m *clusterlog.Member, path string) (*copyBody, error) {
	address, err := addressOf(m.Advertise)
	if err != nil {
		return nil, err
	}
	asking, giveUp := context.WithCancelCause(ctx)
	req, err := http.NewRequestWithContext(asking, http.MethodGet, "https://"+address+path, nil)
	if err != nil {
		giveUp(nil)
		return nil, err
	}
	req.Header.Set(cluster.ProofHeader, cluster.ProofOf(n.visitorKey(), n.settings.Name))
	client := newClient(n.gate, cluster.FromFull(n.identity.client(), m.Name), 0)
	c := &copyBody{asking: asking, silent: time.AfterFunc(copySilent, func() { giveUp(errSilent) })}
	c.end = func() {
		c.silent.Stop()
		giveUp(nil)
		client.CloseIdleConnections()
	}
	resp, err := do(client, req, m.Name, http.StatusOK)
	if err != nil {
		err = errors.Join(err, context.Cause(asking))
		c.end()
		return nil, err
	}
	c.body = resp.Body
	return c, nil
}

var errSilent = errors.New("nothing came for too long")

// Read implements io.Reader.
func (c *copyBody) Read(p []byte) (int, error) {
	read, err := c.body.Read(p)
	if read > 0 {
		c.silent.Reset(copySilent)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = errors.Join(err, context.Cause(c.asking))
	}
	return read, err
}

// Close ends the copy.
func (c *copyBody) Close() error {
	defer c.end()
	return c.body.Close()
}

func (n *Node) visitorKey() [16]byte { return n.store.Store().Identity().VisitorKey }

// Knows reports whether a node of that name has proved that it has the data of this cluster: see api.Cluster.
func (n *Node) Knows(name string, proof []byte) bool {
	return cluster.Proves(proof, n.visitorKey(), name)
}

// SendShared writes what all nodes share to w, or of it what an edge keeps.
func (n *Node) SendShared(ctx context.Context, links bool, w io.Writer) error {
	return n.store.WriteShared(ctx, w, links)
}
