package replicate

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"shunt/storage"
	"shunt/storage/audit"
	"shunt/storage/clusterlog"
	"shunt/storage/disk"
	"shunt/storage/hits"
	"shunt/storage/kv"
	"shunt/storage/links"
	"shunt/storage/row"
)

// Rows are what a store has of a cluster: the rows that all nodes share, and those that go from node to node.
type Rows struct {
	store  *storage.Store
	db     *pebble.DB
	writer *kv.Writer
	folder *disk.Folder
	hits   *hits.Hits
	links  *links.Links
	log    *audit.Log

	shared shared
	outbox outbox
	pulls  pulls

	edgeLog edgeLog
	edges   edges
}

// ErrCorrupt: bytes of another node, or of an edge, are none that this program writes.
var ErrCorrupt = row.ErrCorrupt

// Store returns the store whose rows these are.
func (s *Rows) Store() *storage.Store { return s.store }

// Cluster returns the id of the store's cluster; ok is false if it is of none.
func (s *Rows) Cluster() (id clusterlog.ID, ok bool) { return s.shared.cluster, s.shared.exists }

// Edge reports whether the store is that of an edge, which has links only.
func (s *Rows) Edge() bool { return s.shared.edge }

// AppliedSequence returns the sequence of the last entry of the cluster's log that is applied: its rows are
// committed, and, if another node wrote it, the Learner knows what they are.
func (s *Rows) AppliedSequence() uint64 { return s.shared.shown.Load() }

// LogPosition returns the position up to which the store has applied its cluster's log; false: it is
// of no cluster.
func (s *Rows) LogPosition() (at clusterlog.Position, ok bool) {
	s.shared.turn <- struct{}{}
	defer func() { <-s.shared.turn }()
	return s.shared.at, s.shared.exists
}

func appendPosition(cluster clusterlog.ID, p clusterlog.Position) []byte {
	return row.AppendLogPosition(nil, row.LogPosition{Cluster: cluster, Sequence: p.Sequence, Epoch: p.Epoch, Hash: p.Hash})
}

// Appender appends to the log of a cluster, as clusterlog.Leadership does.
type Appender interface {
	Append(ctx context.Context, batch clusterlog.BatchID, payload, private []byte) (clusterlog.Position, error)
}

// shared is the state of a store's shared rows.
type shared struct {
	exists  bool // there is a cluster
	edge    bool // and the store is that of an edge
	revoked bool // of a writer, which refused it before this start
	cluster clusterlog.ID

	// turn has room for the one who commits shared rows, who owns the fields after it.
	turn     chan struct{}
	appender Appender            // nil: this node does not lead
	leading  context.Context     // of appender: its end ends the wait for the log
	at       clusterlog.Position // after the last entry that was read or written
	whole    clusterlog.Position // the same, without entries that are parts of a batch whose last one is missing
	parts    parts               // of such a batch
	learned  learned

	appends   kv.Counting
	abandoned atomic.Pointer[context.CancelFunc] // ends leading; nil: this node has not led

	version atomic.Int64  // of the payloads that this node writes while it leads: see WriteEntries
	full    atomic.Bool   // the servers of the log are filling up: see RefuseWrites
	applied atomic.Uint64 // sequence of the last entry whose rows are committed
	shown   atomic.Uint64 // the same, when the rest of the node knows what it changed
}

// outbox is the state of a store's outbox. The fields before the atomics are of the one who has
// hits.Turn.
type outbox struct {
	state    row.OutboxState // as last committed
	maxBytes uint64
	posting  posting
	value    []byte

	id       atomic.Pointer[[16]byte] // nil: there is no outbox
	first    atomic.Uint64            // of the committed state
	next     atomic.Uint64            // of the committed state: records before it are durable
	bytes    atomic.Uint64
	oldestMs atomic.Int64 // when the first record was made; 0: there is none

	dropped   atomic.Pointer[placedHash] // of the last record before first
	hashed    atomic.Pointer[placedHash] // of the record that was asked for last; nil: none was
	lacksHits atomic.Bool                // of the committed state
	flushing  sync.Mutex                 // held during a flush
	doubtful  atomic.Int32               // that many flushes, from the next one on, may have hits of links that are gone: see DoubtLinks

	withoutBreakdowns, withoutVisitors atomic.Uint64 // rows
}

// placedHash is the hash of the record at a position.
type placedHash struct {
	position uint64
	hash     row.RecordHash
}

// posting is what one flush adds to the outbox.
type posting struct {
	batch  *pebble.Batch
	head   row.OutboxHead // of the record being made
	record row.OutboxRecord
	bytes  uint64 // of the outbox with the records before that
	after  row.OutboxState

	withoutBreakdowns, withoutVisitors uint64
}

// set makes a committed state known.
func (o *outbox) set(s row.OutboxState) {
	if s.ID != o.state.ID {
		o.hashed.Store(nil)
	}
	o.state = s
	o.dropped.Store(&placedHash{s.First - 1, s.Dropped})
	o.lacksHits.Store(s.LacksHits)
	o.first.Store(s.First)
	o.bytes.Store(s.Bytes)
	o.next.Store(s.Next)
	o.id.Store(&s.ID)
}

// pulledBytes bounds the records that are applied at once. A row of an hour that is rolled up is three
// rows here, so a batch has some 4 MB at most, which takes 10 to 20 ms and an fsync.
const pulledBytes = row.MaxOutboxRecordBytes

// pulls is the state of applying records. The batch and purged are of the one who has hits.Turn.
type pulls struct {
	batch  *pebble.Batch
	purged uint64 // sequence in the log of the last purge that removed rows here, or a later one

	rows, dropped atomic.Uint64 // rows that were applied, and rows of purged links, since Open
}
