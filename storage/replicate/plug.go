package replicate

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage"
	"shunt/storage/check"
	"shunt/storage/clusterlog"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// New makes what replicates a store: see storage.Options.Replicate.
func New() storage.Replication { return plug{new(Rows)} }

// Of returns what New has made for a store.
func Of(s *storage.Store) *Rows { return s.Replication().(plug).Rows }

// plug implements storage.Replication.
type plug struct{ *Rows }

// Start implements storage.Replication.
func (p plug) Start(parts *storage.Parts) error {
	s := p.Rows
	s.store, s.db, s.writer, s.folder = parts.Store, parts.DB, parts.Writer, parts.Folder
	s.hits, s.links, s.log = parts.Hits, parts.Links, parts.Log
	s.pulls.batch = s.db.NewBatch(pebble.WithMaxRetainedSizeBytes(4 * pulledBytes))
	s.outbox.maxBytes = maxOutboxBytes
	s.shared.appends = kv.NewCounting(appendSeconds, 1e-9)
	return s.readLog()
}

// Share implements storage.Replication.
func (p plug) Share(b *pebble.Batch, doing string) error { return p.share(b, doing) }

// MayWrite implements storage.Replication.
func (p plug) MayWrite() error {
	if p.shared.full.Load() {
		return engine.ErrReadOnly
	}
	return nil
}

// Check implements storage.Replication.
func (p plug) Check(c *check.Run) check.Subject { return checkRows(c) }

// Renew implements storage.Replication.
func (p plug) Renew(r pebble.Reader, b *pebble.Batch) error {
	if err := renewEdgeLog(r, b); err != nil {
		return err
	}
	v, err := kv.Read(r, row.MetaKey(row.MetaOutbox))
	if err != nil || v == nil {
		return err
	}
	old, err := row.DecodeOutboxState(v)
	if err == nil {
		_, err = renewOutbox(r, b, old)
	}
	return err
}

// Close implements storage.Replication.
func (p plug) Close() error {
	if p.pulls.batch == nil {
		return nil
	}
	return p.pulls.batch.Close()
}

// readLog reads the position in the cluster's log, and what depends on it.
func (s *Rows) readLog() error {
	s.shared.turn = make(chan struct{}, 1)
	if err := s.readEdgeLog(); err != nil {
		return err
	}
	v, err := s.writer.Get(row.MetaKey(row.MetaLog))
	if err != nil || v == nil {
		return err
	}
	p, err := row.DecodeLogPosition(v)
	s.beginAt(p.Cluster, clusterlog.Position{Sequence: p.Sequence, Epoch: p.Epoch, Hash: p.Hash})
	edge, edgeErr := s.writer.Get(row.MetaKey(row.MetaEdge))
	s.shared.edge = edge != nil
	s.shared.revoked = len(edge) == 1 && edge[0] == row.EdgeRevoked
	return errors.Join(err, edgeErr, s.startOutbox())
}
