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
// Those since then are applied to the copy, and are the first of the outbox that its restore has begun.
//
// The old store stays as it is, so a start that was cut off finds the same again.

// TakeOver makes this store, a copy of another full node's data that Restore has made, that of the node whose store old
// is. Nobody else uses either. It calls since before it reads records of old, with whether its outbox goes on; since
// brings there what the journal has of the node's hits, and returns the position of the first record that was made
// after the rollback, if the outbox does not go on. An error means that the copy cannot be used.
func (s *Rows) TakeOver(ctx context.Context, old *Rows, since func(goesOn bool) (uint64, error)) error {
	if err := s.takeOver(ctx, old, since); err != nil {
		return fmt.Errorf("storage: a copy in the place of this node's data: %w", err)
	}
	return nil
}

func (s *Rows) takeOver(ctx context.Context, old *Rows, since func(goesOn bool) (uint64, error)) error {
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
	goesOn := err == nil && has == last
	if err != nil && !errors.Is(err, ErrOutboxUnknown) {
		return err
	}
	first, err := since(goesOn)
	switch {
	case err != nil:
		return err
	case goesOn:
		return s.goOn(ctx, old, through)
	}
	return s.beginAgain(ctx, old, first)
}

// goOn applies the records of another store's outbox after a position, and goes on with that outbox.
func (s *Rows) goOn(ctx context.Context, old *Rows, through uint64) error {
	for {
		p, err := old.Outbox(through, pulledBytes)
		if err != nil {
			return err
		}
		if len(p.Records) == 0 {
			return s.adoptOutbox(old)
		}
		if err := s.applyAll(ctx, p.ID, p.First, p.Records); err != nil {
			return err
		}
		through += uint64(len(p.Records))
	}
}

// beginAgain applies the records of another store's outbox from a position on, and begins the own outbox with them.
func (s *Rows) beginAgain(ctx context.Context, old *Rows, first uint64) error {
	records, err := old.madeAgain(first)
	if err != nil || len(records) == 0 {
		return err
	}
	applied := newOutbox().ID // nobody else has it
	if err := s.applyAll(ctx, applied, 1, records); err != nil {
		return err
	}
	s.hits.Turn().Lock()
	defer s.hits.Turn().Unlock()
	b := s.db.NewBatch()
	defer b.Close()
	kv.Remove(b, row.AppendPulledKey(nil, applied))
	return s.beginWith(b, s.outbox.state, records)
}

// busyPause is the time between two attempts to apply records while the store is busy.
const busyPause = 20 * time.Millisecond

// applyAll applies records. No engine counts their hits: the next one reads them.
func (s *Rows) applyAll(ctx context.Context, outbox [16]byte, first uint64, records [][]byte) error {
	for next, end := first, first+uint64(len(records)); next < end; {
		p, err := s.ApplyPulled(outbox, next, records[next-first:])
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
			next = p.Next
		}
	}
	return nil
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
