package storage

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/clusterlog"
	"shunt/storage/disk"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// In a cluster, all nodes have the same shared rows: links, their indexes, receipts, accounts, the
// audit log and the bound of ids (row.Shared). The leader makes a batch of them the next entry of the
// cluster's log before it commits the batch; the other nodes read the entry and commit the same bytes.
// Each commits the position after the entry in the same batch, so a node has applied exactly the
// entries up to its position, whatever interrupts it. Rows rather than calls are replicated, because
// then nothing has to be decided twice, and equal positions mean equal bytes.
//
// All other rows are a node's own, and are committed without the log: they need no leader, so hits
// are flushed whatever the cluster does.
//
// An edge (Store.Edge) reads the same entries and keeps only the rows that redirects need
// (row.KeptByEdge): hot records, a part of cold ones, and the bound of ids. The others are in the private
// parts of entries, which its role at etcd may not read: see splitRows. It has no account, receipt or
// audit entry, and no figures, of others or its own: whoever takes its machine finds links and the
// visitor key. So what it counts is only in its outbox, until all full nodes have it. Tally rows of its
// own would do no harm, but nobody can ask for them, because full nodes answer the API. They would cost a
// second copy of each row and its roll-up: of 40 flushes of 50,000 rows, each took 189 ms of CPU and 19
// MB with them, and 12 ms and 5 MB without (BenchmarkFlushOfAnEdge, 2 cores). A counter in an edge's
// memory has what this process has counted: a cap needs more than that, and must not rely on it.

// Appender appends to the log of a cluster, as clusterlog.Leadership does.
type Appender interface {
	Append(ctx context.Context, batch clusterlog.BatchID, payload, private []byte) (clusterlog.Position, error)
}

// shared is the state of a store's shared rows.
type shared struct {
	exists  bool // there is a cluster
	edge    bool // and the store is that of an edge
	cluster clusterlog.ID

	// turn has room for the one who commits shared rows, who owns the fields after it.
	turn     chan struct{}
	appender Appender            // nil: this node does not lead
	leading  context.Context     // of appender: its end ends the wait for the log
	at       clusterlog.Position // after the last entry that was read or written
	whole    clusterlog.Position // the same, without entries that are parts of a batch whose last one is missing
	parts    parts               // of such a batch
	learned  learned

	abandoned atomic.Pointer[context.CancelFunc] // ends leading; nil: this node has not led

	version atomic.Int64  // of the payloads that this node writes while it leads: see WriteEntries
	full    atomic.Bool   // the servers of the log are filling up: see RefuseWrites
	applied atomic.Uint64 // sequence of the last entry whose rows are committed
	shown   atomic.Uint64 // the same, when the rest of the node knows what it changed
}

// unsettledPause is the time between two attempts to find out what became of an entry.
const unsettledPause = 100 * time.Millisecond

