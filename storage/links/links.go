package links

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"shunt/storage/audit"
	"shunt/storage/hits"
	"shunt/storage/kv"
)

// Links are the rows of links of a store, with the goroutine that commits them. The methods that engine.Store
// has are documented there.
type Links struct {
	db       *pebble.DB
	writer   *kv.Writer
	mayWrite func() error
	share    kv.Share
	hits     *hits.Hits
	progress *kv.Scanned

	commits     committer
	nextReceipt []byte // where the sweep of receipts continues; nil: at the first
	clustered   bool   // other nodes have the same links, and other rows of hits
	ids         struct {
		sync.Mutex
		bound atomic.Uint64 // every id below it may have been given; written under the lock, once Start is over
		gap   atomic.Bool   // see LeaveGap
	}
}

// Options are what Links need of their store.
type Options struct {
	MayWrite func() error // returns the error with which the store refuses to write, such as engine.ErrReadOnly
	Share    kv.Share
	Hits     *hits.Hits
	Log      *audit.Log
	Progress *kv.Scanned // of LoadLinks
}

// Init gives the rows their open database.
func (l *Links) Init(db *pebble.DB, w *kv.Writer, o Options) {
	l.db, l.writer, l.mayWrite, l.share, l.hits, l.progress = db, w, o.MayWrite, o.Share, o.Hits, o.Progress
	l.commits.init(db, o.Share, o.Log)
}

// Start sets the bound of ids.
func (l *Links) Start(bound uint64) { l.ids.bound.Store(bound) }

// Cluster says whether other nodes have the same links. Then a batch is committed at batchBytes; 0: there are none.
func (l *Links) Cluster(batchBytes int) {
	l.clustered, l.commits.limit = batchBytes > 0, cmp.Or(batchBytes, commitBatchBytes)
}

// Commit commits mutations until ctx is done, and then those that wait. It may be called once.
func (l *Links) Commit(ctx context.Context) error { return l.commits.run(ctx) }

// Close answers the mutations that wait, if nobody commits them, with engine.ErrClosed.
func (l *Links) Close() error { return l.commits.close() }

// Metrics are figures of commits since Open.
type Metrics struct {
	QueueLength uint64 // mutations that wait for a commit
	Batches     uint64
	Mutations   uint64
	Refused     uint64
	Seconds     kv.Histogram // of commits
	Sizes       kv.Histogram // mutations of each
}

// Commits returns the figures of commits.
func (l *Links) Commits() Metrics {
	c := &l.commits
	return Metrics{
		QueueLength: uint64(c.queueLength()), Batches: c.batches.Load(), Mutations: c.mutations.Load(), Refused: c.refused.Load(),
		Seconds: c.seconds.Snapshot(), Sizes: c.sizes.Snapshot(),
	}
}
