package cluster

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/spf13/pflag"

	"shunt/api"
	"shunt/cmd/shunt/core"
	"shunt/cmd/shunt/node"
	"shunt/cmd/shunt/serve"
	"shunt/cmd/shunt/upkeep"
	"shunt/storage"
)

// AddNode adds the settings of a node to fs. It is a serve.Cluster.
func AddNode(fs *pflag.FlagSet) serve.NodeSettings {
	s := new(nodeSettings)
	node.Add(fs, &s.Settings)
	return s
}

type nodeSettings struct{ node.Settings }

func (s *nodeSettings) Open(log *slog.Logger) (serve.Node, error) {
	if s.Cluster == "" {
		return nil, nil
	}
	n, err := node.Open(&s.Settings, log)
	if err == nil {
		err = n.CheckRole()
	}
	if err != nil {
		return nil, err
	}
	return servedNode{n, log}, nil
}

type servedNode struct {
	*node.Node
	log *slog.Logger
}

func (n servedNode) Check(ctx context.Context, c *core.Core, data *core.Data) (replaced bool, err error) {
	return n.Node.Check(ctx, &node.Folder{
		Replay: func() error { return c.ReplayJournal(data, n.log) },
		Replace: func(ctx context.Context, backup io.Reader, take func(*storage.Store) error) error {
			return replace(ctx, data, backup, take)
		},
	})
}

// replace is node.Folder.Replace.
func replace(ctx context.Context, data *core.Data, backup io.Reader, take func(*storage.Store) error) error {
	inside, err := storage.BeginReplacement(data.Dir)
	if err != nil {
		return err
	}
	made := *data
	made.Dir = inside
	err = upkeep.RestoreStream(ctx, &made, backup, false, false, io.Discard, io.Discard)
	if err == nil {
		err = withFolder(&made, io.Discard, func(c *core.Core) error { return take(c.Store) })
	}
	if err == nil {
		return storage.EndReplacement(data.Dir)
	}
	_, removing := storage.BeginReplacement(data.Dir)
	return errors.Join(err, removing)
}

func (n servedNode) Answer(o *api.Options, c *core.Core) {
	o.Metrics.Cluster = n.Figures
	o.Absent = n.Absent()
	if n.Edge() {
		o.Unlock = n.Unlock()
	}
	o.Cluster = api.Cluster{
		State: n.Node, TLS: n.TLS(), Outbox: n.Outbox, Caps: n.GrantCaps, GiveCopy: n.GiveCopy, NoteCopy: n.NoteCopy, Links: c.SendLinks,
		Shared: n.SendShared, Knows: n.Knows,
		Backup: func(name string, w io.Writer) error {
			if err := n.HoldForCopy(name); err != nil {
				return err
			}
			return c.SendBackup(w)
		},
	}
}
