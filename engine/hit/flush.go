package hit

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"shunt/engine/internal/clock"
	"shunt/engine/internal/errs"
	"shunt/engine/journal"
	"shunt/engine/seen"
	"shunt/engine/tally"
)

const (
	// foldInterval is the time between two folds of the journal. 10 ms of a million hits a second
	// are 10,000 records.
	foldInterval = 10 * time.Millisecond

	// restAfter is how long no hit comes until nothing looks for hits any more: the next one wakes the
	// fold, which takes well under a millisecond. idleTurn is the time between two turns of the flush
	// goroutine from then on.
	restAfter = 3 * time.Second
	idleTurn  = 20 * time.Second

	// rollUpGrace is how long an hour stays open after its end, for records that a slow writer
	// stamped in it.
	rollUpGrace = time.Minute

	// rollUpBudget bounds the time of a roll-up between two flushes.
	rollUpBudget = 200 * time.Millisecond
)

// flusher is the state of the flush goroutine, and its figures for Metrics.
type flusher struct {
	soon        chan struct{} // a ring is half full: do not wait for the interval
	asked       chan flushAsked
	idle        atomic.Bool                   // the fold waits for a hit
	woken       chan struct{}                 // there are hits again
	ended       atomic.Pointer[chan struct{}] // of the last Run; closed when its flush goroutine has ended
	positions   Positions                     // the flush goroutine's
	limits      RollUpLimits                  // the flush goroutine's
	rollUp      bool                          // the flush goroutine's: there may be rows to roll up within limits
	pulled      atomic.Bool                   // so there may, because another node has counted hits in a past hour
	cleans      bool                          // the flush goroutine's: links are being cleaned up
	rollUpFails bool                          // the flush goroutine's: the failure was logged

	waits           atomic.Uint64 // hits that found their ring full
	count, failures atomic.Uint64
	reduced         atomic.Uint64 // flushes that left parts out
	lastUnixNano    atomic.Int64
	lastNanos       atomic.Int64
	sumNanos        atomic.Int64
}

func (f *flusher) init(p Positions) {
	f.soon = make(chan struct{}, 1)
	f.asked = make(chan flushAsked)
	f.woken = make(chan struct{}, 1)
	f.ended.Store(new(chan struct{}))
	f.positions = p
	f.limits = RollUpLimits{OpenHour: p.OpenHour}
	f.rollUp = true
}

// last returns the last time at which all folded records were durable.
func (f *flusher) last() time.Time { return time.Unix(0, f.lastUnixNano.Load()) }

func (hs *Hits) foldLoop(ctx context.Context) {
	defer hs.journal.EndRest() // nobody would wake it
	tick := time.NewTicker(foldInterval)
	defer tick.Stop()
	folded, since := uint64(0), time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-hs.journal.Woken():
			hs.keeper.EndRest()
			if since = time.Now(); hs.endIdle() {
				tick.Reset(foldInterval) // a hit asks again and again, and must not put the tick off
			}
			continue
		case <-tick.C:
			hs.pending.fold()
			hs.journal.CountDown()
			hs.flushSoonIfFull()
			hs.keeper.Watch() // first: the log lines of watchStall may wait for the same disk
			hs.watchStall()
		}
		if n, settled := hs.pending.progress(); n != folded || !settled {
			folded, since = n, time.Now()
		}
		switch {
		case time.Since(since) < restAfter:
		case !hs.journal.Resting():
			hs.journal.Rest() // and look once more: a writer may have picked its ring before
		default:
			tick.Stop()
			hs.flusher.idle.Store(true)
		}
	}
}

// endIdle makes the flush goroutine keep the flush interval again. It reports whether the fold was idle.
func (hs *Hits) endIdle() bool {
	if !hs.flusher.idle.Swap(false) {
		return false
	}
	select {
	case hs.flusher.woken <- struct{}{}:
	default: // it was already told
	}
	return true
}

// Rests reports whether the journal rests and nothing looks for hits.
func (hs *Hits) Rests() bool { return hs.flusher.idle.Load() && hs.journal.Resting() }

func (hs *Hits) flushSoonIfFull() {
	if hs.journal.FillRatio() > 0.5 {
		hs.flushSoon()
	}
}

func (hs *Hits) flushSoon() {
	select {
	case hs.flusher.soon <- struct{}{}:
	default: // it was already asked
	}
}

