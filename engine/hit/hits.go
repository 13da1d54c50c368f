package hit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"shunt/engine/caps"
	"shunt/engine/index"
	"shunt/engine/internal/clock"
	"shunt/engine/internal/settings"
	"shunt/engine/journal"
	"shunt/engine/plural"
)

// Hits is the hits of a store's links: it records and counts them, and answers questions about them. Its
// methods may be called from any number of goroutines at once, after Open.
type Hits struct {
	index    *index.Index
	journal  *journal.Journal
	pending  *pending
	caps     *caps.Shared
	rankings rankings
	totals   totals

	store   Store
	links   Links
	folder  journal.Folder
	options settings.Options
	log     *slog.Logger
	now     func() time.Time

	clock    *clock.Clock
	flusher  flusher
	keeper   *journal.Keeper
	stall    stallLog
	replayed replayed
}

// Links is what hits need of links. Any goroutine may call its functions.
type Links struct {
	Index *index.Index

	// Ready reports whether all links are in the index.
	Ready func() bool

	// Origin returns what figures must know of the link with a code and an id; of one that is gone, the zero value.
	Origin func(k index.Key, id uint64) (Origin, error)

	// CleanUp deletes what was kept long enough of links. It is called after a roll-up, while the clock runs evenly;
	// rolledUp: no row is still to be rolled up. more: it should be called again soon. nil: somebody else does that.
	CleanUp func(ctx context.Context, now time.Time, rolledUp bool) (more bool, err error)
}

// of makes hs hits of store whose journal was not opened yet.
func (hs *Hits) of(store Store, id settings.Identity, o *settings.Options, c *clock.Clock) *Hits {
	hs.store, hs.options, hs.log, hs.now, hs.clock = store, *o, o.Logger, o.Now, c
	hs.folder = journal.NewFolder(id.StoreID, o.JournalDir)
	return hs
}

// Open makes hs the hits of links. It replays and commits the records of the journal that the store does not
// have, and starts a new epoch of the journal, and c. The options have their defaults.
func (hs *Hits) Open(
	store Store, id settings.Identity, o *settings.Options, c *clock.Clock, links Links, shared *caps.Shared,
) error {
	hs.of(store, id, o, c).links, hs.index, hs.caps = links, links.Index, shared
	if o.ReadOnly {
		return hs.startReading()
	}
	if err := os.MkdirAll(o.JournalDir, 0o700); err != nil {
		return hs.journalError(err)
	}
	return hs.startEpoch()
}

// Loops returns what must run as long as hits are recorded: each until its context is done, on a goroutine
// of its own. TakeTotals was called before.
func (hs *Hits) Loops() []func(context.Context) {
	if hs.options.ReadOnly {
		return []func(context.Context){hs.refreshRankings}
	}
	hs.flusher.ended.Store(new(make(chan struct{})))
	return []func(context.Context){hs.foldLoop, hs.flushLoop, hs.refreshRankings}
}

// Keeper returns what keeps pages of the journal writable, to be run beside the loops.
func (hs *Hits) Keeper() *journal.Keeper { return hs.keeper }

// UseStandby sends hits to the standby rings, or to the files again. The keeper does it when the disk stalls.
func (hs *Hits) UseStandby(standby bool) { hs.journal.UseStandby(standby) }

// LookAgain makes each hit look up its link once more from now on, until the fold has run capsGivenFolds times.
func (hs *Hits) LookAgain() { hs.journal.LookAgain(capsGivenFolds) }

// capsGivenFolds is the number of folds during which writers look for a cap after one was given: a
// minute of the fold's ticks. A redirect spends microseconds between Resolve and Hit; one that the
// scheduler kept from running for a minute would be admitted in excess of the cap.
const capsGivenFolds = int32(time.Minute / foldInterval)

// FoldNow folds every hit that was recorded before the call. Errors: ErrOverloaded if ctx reaches its deadline,
// else that of ctx.
func (hs *Hits) FoldNow(ctx context.Context) error { return hs.pending.foldTo(ctx, hs.journal.Heads()) }

// FlushAll folds and flushes all records. Nobody else may call Flush.
func (hs *Hits) FlushAll() error {
	err := hs.FoldNow(context.Background())
	for clock := true; err == nil && (clock || hs.pending.waits()); clock = false { // twice if a failed flush is still in flight
		if err = hs.flush(clock); err != nil {
			err = hs.Unflushed(err)
		}
	}
	return err
}

// Release closes the files of the journal. What was not flushed is replayed at the next start.
func (hs *Hits) Release() error { return errors.Join(hs.dropTotals(), hs.journal.Close()) }

// Unflushed wraps err and says what happens to the hits that could not be flushed because of it.
func (hs *Hits) Unflushed(err error) error {
	inJournal, lost := hs.journal.AtRisk()
	return fmt.Errorf("the last flush: %w; in the journal alone: %s, for the next start to count; lost: %s",
		err, plural.Of(inJournal, "redirect", "redirects"), plural.Of(lost, "redirect", "redirects"))
}
