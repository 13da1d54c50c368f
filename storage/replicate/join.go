package replicate

import (
	"errors"

	"shunt/storage/clusterlog"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// JoinLog makes the store, which is of no cluster, one whose shared rows are those before the first
// entry of a log. Its outbox is empty: the nodes of a new cluster begin with the same tallies. It must
// not be in use.
func (s *Rows) JoinLog(id clusterlog.ID, at clusterlog.Position) error {
	if s.shared.exists {
		return errors.New("storage: the store is of a cluster already")
	}
	b := s.db.NewBatch()
	defer b.Close()
	kv.Set(b, row.MetaKey(row.MetaLog), appendPosition(id, at))
	outbox := newOutbox()
	kv.Set(b, row.MetaKey(row.MetaOutbox), row.AppendOutboxState(nil, outbox))
	leaveCaps(b) // what an earlier cluster has left
	leaveEdges(b)
	if err := s.writer.Sync(b, "storage: joining a cluster"); err != nil {
		return err
	}
	s.edgeLog.state, s.edges.by = row.EdgeLog{}, nil
	s.beginAt(id, at)
	s.outbox.set(outbox)
	return nil
}

// beginAt makes the store that of a cluster whose log it has applied up to a position.
func (s *Rows) beginAt(id clusterlog.ID, at clusterlog.Position) {
	s.shared.exists, s.shared.cluster, s.shared.at, s.shared.whole = true, id, at, at
	s.shared.applied.Store(at.Sequence)
	s.shared.shown.Store(at.Sequence)
	s.links.Cluster(clusterlog.MaxPayloadBytes / 2)
	s.hits.PostTo(&poster{s})
	s.pulls.purged = at.Sequence // what was purged before this start is not known
}

// LeaveLog makes the store one of no cluster again, with all rows that it has. It must not be in use. That
// of an edge cannot leave, because nobody could make an account in it.
func (s *Rows) LeaveLog() error {
	if s.shared.edge {
		return errors.New("storage: the store is that of an edge")
	}
	b := s.db.NewBatch()
	defer b.Close()
	kv.Remove(b, row.MetaKey(row.MetaLog))
	leaveOutbox(b)
	leaveCaps(b)
	if err := s.writer.Sync(b, "storage: leaving the cluster"); err != nil {
		return err
	}
	s.shared.exists = false
	s.hits.PostTo(nil)
	s.links.Cluster(0)
	s.outbox.id.Store(nil)
	s.outbox.oldestMs.Store(0)
	s.outbox.bytes.Store(0)
	return nil
}