func (hs *Hits) flushLoop(ctx context.Context) {
	defer close(*hs.flusher.ended.Load())
	every := hs.options.FlushInterval
	tick := time.NewTicker(every)
	defer tick.Stop()
	soon := hs.flusher.soon
	for {
		if now := hs.turnEvery(); now != every {
			every = now
			tick.Reset(every)
		}
		select {
		case <-ctx.Done():
			return
		case <-hs.flusher.woken:
			continue
		case <-tick.C:
		case <-soon:
		case asked := <-hs.flusher.asked:
			asked.answer <- hs.flushTo(asked.heads)
			continue
		}
		if err := hs.Flush(); err != nil {
			hs.stall.begin(hs.log, hs.pending.dropped(), err)
			soon = nil // full rings do not hurry a store that fails
			continue
		}
		soon = hs.flusher.soon
		hs.stall.end(hs.log, hs.pending.dropped())
		hs.rollUpOrSay(ctx)
	}
}

// turnEvery returns the time between two turns of the flush goroutine: the flush interval, or longer
// if there is nothing to do.
func (hs *Hits) turnEvery() time.Duration {
	f := &hs.flusher
	if !f.idle.Load() || f.rollUp || f.cleans || hs.pending.waits() {
		return hs.options.FlushInterval
	}
	return max(hs.options.FlushInterval, idleTurn)
}

// flushAsked asks the flush goroutine to make all records below heads durable in the store.
type flushAsked struct {
	heads  []uint64
	answer chan<- error // has room for it
}

