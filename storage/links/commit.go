package links

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/audit"
	"shunt/storage/kv"
)

const (
	// QueueLimit bounds the mutations that wait for a commit; each mutation of a request
	// counts. The largest has about 40 KB with its index rows, a typical one 300 bytes.
	QueueLimit = 4096

	// commitBatchBytes is the size at which a batch is committed and the next one begins. The
	// mutations of one ApplyAll are never split: at worst, with 1,000 links of 32 tags each, a
	// batch has 53 MB. In a cluster it is half of an entry of the log. The other half has room for the
	// mutation that reached it, so whatever is not a bulk is one entry.
	commitBatchBytes = 4 << 20

	// importedBytes is the size of batches with imported links after which the committer has Pebble write
	// memtables into tables; in memtables they take three times as much. An import would fill three
	// memtables of 128 MiB: a server of 60 MB grew to 620 while a million links came in, with this to 205. It
	// takes as long, and writes twice as much to the disk; with 12 MiB it grew to 300 and wrote half as much
	// again. Other links come more slowly: full memtables, of which fewer tables are made, are the better
	// choice for them.
	importedBytes = 5 << 20
)

// commitSeconds are from a commit on a device with its own write cache to one that hangs.
var commitSeconds = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

// commitMutations are the powers of two up to what may wait for a commit (QueueLimit).
var commitMutations = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096}

// ErrRunning: only one may commit, and nothing is closed meanwhile.
var ErrRunning = errors.New("the committer is running")

// committer turns mutations into batches: all mutations that wait when a commit ends share the next
// commit and its fsync.
//
// A mutation is first in the queue, then with the goroutine in run, which calls its done. After
// closed is set, under mu, nothing enters the queue, and the goroutine that set it answers the
// mutations left in it. So each accepted mutation is answered exactly once.
type committer struct {
	db    *pebble.DB
	share kv.Share
	limit int           // bytes at which a batch is committed: commitBatchBytes, or half an entry of the cluster's log
	wake  chan struct{} // one token: the queue is not empty

	mu struct {
		sync.Mutex
		queue           []queued
		waiting         int // mutations in queue, at most QueueLimit
		running, closed bool
	}

	spare    []queued // run's: the empty slice that queue is swapped for
	batch    Batch
	imported int // bytes of batches with imported links since the last flush that the committer asked for

	batches, mutations, refused atomic.Uint64

	seconds kv.Counting // of commits that succeeded, fsync included
	sizes   kv.Counting // mutations of each
}

type queued struct {
	m      engine.Mutation
	bulk   *engine.Bulk // instead of m
	purged *purgedRows  // of a purge
	done   func(error)
}

// mutations returns the number of mutations that q counts as. A bulk without any still has its
// receipt, and counts as one.
func (q *queued) mutations() int {
	if q.bulk == nil {
		return 1
	}
	return max(1, len(q.bulk.Creations))
}

func (c *committer) init(db *pebble.DB, share kv.Share, log *audit.Log) {
	c.db, c.share, c.limit = db, share, commitBatchBytes
	c.batch.audit = log.Entries()
	c.wake = make(chan struct{}, 1)
	c.seconds, c.sizes = kv.NewCounting(commitSeconds, 1e-9), kv.NewCounting(commitMutations, 1)
}

func (c *committer) enqueue(q queued) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.mu.closed:
		return engine.ErrClosed
	case c.mu.waiting+q.mutations() > QueueLimit:
		return engine.ErrOverloaded
	}
	c.mu.queue = append(c.mu.queue, q)
	c.mu.waiting += q.mutations()
	if len(c.mu.queue) == 1 {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
	return nil
}

func (c *committer) run(ctx context.Context) error {
	if err := c.begin(); err != nil {
		return err
	}
	c.batch.batch = c.db.NewBatch(pebble.WithMaxRetainedSizeBytes(2 * commitBatchBytes))
	for ctx.Err() == nil {
		select {
		case <-c.wake:
			if c.commit(c.take()) > 1 {
				// The writers that were just answered can run now and join the next group. Without
				// this they find it begun, and each commit has half of the writers.
				runtime.Gosched()
			}
		case <-ctx.Done():
		}
	}
	c.commit(c.takeLast())
	return c.batch.batch.Close()
}

func (c *committer) begin() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.mu.running:
		return ErrRunning
	case c.mu.closed:
		return engine.ErrClosed
	}
	c.mu.running = true
	return nil
}

// take returns the mutations that wait, and leaves the spare slice for the next ones.
func (c *committer) take() []queued {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.mu.queue
	c.mu.queue, c.spare, c.mu.waiting = c.spare[:0], taken, 0
	return taken
}

// takeLast closes the queue and returns the mutations that wait.
func (c *committer) takeLast() []queued {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.closed, c.mu.running = true, false
	taken := c.mu.queue
	c.mu.queue, c.mu.waiting = nil, 0
	return taken
}

// close answers the mutations that wait with ErrClosed if no run will commit them.
func (c *committer) close() error {
	c.mu.Lock()
	running := c.mu.running
	c.mu.Unlock()
	if running {
		return ErrRunning
	}
	for _, q := range c.takeLast() {
		q.done(engine.ErrClosed)
	}
	return nil
}

// commit commits the mutations in their order, in as many batches as their size requires, and
// answers them. It returns how many callers it has answered.
func (c *committer) commit(waiting []queued) int {
	for rest := waiting; len(rest) > 0; {
		n, mutations, imports := 0, 0, false
		for n < len(rest) && c.batch.Size() < c.limit {
			c.batch.addQueued(&rest[n])
			mutations += rest[n].mutations()
			imports = imports || rest[n].bulk != nil && rest[n].bulk.Imported
			n++
		}
		if imports {
			c.imported += c.batch.Size()
		}
		c.answer(rest[:n], c.commitBatch(mutations))
		c.flushImported()
		rest = rest[n:]
	}
	clear(waiting) // releases strings and callbacks
	return len(waiting)
}

func (c *committer) commitBatch(mutations int) error {
	defer c.batch.batch.Reset()
	c.batch.Finish()
	start := time.Now()
	if err := c.share(c.batch.batch, "storage: committing links"); err != nil {
		return err
	}
	c.seconds.ObserveSince(start)
	c.sizes.Observe(uint64(mutations))
	c.batches.Add(1)
	c.mutations.Add(uint64(mutations))
	return nil
}

// flushImported asks Pebble to write its memtables into tables if they hold many imported links. It waits only
// where the next commit would wait, too: until full memtables and tables have been written. The only error is that
// of a database that is read only. Nodes that follow another one apply what that commits, and fill their memtables.
func (c *committer) flushImported() {
	if c.imported >= importedBytes {
		c.imported = 0
		_, _ = c.db.AsyncFlush()
	}
}

func (c *committer) answer(committed []queued, err error) {
	for i := range committed {
		committed[i].done(err)
	}
}

// queueLength returns how many mutations wait.
func (c *committer) queueLength() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.waiting
}

func (b *Batch) addQueued(q *queued) {
	switch {
	case q.bulk != nil:
		b.addBulk(q.bulk)
	case q.m.Purge != nil:
		b.writeCreations()
		b.purge(q.m.Purge, q.purged)
	case q.m.Hot.Key == engine.Key{}:
		b.writeCreations()
		b.addCap(q.m.Cap)
	default:
		b.Add(&q.m)
	}
}
