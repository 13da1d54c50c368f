package cluster

import (
	"io"
	"log/slog"

	"github.com/spf13/pflag"

	"shunt/api"
	"shunt/cmd/shunt/core"
	"shunt/cmd/shunt/node"
	"shunt/cmd/shunt/serve"
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
	return servedNode{n}, nil
}

type servedNode struct{ *node.Node }

func (n servedNode) Answer(o *api.Options, c *core.Core) {
	o.Metrics.Cluster = n.Figures
	o.Absent = n.Absent()
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
