package replicate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"shunt/storage/clusterlog"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// A server of its own with edges, their writer, keeps a log of its changes in its own store: see DESIGN.md. Each
// commit adds its entries in its own batch, so the log has exactly the changes that the store has.

// edgeLog is the log of a writer.
type edgeLog struct {
	// sharing is held by who commits shared rows. Without a log commits share it. With one they take turns, so that
	// entries are in the order of commits. It guards state.
	sharing sync.RWMutex
	state   row.EdgeLog // as last committed; without a log, its Cluster is zero

	mu   sync.Mutex
	head uint64        // of the log, for those who wait
	wake chan struct{} // closed when head rises; nil: nobody waits
}

// edgeEpoch is that of all entries of a writer: nobody else leads.
const edgeEpoch = 1

func (l *edgeLog) exists() bool { return l.state.Cluster != [16]byte{} }

// position returns the place after the last entry.
func (l *edgeLog) position() clusterlog.Position {
	return clusterlog.Position{Sequence: l.state.Sequence, Epoch: l.state.Epoch, Hash: l.state.Hash}
}

// EdgeLog returns the id of the log that this store keeps for its edges, the position after its last entry, and how
// many bytes it has; ok is false if there is none.
func (s *Rows) EdgeLog() (id clusterlog.ID, at clusterlog.Position, bytes uint64, ok bool) {
	l := &s.edgeLog
	l.sharing.RLock()
	defer l.sharing.RUnlock()
	return l.state.Cluster, l.position(), l.state.Bytes, l.exists()
}

// BeginEdgeLog begins the log, unless there is one: from then on it has every change of links. The store may be in use.
func (s *Rows) BeginEdgeLog() error {
	l := &s.edgeLog
	l.sharing.Lock()
	defer l.sharing.Unlock()
	switch {
	case s.shared.exists:
		return errors.New("storage: a node of a cluster keeps no log for edges: its edges follow the cluster's")
	case l.exists():
		return nil
	}
	id := clusterlog.NewID()
	begun := row.EdgeLog{LogPosition: row.LogPosition{Cluster: id, Epoch: edgeEpoch, Hash: clusterlog.Origin(id).Hash}}
	begun.Sequence = max(l.state.Sequence+1, uint64(max(time.Now().UnixMicro(), 0))) // after all of earlier logs
	begun.First = begun.Sequence + 1
	s.links.LeaveGap() // this store may have been rolled back to before its first edge
	return s.setEdgeLog(begun, "storage: beginning a log for edges")
}

// EndEdgeLog ends the log, if there is one, and removes its entries. The store may be in use.
func (s *Rows) EndEdgeLog() error {
	l := &s.edgeLog
	l.sharing.Lock()
	defer l.sharing.Unlock()
	if !l.exists() {
		return nil
	}
	return s.setEdgeLog(endedLog(l.state), "storage: ending the log for edges")
}

// endedLog is the state after a log: what remains is the last sequence, so that a later log has higher ones.
func endedLog(l row.EdgeLog) row.EdgeLog {
	return row.EdgeLog{LogPosition: row.LogPosition{Sequence: l.Sequence}, First: l.Sequence + 1}
}

// setEdgeLog makes a log without entries durable, for the one who holds sharing.
func (s *Rows) setEdgeLog(state row.EdgeLog, doing string) error {
	s.hits.Turn().Lock()
	defer s.hits.Turn().Unlock()
	b := s.db.NewBatch()
	defer b.Close()
	removeEdgeLog(b)
	kv.Set(b, row.MetaKey(row.MetaEdgeLog), row.AppendEdgeLog(nil, &state))
	if err := s.writer.Sync(b, doing); err != nil {
		return err
	}
	s.pulls.purged = state.Sequence // what was purged before is not known
	s.edgeLog.state = state
	s.edgeLog.tell()
	return nil
}

func removeEdgeLog(b *pebble.Batch) {
	keys := row.TableRange(row.TableEdgeLog)
	kv.Must(b.DeleteRange(keys.Lower, keys.Upper, nil))
}

// shareAlone is share in a store of no cluster.
func (s *Rows) shareAlone(b *pebble.Batch, doing string) error {
	l := &s.edgeLog
	l.sharing.RLock()
	if !l.exists() {
		defer l.sharing.RUnlock()
		return s.writer.Sync(b, doing)
	}
	l.sharing.RUnlock()
	l.sharing.Lock()
	defer l.sharing.Unlock()
	if !l.exists() { // it ended meanwhile
		return s.writer.Sync(b, doing)
	}
	return s.shareLogged(b, doing)
}