// FlushRecorded returns when every hit that was answered before the call is durable in the store,
// or ctx ends. It asks the flush goroutine, which alone may call Flush: so Run must be running, and
// any number of goroutines may call FlushRecorded at once.
func (hs *Hits) FlushRecorded(ctx context.Context) error {
	heads := hs.journal.Heads()
	if err := hs.pending.foldTo(ctx, heads); err != nil {
		return err
	}
	answer := make(chan error, 1)
	select {
	case hs.flusher.asked <- flushAsked{heads, answer}:
	case <-*hs.flusher.ended.Load():
		return errs.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select { // the answer comes, unless the store never returns
	case err := <-answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// flushTo flushes until all records below heads, which are folded, are committed: twice if a failed
// flush is still in flight.
func (hs *Hits) flushTo(heads []uint64) error {
	for !hs.journal.CommittedTo(heads) {
		if err := hs.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// rollUpOrSay rolls up, and logs when that begins to fail.
func (hs *Hits) rollUpOrSay(ctx context.Context) {
	f := &hs.flusher
	_, err := hs.RollUp(ctx)
	if err != nil && !f.rollUpFails {
		hs.log.Error("roll-up or purge failed; it is tried again until it succeeds", "error", err)
	}
	f.rollUpFails = err != nil
}

// Flush commits all folded records as one batch. After an error, the next call commits the same
// batch again. Only one goroutine may be in it: Run's, and after that Close's.
func (hs *Hits) Flush() error {
	return hs.flush(false)
}

// flush is Flush; with clock, it also stores the time that the store has seen passing, however little that is.
func (hs *Hits) flush(clock bool) error {
	f := &hs.flusher
	saved := hs.clock.Unsaved(clock)
	batch, ok := hs.pending.begin(&f.positions, saved != nil)
	if !ok {
		f.lastUnixNano.Store(hs.now().UnixNano())
		return nil
	}
	start := time.Now()
	if err := hs.commitPair(batch, f.positions, hs.journal.Referrers, saved); err != nil {
		f.failures.Add(1)
		return err
	}
	hs.pending.committed(&f.positions)
	if saved != nil {
		hs.clock.SavedAs(saved)
	}
	took := time.Since(start)
	f.count.Add(1)
	f.lastUnixNano.Store(hs.now().UnixNano())
	f.lastNanos.Store(int64(took))
	f.sumNanos.Add(int64(took))
	return nil
}

// commitPair commits p. A batch that is too large after a long stall is committed without
// breakdowns, or even without visitors: counts always fit, see DefaultPendingEntries.
func (hs *Hits) commitPair(p *pair, positions Positions, names *journal.Referrers, clock *seen.Clock) error {
	for {
		batch := p.batch(positions, names, (tally.Visitors|tally.Breakdowns)&^p.left)
		batch.Clock = clock
		err := hs.store.Flush(batch)
		if !errors.Is(err, errs.ErrFlushTooLarge) || p.left&tally.Visitors != 0 {
			return err
		}
		p.leaveOut()
		hs.flusher.reduced.Add(1)
		hs.log.Warn("a flush is too large: referrers, countries, devices and browsers of its hits are lost, and possibly their visitors",
			"links", p.links.Count(), "visitors lost", p.left&tally.Visitors != 0)
	}
}

// leaveOut makes the batch of p smaller.
func (p *pair) leaveOut() {
	if p.left == 0 {
		p.left = tally.Breakdowns
		return
	}
	p.left |= tally.Visitors
}

// batch returns those parts of p as the store takes them.
func (p *pair) batch(positions Positions, names *journal.Referrers, parts tally.Parts) FlushBatch {
	return FlushBatch{
		Positions: positions,
		Links: func(yield func(hour uint32, id uint64, t *tally.Tally) error) error {
			return p.links.Each(names, parts, yield)
		},
		Owners: func(yield func(hour uint32, owner uint32, t *tally.Tally) error) error {
			return p.owners.Each(names, parts, func(hour uint32, id uint64, t *tally.Tally) error { return yield(hour, uint32(id), t) })
		},
	}
}

// RollUp closes the hours that are over and rolls them up, for as long as the budget lasts: first it
// flushes their pending deltas, and then the store may roll them up, once links are loaded. Records that come
// later are added to what was rolled up, which costs more. When nothing is left to roll up, it has links
// cleaned up; more reports that something is left. Only the flush goroutine may call it.
func (hs *Hits) RollUp(ctx context.Context) (more bool, err error) {
	f := &hs.flusher
	oldest := hs.oldestHour()
	now, steady := hs.clock.Look(clock.HourTime(oldest))
	hs.pending.setHours(countedHours{first: oldest, instead: clock.HourOf(now)})
	if steady {
		if err := hs.closeHours(now, oldest); err != nil {
			return f.rollUp, err
		}
	}
	if !hs.links.Ready() {
		return f.rollUp, nil // Load has the disk and the processors, and counts the receipts
	}
	f.rollUp = f.pulled.Swap(false) || f.rollUp
	for start := time.Now(); f.rollUp && ctx.Err() == nil && time.Since(start) < rollUpBudget; {
		more, err := hs.store.RollUp(f.limits)
		if errors.Is(err, errs.ErrBehind) {
			return true, nil // at the next turn
		}
		if err != nil {
			return true, err
		}
		f.rollUp = more
	}
	if !steady || ctx.Err() != nil || hs.links.CleanUp == nil {
		return f.rollUp, nil
	}
	f.cleans, err = hs.links.CleanUp(ctx, now, !f.rollUp)
	return f.rollUp, err
}

// oldestHour returns the first hour of the first day of which all rows are kept.
func (hs *Hits) oldestHour() uint32 {
	_, firstDay := hs.store.Kept()
	return hs.store.Zone().Begin(firstDay)
}

func (hs *Hits) closeHours(now time.Time, oldest uint32) error {
	f := &hs.flusher
	if hour := clock.HourOf(now.Add(-rollUpGrace)); hour != f.positions.OpenHour {
		hs.pending.setOpenHour(hour)
		if err := hs.Flush(); err != nil {
			return err
		}
	}
	if l := hs.limits(f.positions.OpenHour, oldest); l != f.limits {
		f.limits, f.rollUp = l, true
	}
	return nil
}

// limits returns the limits of a roll-up at this time. One hour and one day more than are shown
// stay, so that no row is deleted while it is read. No hit is in an hour before oldest.
func (hs *Hits) limits(openHour, oldest uint32) RollUpLimits {
	hours := hs.clock.Cutoff(clock.HourTime(oldest), time.Duration(hs.options.KeptHours+1)*time.Hour)
	days := hs.clock.Cutoff(clock.HourTime(oldest), time.Duration(hs.options.KeptDays+1)*clock.HoursPerDay*time.Hour)
	return RollUpLimits{OpenHour: openHour, FirstHour: clock.HourOf(hours), FirstDay: hs.store.Zone().Day(clock.HourOf(days))}
}