// share commits a batch of shared rows. In a cluster it returns engine.ErrNotLeader if the batch is
// not in the log and never will be. While the log does not answer, it waits.
func (s *Store) share(b *pebble.Batch, doing string) error {
	if !s.shared.exists {
		return s.writer.Sync(b, doing)
	}
	s.shared.turn <- struct{}{}
	defer func() { <-s.shared.turn }()
	if err := s.shareLocked(b); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// shareLocked is share for the one whose turn it is.
func (s *Store) shareLocked(b *pebble.Batch) error {
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
func (s *Store) append(payload, private []byte) (clusterlog.Position, error) {
	batch := clusterlog.NewBatchID()
	for {
		at, err := s.shared.appender.Append(s.shared.leading, batch, payload, private)
		switch {
		case err != nil && s.shared.leading.Err() != nil:
			s.shared.appender = nil // nobody may decide by what this node knows
			return at, fmt.Errorf("%w: %w", engine.ErrOutcomeUnknown, err)
		case err == nil:
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
func (s *Store) commitShared(b *pebble.Batch, own own) error {
	if s.shared.edge {
		own.purged = nil // it has no rows of their hits
	}
	if len(own.purged) > 0 || anyGone(own.caps) { // nothing else may make rows of these links again
		s.Turn().Lock()
		defer s.Turn().Unlock()
		for _, id := range own.purged {
			for _, hour := range s.Hours(s.Mark().Hour) {
				kv.Remove(b, row.AppendLinkHourKey(nil, hour, id))
			}
		}
		for i := range own.caps {
			if own.caps[i].Gone {
				kv.Remove(b, row.AppendCapUseKey(nil, own.caps[i].ID))
			}
		}
		if len(own.purged) > 0 {
			s.pulls.purged = s.shared.whole.Sequence
		}
	}
	kv.Set(b, row.MetaKey(row.MetaLog), appendPosition(s.shared.cluster, s.shared.whole))
	if err := s.writer.Commit(b); err != nil {
		return err
	}
	// Without its lock, whose holder may wait for shared.turn: nobody allocates ids while this node learns.
	s.RaiseIDBound(own.bound)
	s.changeLog.Raise(own.stamp)
	s.capUses.learned(own.caps)
	s.shared.applied.Store(s.shared.whole.Sequence)
	return nil
}

// LogPosition returns the position up to which the store has applied its cluster's log; false: it is
// of no cluster.
func (s *Store) LogPosition() (at clusterlog.Position, ok bool) {
	s.shared.turn <- struct{}{}
	defer func() { <-s.shared.turn }()
	return s.shared.at, s.shared.exists
}

// JoinLog makes the store, which is of no cluster, one whose shared rows are those before the first
// entry of a log. Its outbox is empty: the nodes of a new cluster begin with the same tallies. It must
// not be in use.
func (s *Store) JoinLog(id clusterlog.ID, at clusterlog.Position) error {
	if s.shared.exists {
		return errors.New("storage: the store is of a cluster already")
	}
	b := s.db.NewBatch()
	defer b.Close()
	kv.Set(b, row.MetaKey(row.MetaLog), appendPosition(id, at))
	outbox := newOutbox()
	kv.Set(b, row.MetaKey(row.MetaOutbox), row.AppendOutboxState(nil, outbox))
	leaveCaps(b) // what an earlier cluster has left
	if err := s.writer.Sync(b, "storage: joining a cluster"); err != nil {
		return err
	}
	s.shared.exists, s.shared.cluster, s.shared.at, s.shared.whole = true, id, at, at
	s.shared.applied.Store(at.Sequence)
	s.shared.shown.Store(at.Sequence)
	s.linkRows.Cluster(clusterlog.MaxPayloadBytes / 2)
	s.PostTo(&poster{s})
	s.outbox.set(outbox)
	s.pulls.purged = at.Sequence
	return s.readCaps()
}

// LeaveLog makes the store one of no cluster again, with all rows that it has. It must not be in use. That
// of an edge cannot leave, because nobody could make an account in it.
func (s *Store) LeaveLog() error {
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
	s.PostTo(nil)
	s.linkRows.Cluster(0)
	s.outbox.id.Store(nil)
	s.outbox.oldestMs.Store(0)
	s.outbox.bytes.Store(0)
	return nil
}

// Lead lets the store write shared rows, by an appender. Everything before must have been applied.
func (s *Store) Lead(a Appender) {
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
func (s *Store) Abandon() {
	if abandon := s.shared.abandoned.Load(); abandon != nil {
		(*abandon)()
	}
}

// StopLeading refuses shared rows from now on. It waits for a commit under way, so when it returns,
// each batch is in the log and applied, or never will be.
func (s *Store) StopLeading() {
	s.shared.turn <- struct{}{}
	defer func() { <-s.shared.turn }()
	s.shared.appender = nil
}

// WriteEntries sets the version of entries that this node writes while it leads: the newest that all nodes
// read, because one that meets a newer one stops. Each leadership begins with the oldest.
func (s *Store) WriteEntries(version int) {
	s.shared.version.Store(int64(min(max(version, row.OldestPayload), ReadsEntries)))
}

// RefuseWrites makes writes fail with engine.ErrReadOnly, except deletions of rows of accounts, as if
// the disk were full, or ends that: the servers of the cluster's log are filling up.
func (s *Store) RefuseWrites(refuse bool) { s.shared.full.Store(refuse) }

// mayWrite returns engine.ErrReadOnly if there is too little space here, or in the cluster's log.
func (s *Store) mayWrite() error {
	if s.reads != nil {
		return kv.ErrReads
	}
	if s.shared.full.Load() {
		return engine.ErrReadOnly
	}
	return s.space.check()
}

// readLog reads the position in the cluster's log, and what depends on it.
func (s *Store) readLog() error {
	s.shared.turn = make(chan struct{}, 1)
	v, err := s.writer.Get(row.MetaKey(row.MetaLog))
	if err != nil || v == nil {
		return err
	}
	p, err := row.DecodeLogPosition(v)
	at := clusterlog.Position{Sequence: p.Sequence, Epoch: p.Epoch, Hash: p.Hash}
	s.shared.exists, s.shared.cluster, s.shared.at, s.shared.whole = true, p.Cluster, at, at
	s.shared.applied.Store(at.Sequence)
	s.shared.shown.Store(at.Sequence)
	s.linkRows.Cluster(clusterlog.MaxPayloadBytes / 2)
	s.PostTo(&poster{s})
	s.pulls.purged = at.Sequence // what was purged before this start is not known
	edge, edgeErr := s.writer.Get(row.MetaKey(row.MetaEdge))
	s.shared.edge = edge != nil
	return errors.Join(err, edgeErr, s.startOutbox(), s.readCaps())
}

// ownRows returns what a batch that this node made means for its own rows: its memory knows it already.
func ownRows(b *pebble.Batch) (o own) {
	for r := b.Reader(); ; {
		kind, key, value, ok, err := r.Next()
		if !ok || err != nil {
			return o
		}
		gone := kind == pebble.InternalKeyKindDelete
		switch {
		case gone && key[0] == row.TableCold:
			o.purged = append(o.purged, binary.BigEndian.Uint64(key[1:]))
		case gone && key[0] == row.TableCaps:
			o.caps = append(o.caps, engine.CapChange{ID: binary.BigEndian.Uint64(key[1:]), Gone: true})
		case key[0] == row.TableCaps:
			c, err := row.DecodeCap(value)
			kv.Must(err) // it was just encoded
			o.caps = append(o.caps, engine.CapChange{ID: binary.BigEndian.Uint64(key[1:]), Cap: c})
		}
	}
}

func appendPosition(cluster clusterlog.ID, p clusterlog.Position) []byte {
	return row.AppendLogPosition(nil, row.LogPosition{Cluster: cluster, Sequence: p.Sequence, Epoch: p.Epoch, Hash: p.Hash})
}

// Cluster returns the id of the store's cluster; ok is false if it is of none.
func (s *Store) Cluster() (id clusterlog.ID, ok bool) { return s.shared.cluster, s.shared.exists }

// Edge reports whether the store is that of an edge, which has links only.
func (s *Store) Edge() bool { return s.shared.edge }

// AppliedSequence returns the sequence of the last entry of the cluster's log that is applied: its rows are
// committed, and, if another node wrote it, the Learner knows what they are.
func (s *Store) AppliedSequence() uint64 { return s.shared.shown.Load() }

// SharedState is what two nodes of a cluster compare: at equal sequences, their hashes are equal.
type SharedState struct {
	Cluster  string `json:"cluster"`
	Sequence uint64 `json:"sequence"` // of the last entry of the log that is applied
	Epoch    uint64 `json:"epoch"`    // of that entry
	Hash     string `json:"hash"`     // SHA-256 of all shared rows but tallies, in hexadecimal; of an edge: of those that it keeps
	Links    string `json:"links"`    // SHA-256 of what an edge keeps of them: equal on all nodes
	Edge     bool   `json:"edge,omitempty"`
}

// SharedHash returns a hash of all shared rows but tallies. It is equal on all nodes that have applied
// the same entries. It reads all of them.
func (s *Store) SharedHash() (sum [sha256.Size]byte, err error) {
	snapshot := s.db.NewSnapshot()
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	return sharedHash(snapshot, false)
}

// SharedState returns the state of the shared rows; nil if the store is of no cluster.
func (v *Inspection) SharedState() (*SharedState, error) {
	value, err := kv.Read(v.r, row.MetaKey(row.MetaLog))
	if err != nil || value == nil {
		return nil, err
	}
	p, err := row.DecodeLogPosition(value)
	if err != nil {
		return nil, err
	}
	sum, err := sharedHash(v.r, false)
	if err != nil {
		return nil, err
	}
	links, err := sharedHash(v.r, true)
	if err != nil {
		return nil, err
	}
	edge, err := kv.Read(v.r, row.MetaKey(row.MetaEdge))
	return &SharedState{
		Cluster: clusterlog.ID(p.Cluster).String(), Sequence: p.Sequence, Epoch: p.Epoch,
		Hash: hex.EncodeToString(sum[:]), Links: hex.EncodeToString(links[:]), Edge: edge != nil,
	}, err
}

// sharedHash returns a hash of all shared rows but tallies, or of what an edge keeps of them.
func sharedHash(r pebble.Reader, ofEdge bool) (sum [sha256.Size]byte, err error) {
	it, err := r.NewIter(&pebble.IterOptions{})
	if err != nil {
		return sum, fmt.Errorf("storage: %w", err)
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	h, length := sha256.New(), make([]byte, 0, 8)
	for valid := it.First(); valid; valid = it.Next() {
		key := it.Key()
		if !row.Shared(key) || ofEdge && !row.KeptByEdge(key) || key[0] == row.TableLinkLives || key[0] == row.TableLinkDays {
			continue
		}
		value, err := it.ValueAndErr()
		if err != nil {
			return sum, fmt.Errorf("storage: %w", err)
		}
		if ofEdge && key[0] == row.TableCold {
			if value, err = row.ColdOfEdge(value); err != nil {
				return sum, fmt.Errorf("storage: row %x: %w", key, err)
			}
		}
		length = binary.BigEndian.AppendUint32(length[:0], uint32(len(key)))
		length = binary.BigEndian.AppendUint32(length, uint32(len(value)))
		h.Write(length)
		h.Write(key)
		h.Write(value)
	}
	return [sha256.Size]byte(h.Sum(nil)), it.Error()
}

// NodeID returns what distinguishes this folder from all others of its cluster, as 16 random bytes. It is
// drawn when it is first asked for; fresh says that this was so. It is a file, so backups do not have it:
// a copy of another node's data is a node of its own. Only one goroutine may call it.
func (s *Store) NodeID() (id [16]byte, fresh bool, err error) {
	file, err := s.folder.FS.Open(s.folder.Path(disk.NodeName))
	if errors.Is(err, fs.ErrNotExist) {
		rand.Read(id[:]) // never fails
		if err = s.folder.WriteSynced(disk.NodeName, hex.EncodeToString(id[:])+"\n"); err == nil {
			err = s.folder.SyncDir(s.folder.Dir)
		}
		if err != nil {
			return id, false, fmt.Errorf("storage: drawing the id of the node: %w", err)
		}
		return id, true, nil
	}
	if err != nil {
		return id, false, fmt.Errorf("storage: reading the id of the node: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(file, 2*int64(len(id))+2))
	if err = errors.Join(err, file.Close()); err == nil && len(text) != 2*len(id)+1 {
		err = fmt.Errorf("%w: it has %d bytes", ErrCorrupt, len(text))
	}
	if err == nil {
		_, err = hex.Decode(id[:], text[:2*len(id)])
	}
	if err != nil {
		return id, false, fmt.Errorf("storage: reading the id of the node (remove the file %s to make this folder another node): %w", disk.NodeName, err)
	}
	return id, false, nil
}
