package replicate

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/clusterlog"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// ErrNotEmpty: a store that is to become that of an edge has rows of its own.
var ErrNotEmpty = errors.New("the store has links or accounts of its own")

// BecomeEdge makes a store, which must be empty, that of an edge of a writer, without a copy yet: LogPosition has no
// log then. It must not be in use. The error is ErrNotEmpty.
func (s *Rows) BecomeEdge() error {
	if s.shared.exists {
		return errors.New("storage: the store is of a cluster, or that of an edge already")
	}
	for _, table := range []byte{row.TableHot, row.TableCold, row.TableAccounts, row.TableFolders, row.TableDomains, row.TableCertificates, row.TableAudit, row.TableOwnerHours, row.TableOwnerDays} {
		if found, err := kv.HasRows(s.db, row.TableRange(table)); err != nil || found {
			return errors.Join(err, fmt.Errorf("storage: becoming an edge: %w", ErrNotEmpty))
		}
	}
	b := s.db.NewBatch()
	defer b.Close()
	outbox := newOutbox()
	leaveEdges(b)
	kv.Set(b, row.MetaKey(row.MetaEdge), []byte{row.EdgeInService})
	kv.Set(b, row.MetaKey(row.MetaOutbox), row.AppendOutboxState(nil, outbox))
	kv.Set(b, row.MetaKey(row.MetaLog), appendPosition(clusterlog.ID{}, clusterlog.Position{}))
	if err := s.writer.Sync(b, "storage: becoming an edge"); err != nil {
		return err
	}
	s.edgeLog.state, s.edges.by = row.EdgeLog{}, nil
	s.shared.edge = true
	s.beginAt(clusterlog.ID{}, clusterlog.Position{})
	s.outbox.set(outbox)
	return nil
}

// NoteRevoked notes, durably, whether the writer of this edge refuses it.
func (s *Rows) NoteRevoked(revoked bool) error {
	if !s.shared.edge {
		return errors.New("storage: only an edge can be revoked")
	}
	value := byte(row.EdgeInService)
	if revoked {
		value = row.EdgeRevoked
	}
	b := s.db.NewBatch()
	defer b.Close()
	kv.Set(b, row.MetaKey(row.MetaEdge), []byte{value})
	return s.writer.Sync(b, "storage: noting whether the edge is in service")
}

// Revoked reports whether the writer had refused this edge when the store was opened.
func (s *Rows) Revoked() bool { return s.shared.revoked }

// Log returns the log that the store follows, zero if it has no copy of it yet, and the position up to which it has
// applied it.
func (s *Rows) Log() (id clusterlog.ID, at clusterlog.Position) {
	s.shared.turn <- struct{}{}
	defer func() { <-s.shared.turn }()
	return s.shared.cluster, s.shared.at
}

// Mirror makes the links of an edge those of a copy that WriteCopy wrote, and moves its position there. It writes what
// differs, in batches like those of Learn, and tells to what has changed, so the store may be in use. The last batch
// has the position: if Mirror fails before, the store has some links of the copy, and must take another one. Only the
// goroutine that calls Learn may call it.
func (s *Rows) Mirror(ctx context.Context, r io.Reader, to Learner) error {
	if !s.shared.edge {
		return errors.New("storage: a copy for an edge, and this is none")
	}
	s.DoubtLinks()
	defer s.TrustLinks()
	return s.mirror(ctx, r, &mirror{to: to})
}

// mirror makes the shared rows those of a copy.
func (s *Rows) mirror(ctx context.Context, r io.Reader, m *mirror) (err error) {
	sh := &s.shared
	sh.turn <- struct{}{}
	defer func() { <-sh.turn }()
	if sh.appender != nil {
		return errors.New("storage: taking a copy while this node leads")
	}
	defer sh.learned.reset()
	theirs, err := readCopy(r, s.copyKindOf())
	if err != nil {
		return fmt.Errorf("storage: %w", err)
	}
	if m.of != (clusterlog.ID{}) && theirs.head.log != m.of {
		return fmt.Errorf("storage: %w: it is of the cluster %v", errCopy, theirs.head.log)
	}
	snapshot := s.db.NewSnapshot()
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	m.rows, m.theirs, m.batch = s, theirs, s.db.NewBatch()
	defer func() { err = errors.Join(err, m.batch.Close()) }()
	for _, table := range theirs.head.kind.tables() {
		if err := m.table(ctx, snapshot, table); err != nil {
			return fmt.Errorf("storage: applying a copy: %w", err)
		}
	}
	if theirs.key != nil {
		return fmt.Errorf("storage: applying a copy: %w: it goes on after its end", errCopy)
	}
	if err := m.purge(ctx); err != nil {
		return fmt.Errorf("storage: applying a copy: %w", err)
	}
	return m.end()
}

