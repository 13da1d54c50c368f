package replicate

import (
	"crypto/rand"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"shunt/storage/kv"
	"shunt/storage/row"
)

// newOutbox returns the state of an outbox that nobody has pulled from.
func newOutbox() row.OutboxState {
	s := row.OutboxState{First: 1, Next: 1}
	rand.Read(s.ID[:])
	return s
}

// renewOutbox adds rows to b that replace an outbox by an empty one with an id of its own. The store
// contains everything that the old one ever had, so it counts as pulled up to its end.
func renewOutbox(b *pebble.Batch, old row.OutboxState) (renewed row.OutboxState) {
	renewed = newOutbox()
	keys := row.TableRange(row.TableOutbox)
	kv.Must(b.DeleteRange(keys.Lower, keys.Upper, nil))
	kv.Set(b, row.AppendPulledKey(nil, old.ID), row.AppendPulled(nil, old.Next))
	kv.Set(b, row.MetaKey(row.MetaOutbox), row.AppendOutboxState(nil, renewed))
	return renewed
}

// RenewOutbox gives a store that is a copy of another node's an outbox of its own, and forgets what waits in the old
// one: both would put different records at the same positions. What the other node counts after the copy was made is
// pulled from its outbox, like anybody's. Restore does the same by itself.
//
// A copy that replaces its own original, which is lost, lacks what that has counted since. The others
// may have pulled it, but an outbox has only what its own node has counted. A copy of another node,
// made later, has it.
func (s *Rows) RenewOutbox() error {
	s.hits.Turn().Lock()
	defer s.hits.Turn().Unlock()
	if s.outbox.id.Load() == nil {
		return errors.New("storage: the store is of no cluster")
	}
	b := s.db.NewBatch()
	defer b.Close()
	renewed := renewOutbox(b, s.outbox.state)
	if err := s.writer.Sync(b, "storage: renewing the outbox"); err != nil {
		return err
	}
	s.outbox.oldestMs.Store(0)
	s.outbox.set(renewed)
	return nil
}

// leaveOutbox adds rows to b that remove the outbox and all positions in others.
func leaveOutbox(b *pebble.Batch) {
	for _, table := range []byte{row.TableOutbox, row.TablePulled} {
		keys := row.TableRange(table)
		kv.Must(b.DeleteRange(keys.Lower, keys.Upper, nil))
	}
	kv.Remove(b, row.MetaKey(row.MetaOutbox))
}