// shareLogged commits a batch with its entries, for the one who holds sharing.
func (s *Rows) shareLogged(b *pebble.Batch, doing string) error {
	open, _, err := splitRows(b)
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if len(open) == 0 { // edges keep nothing of it
		return s.writer.Sync(b, doing)
	}
	purged := ownRows(b).purged
	after := s.edgeLog.state
	at := s.edgeLog.position()
	p := row.Payload{Version: row.OldestPayload, First: true}
	for ; len(open) > 0; p.First = false {
		n := min(len(open), clusterlog.MaxPayloadBytes-row.PayloadHeadBytes)
		p.Part, p.Last = open[:n], n == len(open)
		open = open[n:]
		var entry []byte
		entry, _, at = at.Next(edgeEpoch, clusterlog.NewBatchID(), row.AppendPayload(nil, &p), nil)
		kv.Set(b, row.AppendEdgeEntryKey(nil, at.Sequence), entry)
		after.Bytes += uint64(len(entry))
	}
	after.Sequence, after.Epoch, after.Hash = at.Sequence, at.Epoch, at.Hash
	kv.Set(b, row.MetaKey(row.MetaEdgeLog), row.AppendEdgeLog(nil, &after))
	if len(purged) > 0 { // nothing else may make rows of these links again: ApplyEdge looks for them from now on
		s.hits.Turn().Lock()
		defer s.hits.Turn().Unlock()
		if err := s.removeTallies(b, purged); err != nil {
			return fmt.Errorf("%s: %w", doing, err)
		}
		s.pulls.purged = at.Sequence
	}
	if err := s.writer.Sync(b, doing); err != nil {
		return err
	}
	s.edgeLog.state = after
	s.edgeLog.tell()
	return nil
}

// removeTallies adds to b what removes the tallies of purged links that came after their purge was prepared. The caller
// has hits.Turn.
func (s *Rows) removeTallies(b *pebble.Batch, purged []uint64) error {
	for _, id := range purged {
		s.hits.RemoveTally(b, id)
		if err := s.hits.RemoveTargets(b, id); err != nil {
			return err
		}
	}
	return nil
}

// tell wakes those who wait for entries.
func (l *edgeLog) tell() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.head = l.state.Sequence; l.wake != nil {
		close(l.wake)
		l.wake = nil
	}
}

// AwaitEdgeLog returns a channel that is closed as soon as the log has entries after a sequence, or another one began.
func (s *Rows) AwaitEdgeLog(after uint64) <-chan struct{} {
	l := &s.edgeLog
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.head != after {
		done := make(chan struct{})
		close(done)
		return done
	}
	if l.wake == nil {
		l.wake = make(chan struct{})
	}
	return l.wake
}

// EdgeEntries returns encoded entries of the log with that id after a position, in order, of maxBytes at most, but at
// least one if there is any, and the sequence of the last entry of all. Any goroutine may call it. Errors:
// clusterlog.ErrForeignLog, ErrAhead, ErrDiverged and ErrBelowFloor.
func (s *Rows) EdgeEntries(id clusterlog.ID, from clusterlog.Position, maxBytes int) (entries [][]byte, head uint64, err error) {
	l := &s.edgeLog
	l.sharing.RLock()
	state, at := l.state, l.position()
	l.sharing.RUnlock()
	switch err = from.Before(at); {
	case id == clusterlog.ID{} || id != state.Cluster:
		err = clusterlog.ErrForeignLog
	case err != nil:
	case from.Sequence+1 < state.First:
		err = clusterlog.ErrBelowFloor
	case from.Sequence < at.Sequence:
		entries, err = s.readEdgeEntries(from, at.Sequence, maxBytes)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("storage: entries for an edge: %w", err)
	}
	return entries, at.Sequence, nil
}

// readEdgeEntries reads entries after a position up to the last one.
func (s *Rows) readEdgeEntries(from clusterlog.Position, last uint64, maxBytes int) (entries [][]byte, err error) {
	next, bytes := from.Sequence+1, 0
	keys := row.Range{Lower: row.AppendEdgeEntryKey(nil, next), Upper: row.AppendEdgeEntryKey(nil, last+1)}
	err = kv.Each(s.db, keys, func(key, value []byte) (bool, error) {
		sequence, err := row.SplitEdgeEntryKey(key)
		switch {
		case err != nil:
			return false, err
		case sequence != next: // trimmed meanwhile
			return false, clusterlog.ErrBelowFloor
		case len(entries) == 0:
			if _, _, err := from.Follow(value); err != nil {
				return false, err
			}
		}
		if bytes += len(value); len(entries) > 0 && bytes > maxBytes {
			return false, nil
		}
		entries = append(entries, append([]byte{}, value...))
		next++
		return true, nil
	})
	if err == nil && len(entries) == 0 {
		err = clusterlog.ErrBelowFloor // trimmed meanwhile
	}
	return entries, err
}

