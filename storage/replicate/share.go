package replicate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/clusterlog"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// unsettledPause is the time between two attempts to find out what became of an entry.
const unsettledPause = 100 * time.Millisecond

// share commits a batch of shared rows. In a cluster it returns engine.ErrNotLeader if the batch is
// not in the log and never will be. While the log does not answer, it waits.
func (s *Rows) share(b *pebble.Batch, doing string) error {
	if !s.shared.exists {
		return s.shareAlone(b, doing)
	}
	s.shared.turn <- struct{}{}
	defer func() { <-s.shared.turn }()
	if err := s.shareLocked(b); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// shareLocked is share for the one whose turn it is.
func (s *Rows) shareLocked(b *pebble.Batch) error {
	sh := &s.shared
	if sh.appender == nil {
		return engine.ErrNotLeader
	}
	open, private, err := splitRows(b)
	if err != nil {
		return err
	}
	p := row.Payload{Version: int(sh.version.Load()), First: true}
	for ; len(open)+len(private) > 0; p.First = false {
		const room = clusterlog.MaxPayloadBytes - row.PayloadHeadBytes
		n := min(len(open), room)
		m := min(len(private), room-n)
		p.Part, p.Last = open[:n], n == len(open) && m == len(private)
		at, err := s.append(row.AppendPayload(nil, &p), private[:m])
		open, private = open[n:], private[m:]
		if err != nil {
			return err // parts before it are without their end, and the next entry begins another batch
		}
		sh.at = at
	}
	sh.whole = sh.at
	if err := s.commitShared(b, ownRows(b)); err != nil {
		// The log has the batch, so whoever takes it from there goes on; this process cannot.
		s.writer.Fatal("committing an entry of the cluster's log: %v", err)
		return err
	}
	sh.shown.Store(sh.whole.Sequence)
	return nil
}

// append makes payload and its private part the next entry, and returns when its outcome is certain.
func (s *Rows) append(payload, private []byte) (clusterlog.Position, error) {
	batch, began := clusterlog.NewBatchID(), time.Now()
	for {
		at, err := s.shared.appender.Append(s.shared.leading, batch, payload, private)
		switch {
		case err != nil && s.shared.leading.Err() != nil:
			s.shared.appender = nil // nobody may decide by what this node knows
			return at, fmt.Errorf("%w: %w", engine.ErrOutcomeUnknown, err)
		case err == nil:
			s.shared.appends.ObserveSince(began)
			return at, nil
		case errors.Is(err, clusterlog.ErrBelowFloor):
			s.writer.Fatal("what became of an entry cannot be found out, because the cluster's log is past it: %v", err)
			return at, err
		case errors.Is(err, clusterlog.ErrUnknownOutcome):
			time.Sleep(unsettledPause)
		case errors.Is(err, clusterlog.ErrDeposed):
			return at, fmt.Errorf("%w: %w", engine.ErrNotLeader, err)
		default:
			return at, fmt.Errorf("%w: %w", engine.ErrOverloaded, err)
		}
	}
}

// commitShared commits a batch of shared rows, which own extends by rows of this node, together with
// the position.
func (s *Rows) commitShared(b *pebble.Batch, own own) error {
	if s.shared.edge {
		own.purged = nil // it has no rows of their hits
	}
	if len(own.purged) > 0 { // nothing else may make rows of these links again
		s.hits.Turn().Lock()
		defer s.hits.Turn().Unlock()
		for _, id := range own.purged {
			s.hits.RemoveHours(b, id)
			if err := s.hits.RemoveTargets(b, id); err != nil {
				return err
			}
		}
		s.pulls.purged = s.shared.whole.Sequence
	}
	kv.Set(b, row.MetaKey(row.MetaLog), appendPosition(s.shared.cluster, s.shared.whole))
	if err := s.writer.Commit(b); err != nil {
		return err
	}
	// Without its lock, whose holder may wait for shared.turn: nobody allocates ids while this node learns.
	s.links.RaiseIDBound(own.bound)
	s.log.Raise(own.stamp)
	s.shared.applied.Store(s.shared.whole.Sequence)
	return nil
}

// Lead lets the store write shared rows, by an appender. Everything before must have been applied.
func (s *Rows) Lead(a Appender) {
	s.shared.turn <- struct{}{}
	defer func() { <-s.shared.turn }()
	s.shared.appender, s.shared.parts = a, parts{}
	s.shared.version.Store(row.OldestPayload)
	leading, abandon := context.WithCancel(context.Background())
	s.shared.leading = leading
	s.shared.abandoned.Store(&abandon)
}

// Abandon ends the wait for a cluster's log that does not answer, when the process is about to stop: writes under
// way fail with engine.ErrOutcomeUnknown. The next start reads what became of them.
func (s *Rows) Abandon() {
	if abandon := s.shared.abandoned.Load(); abandon != nil {
		(*abandon)()
	}
}

// StopLeading refuses shared rows from now on. It waits for a commit under way, so when it returns,
// each batch is in the log and applied, or never will be.
func (s *Rows) StopLeading() {
	s.shared.turn <- struct{}{}
	defer func() { <-s.shared.turn }()
	s.shared.appender = nil
}

// WriteEntries sets the version of entries that this node writes while it leads: the newest that all nodes
// read, because one that meets a newer one stops. Each leadership begins with the oldest.
func (s *Rows) WriteEntries(version int) {
	s.shared.version.Store(int64(min(max(version, row.OldestPayload), ReadsEntries)))
}

// RefuseWrites makes writes fail with engine.ErrReadOnly, except deletions of rows of accounts, as if
// the disk were full, or ends that: the servers of the cluster's log are filling up.
func (s *Rows) RefuseWrites(refuse bool) { s.shared.full.Store(refuse) }
