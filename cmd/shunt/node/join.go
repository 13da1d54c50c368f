package node

import (
	"context"
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
	resp, err := ask(ctx, newClient(n.gate, config, 0), name, http.MethodGet, "https://"+address+path, nil, http.StatusOK)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// askRefusals asks etcd once which certificates are refused. A joining node may have no rights there yet, so it
// continues without an answer.
func (n *Node) askRefusals(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	var all []etcdlog.Refusal
	err := withLog(ctx, n.settings, func(log *etcdlog.Log) (err error) {
		all, err = log.Refusals(ctx)
		return err
	})
	if err == nil {
		n.gate.Tell(namesAndSerials(all))
		return n.gate.Check(n.identity.certificate().Leaf)
	}
	n.log.Warn("etcd does not say which certificates are refused; joining without that", "error", err)
	n.gate.Tell(nil, nil)
	return nil
}