// maxTrimmedBytes bounds the entries that one call of TrimEdgeLog reads.
const maxTrimmedBytes = 16 << 20

// TrimEdgeLog deletes the oldest entries while there are more than maxBytes, 16 MiB of them at most; more reports that
// some are left for the next call. Only one goroutine may call it.
func (s *Rows) TrimEdgeLog(maxBytes uint64) (more bool, err error) {
	l := &s.edgeLog
	l.sharing.RLock()
	state := l.state
	l.sharing.RUnlock()
	if state.Bytes <= maxBytes {
		return false, nil
	}
	first, removed := state.First, uint64(0)
	keys := row.Range{Lower: row.AppendEdgeEntryKey(nil, first), Upper: row.AppendEdgeEntryKey(nil, state.Sequence+1)}
	err = kv.Each(s.db, keys, func(_, value []byte) (bool, error) {
		removed += uint64(len(value))
		first++
		return state.Bytes-removed > maxBytes && removed < maxTrimmedBytes, nil
	})
	if err != nil {
		return false, fmt.Errorf("storage: trimming the log for edges: %w", err)
	}
	l.sharing.Lock()
	defer l.sharing.Unlock()
	if l.state.Cluster != state.Cluster { // another one began meanwhile
		return false, nil
	}
	b := s.db.NewBatch()
	defer b.Close()
	kv.Must(b.DeleteRange(keys.Lower, row.AppendEdgeEntryKey(nil, first), nil))
	after := l.state
	after.First, after.Bytes = first, after.Bytes-removed
	kv.Set(b, row.MetaKey(row.MetaEdgeLog), row.AppendEdgeLog(nil, &after))
	if err := s.writer.Sync(b, "storage: trimming the log for edges"); err != nil {
		return false, err
	}
	l.state = after
	return after.Bytes > maxBytes, nil
}

// readEdgeLog reads the state of the log when the store is opened.
func (s *Rows) readEdgeLog() error {
	v, err := s.writer.Get(row.MetaKey(row.MetaEdgeLog))
	if err != nil || v == nil {
		return err
	}
	s.links.LeaveGap() // edges may have hits of links that this disk lacks, if it was rolled back
	if s.edgeLog.state, err = row.DecodeEdgeLog(v); err == nil {
		s.edgeLog.head = s.edgeLog.state.Sequence
		s.pulls.purged = s.edgeLog.head // what was purged before this start is not known
	}
	return err
}

// restoredIDs is how many ids a restored store does not give: those of links that the backup lacks are among them.
// Edges may still have hits of these, which must not count for others.
const restoredIDs = 1 << 32

// renewEdgeLog adds to b what a restored store, which r reads, has instead of the log of the backup, and a gap of ids:
// the original may have got its first edge after the backup. A store of a cluster gives the ids that its log says.
func renewEdgeLog(r pebble.Reader, b *pebble.Batch) error {
	clustered, err := kv.Read(r, row.MetaKey(row.MetaLog))
	if err != nil || clustered != nil {
		return err
	}
	v, err := kv.Read(r, row.MetaKey(row.MetaEdgeLog))
	if err != nil {
		return err
	}
	if v != nil {
		state, err := row.DecodeEdgeLog(v)
		if err != nil {
			return err
		}
		state = endedLog(state)
		removeEdgeLog(b)
		kv.Set(b, row.MetaKey(row.MetaEdgeLog), row.AppendEdgeLog(nil, &state))
	}
	var bound [8]byte
	v, err = kv.Read(r, row.MetaKey(row.MetaIDBound))
	if err == nil {
		err = kv.DecodeFixed(bound[:], v, "id bound")
	}
	if err != nil {
		return err
	}
	raised := min(binary.BigEndian.Uint64(bound[:])+restoredIDs, 1<<row.IDCounterBits)
	kv.Set(b, row.MetaKey(row.MetaIDBound), binary.BigEndian.AppendUint64(nil, raised))
	return nil
}
