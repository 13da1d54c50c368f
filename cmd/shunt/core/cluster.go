package core

import (
	"context"
	"fmt"
	"io"
	"time"

	"shunt/cmd/shunt/backups"
	"shunt/storage"
	"shunt/storage/replicate"
)

// This file has what the store of a node of a cluster has beside that of a server of its own.

// Replicate makes what replicates a store of this program: see storage.Options.
func Replicate() storage.Replication { return replicate.New() }

// SharedState is what all nodes of a cluster have in common.
type SharedState = replicate.SharedState

// sharedState returns that of a store; nil: it is of no cluster.
func sharedState(v *storage.Inspection) (*SharedState, error) { return replicate.State(v) }

// RefuseMember refuses to serve the store of a node of a cluster without the cluster. knows: this program has clusters.
func (c *Core) RefuseMember(s *Data, knows bool) error {
	rows := replicate.Of(c.Store)
	id, member := rows.Cluster()
	switch {
	case !member:
		return nil
	case rows.Edge():
		return fmt.Errorf("%s is the folder of an edge: start with --edge-of, or with --cluster and --role edge", s.Dir)
	case !knows:
		return fmt.Errorf("%s is of the cluster %v, and this program was built without clusters (nocluster)", s.Dir, id)
	}
	return fmt.Errorf("%s is of the cluster %v: start with --cluster, or take it out of the cluster (shunt cluster leave)", s.Dir, id)
}

// SendLinks writes what an edge of the cluster may have to w, as SendBackup does a backup.
func (c *Core) SendLinks(w io.Writer) error {
	return c.sendCopy(w, replicate.Of(c.Store).LinksToStream)
}

// SendBackup writes a backup to w as a tar stream. Who receives it verifies it.
func (c *Core) SendBackup(w io.Writer) error {
	return c.sendCopy(w, func(ctx context.Context) (storage.BackupResult, error) {
		if err := c.Engine.FlushRecorded(ctx); err != nil {
			return storage.BackupResult{}, err
		}
		return c.Store.BackupToStream(ctx)
	})
}

func (c *Core) sendCopy(w io.Writer, makeOne func(context.Context) (storage.BackupResult, error)) error {
	ctx, cancel := context.WithTimeout(context.Background(), sendTimeout)
	defer cancel()
	return c.stream(func() (storage.BackupResult, error) { return makeOne(ctx) }, func(made storage.BackupResult) error {
		return backups.Send(ctx, w, made.Dir, time.Now(), func(uint64) {})
	})
}

// sendTimeout bounds the making of a copy for another node, and its sending.
const sendTimeout = 6 * time.Hour
