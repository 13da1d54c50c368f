package node

import (
	"context"

	"shunt/storage"
	"shunt/storage/clusterlog"
	"shunt/storage/replicate"
)

// Replicate makes what replicates a store of this program: see storage.Options.
func Replicate() storage.Replication { return replicate.New() }

// SharedState is what two nodes of a cluster compare.
type SharedState = replicate.SharedState

// StateOf returns the state of the rows that all nodes share; nil if the store is of no cluster.
func StateOf(v *storage.Inspection) (*SharedState, error) { return replicate.State(v) }

// ClusterOf returns the cluster that a store is of; false: none.
func ClusterOf(store *storage.Store) (id clusterlog.ID, member bool) {
	return replicate.Of(store).Cluster()
}

// OutboxOf returns the id of a store's outbox; zero: it is of no cluster.
func OutboxOf(store *storage.Store) [16]byte {
	id, _ := replicate.Of(store).OutboxID()
	return id
}

// LinksToStream copies what an edge may have of a store: see replicate.Rows.
func LinksToStream(ctx context.Context, store *storage.Store) (storage.BackupResult, error) {
	return replicate.Of(store).LinksToStream(ctx)
}
