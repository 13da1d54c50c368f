package link

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"shunt/engine/caps"
	"shunt/engine/index"
	"shunt/engine/internal/clock"
	"shunt/engine/internal/settings"
)

// Links is the links of a store: those in memory, and the writes of links. Its methods may be called
// from any number of goroutines at once, after Open; those that need all links fail with ErrLoading
// until Load is done.
type Links struct {
	index    index.Index
	ids      ids
	receipts receipts
	owners   owners
	reuses   keyLocks[reuseKey] // see reuse.go
	waits    deadlines          // of writers
	gate     gate
	caps     sharedCaps
	writes   sync.Pool // *write
	loading  loading
	ready    atomic.Bool // Load is done
	cleaner  cleaner

	store   Store
	hits    Hits
	clock   *clock.Clock
	options settings.Options
	log     *slog.Logger
	now     func() time.Time
	random  io.Reader // of drawn codes
}

// Hits is what links need of hits. Any goroutine may call its methods.
type Hits interface {
	// FoldNow returns when every hit that was recorded before the call is in the counter of its link.
	// Errors: ErrOverloaded if ctx reaches its deadline, else that of ctx.
	FoldNow(ctx context.Context) error

	// Visitors returns the number of visitors of the link with an id, over all folded hits.
	Visitors(ctx context.Context, id uint64) (uint64, error)

	// PendingSince returns the hour of the first folded hit that the store does not have, math.MaxUint32: there is
	// none.
	PendingSince() (hour uint32)

	// LookAgain makes each hit look up its link once more from now on, for a minute: see countAtOnce.
	LookAgain()

	// TakeTotals keeps the hits of earlier runs for LoadTotals, as they are now.
	TakeTotals() error

	// LoadTotals adds the hits of earlier runs to the counters.
	LoadTotals(ctx context.Context) error

	// FlushRecorded returns when every hit that was answered before the call is durable in the store.
	FlushRecorded(ctx context.Context) error
}

// Open makes ls the links of store, and returns their index, which has none yet. The options have
// their defaults. hits and clock are not used before Open has returned.
func (ls *Links) Open(store Store, id settings.Identity, o *settings.Options, c *clock.Clock, hits Hits, shared *caps.Shared) *index.Index {
	ls.store, ls.hits, ls.clock = store, hits, c
	ls.options, ls.log, ls.now, ls.random = *o, o.Logger, c.InUse, o.Random
	ls.index.Init()
	if o.PlainTargets {
		ls.index.KeepPlain()
	}
	ls.ids.init()
	ls.receipts.init(o.MaxReceipts)
	ls.owners.init()
	ls.reuses.init()
	ls.gate.exists = o.Cluster
	ls.caps.init(shared)
	return &ls.index
}

// Loops returns what must run as long as links are written: each until its context is done, on a
// goroutine of its own.
func (ls *Links) Loops() []func(context.Context) {
	loops := []func(context.Context){ls.refillIDs}
	if ls.options.Cluster {
		loops = append(loops, ls.cleanUpLoop)
	}
	return loops
}

// Resolve returns the link that k names, or ok == false. It takes no lock, allocates nothing and
// does no I/O. The caller checks whether the link is disabled (Flags.Disabled) or expired
// (Link.Expired), and counts the redirect with Hit, which checks the cap. Call Release when done
// with the link.
func (ls *Links) Resolve(k index.KeyView) (l index.Link, ok bool) { return ls.index.Resolve(k) }

// ResolveFolded is index.Index.ResolveFolded.
func (ls *Links) ResolveFolded(k index.KeyView) (l index.Link, ok bool) {
	return ls.index.ResolveFolded(k)
}

// publish makes h the state of its key in the index.
func (ls *Links) publish(h *index.HotView) error {
	return ls.index.Put(h)
}

// ReadOnly reports whether links cannot be written at present because there is too little space.
func (ls *Links) ReadOnly() bool { return ls.store.ReadOnly() }
