package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"github.com/spf13/pflag"

	"shunt/api"
	"shunt/api/account"
	"shunt/api/certificate"
	"shunt/api/domain"
	"shunt/api/folder"
	"shunt/cmd/shunt/core"
	"shunt/cmd/shunt/edge"
	"shunt/cmd/shunt/settings"
	"shunt/engine"
	"shunt/storage"
)

// A Cluster adds the settings of a node of a cluster to fs, and returns what they will be. A program whose Cluster is
// nil knows of none.
type Cluster func(fs *pflag.FlagSet) NodeSettings

// NodeSettings are those of a server as a node.
type NodeSettings interface {
	// Check refuses settings that are missing or wrong.
	Check() error
	// OfEdge reports whether they are those of a node with links only.
	OfEdge() bool
	// Open reads the certificates of a node whose settings Check accepts; nil: the settings name no cluster.
	Open(log *slog.Logger) (Node, error)
}

// A Node is a server's part in its cluster. A server calls the methods below Edge in their order, once each but for
// Join, Check and Close.
type Node interface {
	// Edge reports whether the node has links only.
	Edge() bool
	// Listener returns the listener for other nodes; nil: it needs none. prepare gets the one below TLS.
	Listener(prepare func(net.Listener)) (net.Listener, error)
	// Join adds the store, which is not in use yet, to the cluster, unless it is of it.
	Join(ctx context.Context, store *storage.Store) error
	// Check refuses a log that this node could not follow. replaced reports that the store is to be closed and opened
	// again, because another one is in the place of it, and that Join comes next.
	Check(ctx context.Context, c *core.Core, data *core.Data) (replaced bool, err error)
	// Use gives the node the parts that it keeps up to date.
	Use(e *engine.Engine, a *account.Accounts, f *folder.Folders, d *domain.Domains, c *certificate.Certificates)
	// Answer adds to o what other nodes may ask for.
	Answer(o *api.Options, c *core.Core)
	// Leads reports whether this node leads the cluster. An edge never does.
	Leads() bool
	// Run follows the cluster's log, and leads if it is this node's turn, until ctx ends.
	Run(ctx context.Context) error
	// Close ends what Join has begun.
	Close() error
}

// openNode opens the server's node; it has none without the settings of one, or of an edge.
func (s *server) openNode() (err error) {
	if s.cfg.node != nil {
		s.node, err = s.cfg.node.Open(s.say.Log)
	}
	if err != nil || s.cfg.edge.Of == "" {
		return err
	}
	if s.node != nil {
		return settings.UsageErrorf("--edge-of and --cluster are both set: an edge of a cluster starts with --role edge alone")
	}
	s.edge, err = edge.Open(&s.cfg.edge, s.say.Log)
	s.node = s.edge
	return err
}

// openStore opens the store, and makes it if there is none. That of a new edge begins with what its writer says.
func (s *server) openStore(ctx context.Context) error {
	alone := s.node == nil || !s.node.Edge()
	err := s.core.OpenStore(s.parts, &s.cfg.data, alone, s.say.Log)
	switch {
	case alone || !errors.Is(err, storage.ErrNoStore):
		return err
	case s.edge == nil:
		return fmt.Errorf("%w. The folder of an edge begins with a copy for it (shunt join)", err)
	}
	key, err := s.edge.VisitorKey(ctx)
	if err != nil {
		return err
	}
	s.cfg.data.VisitorKey = &key
	return s.core.OpenStore(s.parts, &s.cfg.data, true, s.say.Log)
}

// openJoined opens the store, and makes it, before anybody uses it, one of the cluster.
func (s *server) openJoined(ctx context.Context) error {
	for before := s.parts.Len(); ; {
		if err := s.openStore(ctx); err != nil {
			return err
		}
		if err := s.fixZone(); err != nil {
			return err
		}
		if replaced, err := s.joinCluster(ctx); err != nil || !replaced {
			return err
		}
		if err := s.parts.StopAfter(before); err != nil {
			return err
		}
	}
}

// joinCluster makes the store one of the cluster; replaced: see Node.
func (s *server) joinCluster(ctx context.Context) (replaced bool, err error) {
	if s.node == nil {
		return false, s.core.RefuseMember(&s.cfg.data, s.cfg.addNode != nil)
	}
	if err := s.node.Join(ctx, s.core.Store); err != nil {
		return false, err
	}
	s.parts.OnStop("cluster's log", s.node.Close)
	return s.node.Check(ctx, &s.core, &s.cfg.data)
}