// mirror is a call of Mirror, or of MirrorShared.
type mirror struct {
	to     Learner
	of     clusterlog.ID                   // the cluster; zero: any
	settle func(ctx context.Context) error // see MirrorShared; nil at an edge

	rows   *Rows
	theirs *copyReader
	batch  *pebble.Batch
	purged []uint64 // links that the copy does not have, of a full node
}

// table makes the rows of a table those of the copy.
func (m *mirror) table(ctx context.Context, own pebble.Reader, table byte) (err error) {
	keys := row.TableRange(table)
	it, err := own.NewIter(&pebble.IterOptions{LowerBound: keys.Lower, UpperBound: keys.Upper})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for valid := it.First(); ; {
		here := m.theirs.key != nil && m.theirs.key[0] == table
		order := 0 // of the own row, to theirs
		switch {
		case !valid && !here:
			return it.Error()
		case !valid:
			order = 1
		case !here:
			order = -1
		default:
			order = bytes.Compare(it.Key(), m.theirs.key)
		}
		value := []byte(nil)
		if valid {
			if value, err = it.ValueAndErr(); err != nil {
				return err
			}
		}
		switch {
		case order < 0:
			err = m.remove(it.Key(), value)
		case order > 0 || !bytes.Equal(value, m.theirs.value):
			kv.Set(m.batch, m.theirs.key, m.theirs.value)
			err = m.rows.shared.learned.noteSet(m.theirs.key, m.theirs.value, m.rows.writer.Known)
			if err == nil && order > 0 && table == row.TableCold && !m.rows.shared.edge {
				err = m.noteImported(m.theirs.key, m.theirs.value)
			}
		}
		if err == nil && m.batch.Len() >= learnBytes {
			err = errors.Join(ctx.Err(), m.commit())
		}
		if err == nil && order >= 0 {
			err = m.theirs.next()
		}
		if err != nil {
			return err
		}
		if order <= 0 {
			valid = it.Next()
		}
	}
}

// remove removes a row that the copy does not have.
func (m *mirror) remove(key, value []byte) error {
	l := &m.rows.shared.learned
	if key[0] == row.TableCold && !m.rows.shared.edge { // with its tallies, at the end
		id, err := row.SplitColdKey(key)
		m.purged = append(m.purged, id)
		return err
	}
	kv.Remove(m.batch, key)
	switch key[0] {
	case row.TableHot:
		k, err := row.SplitHotKey(bytes.Clone(key))
		if err != nil {
			return err
		}
		h, err := row.DecodeHot(k, value)
		if err != nil {
			return err
		}
		if h.Flags&engine.FlagTombstone == 0 { // what is forgotten must be a tombstone
			h.Flags, h.Target, h.Extras = engine.FlagTombstone, nil, nil
			h.ExpiresAtMs, h.MaxHits, h.DeletedAtMs = 0, 0, 1
			l.Links = append(l.Links, h)
		}
		l.Freed = append(l.Freed, engine.Freed{Key: k.Own(), ID: h.ID})
	case row.TableCaps, row.TableReceipts, row.TableAccounts, row.TableFolders, row.TableDomains, row.TableCertificates:
		return l.noteDelete(key, m.rows.writer.Known)
	}
	return nil
}

// commit commits what has come so far, at the position before the copy, and tells what it changed.
func (m *mirror) commit() error {
	l := &m.rows.shared.learned
	defer l.reset()
	defer m.batch.Reset()
	if err := m.rows.writer.Commit(m.batch); err != nil {
		return err
	}
	m.rows.log.Raise(l.stamp)
	return l.tell(m.to)
}

// end commits the rest with the position of the copy.
func (m *mirror) end() error {
	sh, head := &m.rows.shared, &m.theirs.head
	kv.Set(m.batch, row.MetaKey(row.MetaIDBound), binary.BigEndian.AppendUint64(nil, max(head.bound, m.rows.links.IDBound())))
	kv.Set(m.batch, row.MetaKey(row.MetaLog), appendPosition(head.log, head.at))
	if err := m.commit(); err != nil {
		return fmt.Errorf("storage: applying a copy: %w", err)
	}
	m.rows.links.RaiseIDBound(head.bound)
	sh.cluster, sh.at, sh.whole, sh.parts = head.log, head.at, head.at, parts{}
	sh.applied.Store(head.at.Sequence)
	sh.shown.Store(head.at.Sequence)
	return nil
}

// compareCopied compares keys in the order of a copy of these tables.
func compareCopied(tables, a, b []byte) int {
	if order := slices.Index(tables, a[0]) - slices.Index(tables, b[0]); order != 0 {
		return order
	}
	return bytes.Compare(a, b)
}
