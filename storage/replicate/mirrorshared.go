package replicate

import (
	"context"
	"errors"
	"fmt"
	"io"

	"shunt/engine"
	"shunt/storage/clusterlog"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// A node of a cluster that the log was trimmed past needs no new folder. Its figures are right: the others keep the
// hits that it lacks, because they keep them for every node that was not forgotten. Its own hits are in its outbox. So
// only the shared rows are those of long ago, and of these what differs is written, as at an edge of a writer. What
// entries do to tallies follows from the cold records: a link that is new brings along the hits of its import with
// their days, and of one that is gone the tallies go, too. Only a link that was imported and purged in between leaves
// nothing: its owner's days lack its hits by day here.
//
// Rejected: a backup of another node in the place of the folder. It ends the process, and takes the outbox with it.

// MirrorShared makes the shared rows of a node of a cluster those of a copy that WriteShared wrote for a node like
// this one, and moves its position there. It is otherwise like Mirror. A full node removes the tallies of links that
// are gone; before that it calls settle, which returns when all hits that were counted are in the store, or with an
// error.
func (s *Rows) MirrorShared(ctx context.Context, r io.Reader, to Learner, settle func(ctx context.Context) error) error {
	id, ok := s.Cluster()
	if !ok || id == (clusterlog.ID{}) {
		return errors.New("storage: a copy for a node of a cluster, and this is none")
	}
	return s.mirror(ctx, r, &mirror{to: to, of: id, settle: settle})
}

// noteImported begins the life of a new link that was imported.
func (m *mirror) noteImported(key, value []byte) error {
	id, err := row.SplitColdKey(key)
	if err != nil {
		return err
	}
	cold, err := row.DecodeCold(value)
	if err != nil || cold.ImportedHits == 0 {
		return err
	}
	merge := func(key []byte, hits uint64) {
		kv.Merge(m.batch, key, row.AppendTally(nil, &engine.Tally{Hits: hits}))
	}
	merge(row.AppendLinkLifeKey(nil, id), cold.ImportedHits)
	for d := range cold.Daily.All() {
		merge(row.AppendLinkDayKey(nil, id, d.Day), d.Hits)
		merge(row.AppendOwnerDayKey(nil, cold.DailyOwner, d.Day), d.Hits)
	}
	l := &m.rows.shared.learned
	l.Hits = append(l.Hits, engine.ImportedHits{ID: id, Hits: cold.ImportedHits})
	return nil
}

// purge removes the cold records and the tallies of links that are gone. Nobody can count hits of them any more; those
// that were counted are settled first, so that no flush makes their rows again.
func (m *mirror) purge(ctx context.Context) error {
	if len(m.purged) == 0 {
		return nil
	}
	if err := m.commit(); err != nil {
		return err
	}
	s := m.rows
	s.hits.Turn().Lock()
	s.pulls.purged = max(s.pulls.purged, m.theirs.head.at.Sequence) // hits of others are looked at from now on
	s.hits.Turn().Unlock()
	if m.settle != nil {
		<-s.shared.turn // a flush may wait for it
		err := m.settle(ctx)
		s.shared.turn <- struct{}{}
		if err != nil {
			return fmt.Errorf("settling hits: %w", err)
		}
	}
	if err := m.purgeHours(ctx); err != nil {
		return err
	}
	for left := m.purged; len(left) > 0; {
		n := min(len(left), purgedTogether)
		if err := errors.Join(ctx.Err(), m.purgeLinks(left[:n])); err != nil {
			return err
		}
		left = left[n:]
	}
	return nil
}

// purgedTogether is how many links are removed in one batch, while flushes wait.
const purgedTogether = 256

// purgeHours removes the hour rows of the links that are gone.
func (m *mirror) purgeHours(ctx context.Context) error {
	gone := make(map[uint64]bool, len(m.purged))
	for _, id := range m.purged {
		gone[id] = true
	}
	err := kv.Each(m.rows.db, row.TableRange(row.TableLinkHours), func(key, _ []byte) (bool, error) {
		id, err := row.HourSuffix(key)
		if link, _ := engine.SplitID(id); err != nil || !gone[link] {
			return err == nil, err
		}
		if kv.Remove(m.batch, key); m.batch.Len() >= learnBytes {
			err = errors.Join(ctx.Err(), m.commit())
		}
		return err == nil, err
	})
	return errors.Join(err, m.commit())
}

// purgeLinks removes the other rows of links that are gone.
func (m *mirror) purgeLinks(ids []uint64) error {
	s := m.rows
	s.hits.Turn().Lock()
	defer s.hits.Turn().Unlock()
	defer m.batch.Reset()
	if err := s.removeTallies(m.batch, ids); err != nil {
		return err
	}
	for _, id := range ids {
		kv.Remove(m.batch, row.AppendSummaryKey(nil, id))
		kv.Remove(m.batch, row.AppendColdKey(nil, id))
	}
	return s.writer.Commit(m.batch)
}
