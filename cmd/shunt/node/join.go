package node

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"shunt/api/cluster"
	"shunt/storage/etcdlog"
)

// Copy asks the full node at an advertised URL for a copy of its data, as a tar stream that the caller
// closes. name is that of the node, which its certificate must have. An edge gets links only.
func (n *Node) Copy(ctx context.Context, name, advertise string) (io.ReadCloser, error) {
	address, err := addressOf(advertise)
	if err != nil {
		return nil, err
	}
	if err := n.CheckRole(); err != nil {
		return nil, err
	}
	if err := n.askRefusals(ctx); err != nil {
		return nil, err
	}
	config, path := cluster.FromFull(n.identity.client(), name), cluster.BackupPath
	if n.Edge() {
		path = cluster.LinksPath
	}
	client := &http.Client{Transport: &http.Transport{DialTLSContext: n.gate.Dialer(config), DisableCompression: true}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("asking node %s: %w", name, err)
	}
	if resp.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
		resp.Body.Close()
		return nil, fmt.Errorf("node %s answered %s: %s", name, resp.Status, said)
	}
	return resp.Body, nil
}

// askRefusals asks etcd once which certificates are refused. A joining node may have no rights there yet, so it
// continues without an answer.
func (n *Node) askRefusals(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	log, err := openLog(ctx, n.settings)
	if err == nil {
		defer log.Close()
		var all []etcdlog.Refusal
		if all, err = log.Refusals(ctx); err == nil {
			n.gate.Tell(namesAndSerials(all))
			return n.gate.Check(n.identity.certificate.Leaf)
		}
	}
	n.log.Warn("etcd does not say which certificates are refused; joining without that", "error", err)
	n.gate.Tell(nil, nil)
	return nil
}
