package replicate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"shunt/engine"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// A full node whose folder was rolled back lacks hits that others have, and a copy of another node's data has them. But
// that copy may lack hits that this node has counted since. They are in its outbox, after the position that the copy
// has there. If the outbox has the copy's last record at that position, it goes on as others know it: what comes after
// it is applied to the copy, as if the copy had pulled it, and the outbox moves into the copy with its id. So all other
// nodes pull on where they are, and each hit counts once at each of them.
//
// If not, others have applied other records from some position on, which nobody knows: so a position says nothing. Of
// the records of this outbox, others have those from before the rollback, and none since. The caller tells them apart.
// Those since then are the first of another outbox, which moves into the copy.

// TakeOver makes this store, a copy of another full node's data that Restore has made, that of the node whose store old
// is. Nobody else uses either. since is the position of the first record in the outbox of old that was made after the
// rollback. An error means that the copy cannot be used.
func (s *Rows) TakeOver(ctx context.Context, old *Rows, since uint64) error {
	if err := s.takeOver(ctx, old, since); err != nil {
		return fmt.Errorf("storage: a copy in the place of this node's data: %w", err)
	}
	return nil
}

func (s *Rows) takeOver(ctx context.Context, old *Rows, since uint64) error {
	switch {
	case !s.shared.exists || s.shared.cluster != old.shared.cluster || s.shared.edge || old.shared.edge,
		s.store.Identity().VisitorKey != old.store.Identity().VisitorKey:
		return errors.New("it is not that of a full node of this cluster")
	case s.AppliedSequence() < old.AppliedSequence():
		return fmt.Errorf("it has the log up to entry %d, and this node up to %d", s.AppliedSequence(), old.AppliedSequence())
	}
	id, _ := old.OutboxID()
	through, last, err := s.PulledThrough(id)
	if err != nil {
		return err
	}
	has, err := old.RecordHash(through)
	if errors.Is(err, ErrOutboxUnknown) || err == nil && has != last {
		through, err = 0, old.RenewOutboxFrom(since)
	}
	if err == nil {
		err = s.applyAfter(ctx, old, through)
	}
	if err != nil {
		return err
	}
	return s.adoptOutbox(old)
}

// busyPause is the time between two attempts to apply records while the store is busy.
const busyPause = 20 * time.Millisecond

// applyAfter applies the records of another store's outbox after a position. No engine counts their hits: the next one
// reads them.
func (s *Rows) applyAfter(ctx context.Context, from *Rows, through uint64) error {
	for {
		p, err := from.Outbox(through, pulledBytes)
		if err != nil || len(p.Records) == 0 {
			return err
		}
		applied, err := s.ApplyPulled(p.ID, p.First, p.Records)
		switch {
		case errors.Is(err, engine.ErrBehind):
			select {
			case <-time.After(busyPause):
			case <-ctx.Done():
				return ctx.Err()
			}
		case err != nil:
			return err
		default:
			through = applied.Next - 1
		}
	}
}

// adoptOutbox puts the outbox of another store, all of which is applied here, in the place of the own one, which is
// empty.
func (s *Rows) adoptOutbox(of *Rows) error {
	const doing = "moving the outbox"
	s.hits.Turn().Lock()
	defer s.hits.Turn().Unlock()
	state := of.outbox.state
	state.LacksHits = s.outbox.state.LacksHits
	b := s.db.NewBatch()
	defer b.Close()
	err := kv.Each(of.db, outboxRange(state.First, state.Next), func(key, value []byte) (bool, error) {
		if kv.Set(b, key, value); b.Len() < learnBytes {
			return true, nil
		}
		defer b.Reset()
		err := s.writer.Sync(b, doing)
		return err == nil, err
	})
	if err != nil {
		return err
	}
	kv.Remove(b, row.AppendPulledKey(nil, state.ID))
	kv.Set(b, row.MetaKey(row.MetaOutbox), row.AppendOutboxState(nil, state))
	if err := s.writer.Sync(b, doing); err != nil {
		return err
	}
	s.outbox.oldestMs.Store(of.outbox.oldestMs.Load())
	s.outbox.set(state)
	return nil
}
