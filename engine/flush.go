package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"shunt/engine/index"
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

	// appendPause is how long a hit that found its ring full waits before it looks again.
	appendPause = 100 * time.Microsecond
)

// flusher is the state of the flush goroutine, and its figures for Metrics. The cleaner is the same
// goroutine, or in a cluster that of cleanUpLoop.
type flusher struct {
	soon      chan struct{} // a ring is half full: do not wait for the interval
	asked     chan flushAsked
	idle      atomic.Bool                   // the fold waits for a hit
	woken     chan struct{}                 // there are hits again
	ended     atomic.Pointer[chan struct{}] // of the last Run; closed when its flush goroutine has ended
	positions Positions                     // the flush goroutine's
	watch     clockWatch                    // the flush goroutine's
	limits    RollUpLimits                  // the flush goroutine's
	rollUp    bool                          // the flush goroutine's: there may be rows to roll up within limits
	pulled    atomic.Bool                   // so there may, because another node has counted hits in a past hour
	purge     purger                        // the cleaner's

	auditSwept time.Time // the cleaner's: when the last sweep of the audit log began

	trusted     atomic.Bool // clock was steady at the last turn; read by Metrics
	rollUpFails bool        // the flush goroutine's: the failure was logged

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

// Run folds, flushes, rolls up and allocates ids until ctx is done. It joins all goroutines that it
// starts, unless the store hangs: then it waits for CloseTimeout and leaves the rest to Close.
// Close does the final fold and flush.
func (e *Engine) Run(ctx context.Context) error {
	if err := e.loading.takeTotals(e.store); err != nil {
		return err
	}
	if e.options.ReadOnly {
		e.refreshRankings(ctx)
		return nil
	}
	ended := make(chan struct{})
	e.flusher.ended.Store(&ended)
	var loops sync.WaitGroup
	loops.Go(func() { e.foldLoop(ctx) })
	loops.Go(func() { e.flushLoop(ctx) })
	loops.Go(func() { e.refillIDs(ctx) })
	loops.Go(func() { e.refreshRankings(ctx) })
	if e.options.Cluster {
		loops.Go(func() { e.cleanUpLoop(ctx) })
	}
	e.loopsEnded = make(chan struct{})
	go func() {
		loops.Wait()
		close(e.loopsEnded)
	}()
	keeperEnded := make(chan struct{}) // apart from loops: Close does not need the keeper to have ended
	go func() {
		e.keeper.Run(ctx)
		close(keeperEnded)
	}()
	<-ctx.Done()
	timeout := time.After(e.closePatience())
	for _, ended := range []<-chan struct{}{e.loopsEnded, keeperEnded} {
		select {
		case <-ended:
		case <-timeout:
			return nil
		}
	}
	return nil
}

func (e *Engine) foldLoop(ctx context.Context) {
	defer e.journal.EndRest() // nobody would wake it
	tick := time.NewTicker(foldInterval)
	defer tick.Stop()
	folded, since := uint64(0), time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.journal.Woken():
			e.keeper.EndRest()
			if since = time.Now(); e.endIdle() {
				tick.Reset(foldInterval) // a hit asks again and again, and must not put the tick off
			}
			continue
		case <-tick.C:
			e.pending.fold()
			e.journal.CountDown()
			e.flushSoonIfFull()
			e.keeper.Watch() // first: the log lines of watchStall may wait for the same disk
			e.watchStall()
		}
		if n, settled := e.pending.progress(); n != folded || !settled {
			folded, since = n, time.Now()
		}
		switch {
		case time.Since(since) < restAfter:
		case !e.journal.Resting():
			e.journal.Rest() // and look once more: a writer may have picked its ring before
		default:
			tick.Stop()
			e.flusher.idle.Store(true)
		}
	}
}

// endIdle makes the flush goroutine keep the flush interval again. It reports whether the fold was idle.
func (e *Engine) endIdle() bool {
	if !e.flusher.idle.Swap(false) {
		return false
	}
	select {
	case e.flusher.woken <- struct{}{}:
	default: // it was already told
	}
	return true
}

func (e *Engine) flushSoonIfFull() {
	if e.journal.FillRatio() > 0.5 {
		e.flushSoon()
	}
}

func (e *Engine) flushSoon() {
	select {
	case e.flusher.soon <- struct{}{}:
	default: // it was already asked
	}
}

func (e *Engine) flushLoop(ctx context.Context) {
	defer close(*e.flusher.ended.Load())
	every := e.options.FlushInterval
	tick := time.NewTicker(every)
	defer tick.Stop()
	soon := e.flusher.soon
	for {
		if now := e.turnEvery(); now != every {
			every = now
			tick.Reset(every)
		}
		select {
		case <-ctx.Done():
			return
		case <-e.flusher.woken:
			continue
		case <-tick.C:
		case <-soon:
		case asked := <-e.flusher.asked:
			asked.answer <- e.flushTo(asked.heads)
			continue
		}
		if err := e.Flush(); err != nil {
			e.stall.begin(e.log, e.pending.dropped(), err)
			soon = nil // full rings do not hurry a store that fails
			continue
		}
		soon = e.flusher.soon
		e.stall.end(e.log, e.pending.dropped())
		e.rollUpOrSay(ctx)
	}
}

// turnEvery returns the time between two turns of the flush goroutine: the flush interval, or longer
// if there is nothing to do.
func (e *Engine) turnEvery() time.Duration {
	f := &e.flusher
	purges := !e.options.Cluster && len(f.purge.spans) > 0
	if !f.idle.Load() || f.rollUp || purges || e.pending.waits() {
		return e.options.FlushInterval
	}
	return max(e.options.FlushInterval, idleTurn)
}

// flushAsked asks the flush goroutine to make all records below heads durable in the store.
type flushAsked struct {
	heads  []uint64
	answer chan<- error // has room for it
}

// FlushRecorded returns when every hit that was answered before the call is durable in the store,
// or ctx ends. It asks the flush goroutine, which alone may call Flush: so Run must be running, and
// any number of goroutines may call FlushRecorded at once.
func (e *Engine) FlushRecorded(ctx context.Context) error {
	heads := e.journal.Heads()
	if err := e.pending.foldTo(ctx, heads); err != nil {
		return err
	}
	answer := make(chan error, 1)
	select {
	case e.flusher.asked <- flushAsked{heads, answer}:
	case <-*e.flusher.ended.Load():
		return ErrClosed
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
func (e *Engine) flushTo(heads []uint64) error {
	for !e.journal.CommittedTo(heads) {
		if err := e.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// rollUpOrSay rolls up, and logs when that begins to fail.
func (e *Engine) rollUpOrSay(ctx context.Context) {
	f := &e.flusher
	err := e.rollUp(ctx)
	if err != nil && !f.rollUpFails {
		e.log.Error("roll-up or purge failed; it is tried again until it succeeds", "error", err)
	}
	f.rollUpFails = err != nil
}

// Flush commits all folded records as one batch. After an error, the next call commits the same
// batch again. Only one goroutine may be in it: Run's, and after that Close's.
func (e *Engine) Flush() error {
	return e.flush(false)
}

// flush is Flush; with clock, it also stores the time that the store has seen passing, however little that is.
func (e *Engine) flush(clock bool) error {
	f := &e.flusher
	saved := e.clock.unsaved(clock)
	batch, ok := e.pending.begin(&f.positions, saved != nil)
	if !ok {
		f.lastUnixNano.Store(e.now().UnixNano())
		return nil
	}
	start := time.Now()
	if err := e.commitPair(batch, f.positions, e.journal.Referrers, saved); err != nil {
		f.failures.Add(1)
		return err
	}
	e.pending.committed(&f.positions)
	if saved != nil {
		e.clock.savedAs(saved)
	}
	took := time.Since(start)
	f.count.Add(1)
	f.lastUnixNano.Store(e.now().UnixNano())
	f.lastNanos.Store(int64(took))
	f.sumNanos.Add(int64(took))
	return nil
}

// commitPair commits p. A batch that is too large after a long stall is committed without
// breakdowns, or even without visitors: counts always fit, see DefaultPendingEntries.
func (e *Engine) commitPair(p *pair, positions Positions, names *journal.Referrers, clock *seen.Clock) error {
	for {
		batch := p.batch(positions, names, (tally.Visitors|tally.Breakdowns)&^p.left)
		batch.Clock = clock
		err := e.store.Flush(batch)
		if !errors.Is(err, ErrFlushTooLarge) || p.left&tally.Visitors != 0 {
			return err
		}
		p.leaveOut()
		e.flusher.reduced.Add(1)
		e.log.Warn("a flush is too large: referrers, countries, devices and browsers of its hits are lost, and possibly their visitors",
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

// rollUp closes the hours that are over and rolls them up, for as long as the budget lasts: first it
// flushes their pending deltas, and then the store may roll them up, once links are loaded. Records that come
// later are added to what was rolled up, which costs more. When nothing is left to roll
// up, it purges links; then it sweeps old entries of the audit log and expired receipts.
func (e *Engine) rollUp(ctx context.Context) error {
	f := &e.flusher
	firstDay := e.firstDay()
	now, wall, monotonic := e.clock.look(hourTime(firstDay * hoursPerDay))
	steady := f.watch.steady(wall, monotonic, e.options.ClockSettles)
	f.trusted.Store(steady)
	e.pending.setHours(countedHours{first: firstDay * hoursPerDay, instead: hourOf(now)})
	if steady {
		if err := e.closeHours(now, firstDay); err != nil {
			return err
		}
	}
	if !e.Ready() {
		return nil // Load has the disk and the processors, and counts the receipts
	}
	f.rollUp = f.pulled.Swap(false) || f.rollUp
	for start := time.Now(); f.rollUp && ctx.Err() == nil && time.Since(start) < rollUpBudget; {
		more, err := e.store.RollUp(f.limits)
		if errors.Is(err, ErrBehind) {
			return nil // at the next turn
		}
		if err != nil {
			return err
		}
		f.rollUp = more
	}
	if !steady || ctx.Err() != nil || e.options.Cluster {
		return nil
	}
	return e.cleanUp(ctx, now, !f.rollUp)
}

// firstDay returns the first day of which all rows are kept.
func (e *Engine) firstDay() uint32 {
	_, firstDay := e.store.Kept()
	return firstDay
}

func (e *Engine) closeHours(now time.Time, firstDay uint32) error {
	f := &e.flusher
	if hour := hourOf(now.Add(-rollUpGrace)); hour != f.positions.OpenHour {
		e.pending.setOpenHour(hour)
		if err := e.Flush(); err != nil {
			return err
		}
	}
	if l := e.limits(f.positions.OpenHour, firstDay); l != f.limits {
		f.limits, f.rollUp = l, true
	}
	return nil
}

// limits returns the limits of a roll-up at this time. One hour and one day more than are shown
// stay, so that no row is deleted while it is read. No hit is in a day before firstDay.
func (e *Engine) limits(openHour, firstDay uint32) RollUpLimits {
	oldest := hourTime(firstDay * hoursPerDay)
	hours := e.clock.cutoff(oldest, time.Duration(e.options.KeptHours+1)*time.Hour)
	days := e.clock.cutoff(oldest, time.Duration(e.options.KeptDays+1)*hoursPerDay*time.Hour)
	return RollUpLimits{OpenHour: openHour, FirstHour: hourOf(hours), FirstDay: hourOf(days) / hoursPerDay}
}

// appendSlow appends to a ring that was found full: more hits came than the last flush made room
// for. It waits for the next flush. If that stalls, the record takes the slot of a record that is
// folded and not durable. It never gives up, because folding always makes progress.
func (e *Engine) appendSlow(linkID uint64, w *journal.Words) {
	r := e.journal.RingOf(linkID)
	rested := e.journal.Resting()
	if !rested {
		e.flusher.waits.Add(1)
	}
	for start := time.Now(); time.Since(start) < stallAfter; time.Sleep(appendPause) {
		if rested {
			e.journal.Wake()
		} else {
			e.flushSoon()
		}
		if e.pending.mu.TryLock() {
			e.pending.foldRingLocked(r)
			e.pending.mu.Unlock()
		}
		if r = e.journal.RingOf(linkID); r.Append(w) {
			return
		}
	}
	for !r.Append(w) {
		e.journal.EndRest()
		e.pending.freeFolded(r)
		r = e.journal.RingOf(linkID)
	}
}

// Metrics is a snapshot of the engine's figures, for a scrape. Taking it costs microseconds; it may
// wait for one slice of the fold.
type Metrics struct {
	index.Figures
	JournalBytes       uint64
	PendingBytes       uint64
	SketchLists        uint64                   // visitor sets not in the store yet that are lists of hashes
	SketchesDense      uint64                   // the others, which are dense sketches
	Redirects          [tally.NumClasses]uint64 // folded since start, by Class
	JournalFillRatio   float64                  // of the fullest ring
	JournalReplayed    uint64                   // records replayed at start
	JournalInvalid     uint64                   // slots skipped at start: torn or stale
	JournalMissing     uint64                   // journal files that could not be replayed at start, or only in part
	JournalNameless    uint64                   // records replayed at start whose referrer is shown as "other" because its name is damaged
	JournalWaits       uint64                   // redirects that found a full ring and waited
	JournalUnprotected uint64                   // records that a crash would lose now, because the store or the journal's disk stalls
	JournalStandby     bool                     // hits go to the standby rings, because the disk does not answer
	VisitorsDropped    uint64                   // hits that count without their visitor, because the store stalled too long
	HitsMissing        uint64                   // redirects, with hits in live counters, that the store will lack, because it stalled far too long
	ValuesDropped      uint64                   // values of hits (referrers and so on) that are shown as "other" for the same reason
	ReferrersRefused   uint64                   // hits whose referrer is shown as "other", because there were too many new ones
	Flushes            uint64
	FlushErrors        uint64
	FlushesReduced     uint64    // flushes that were too large, and left out breakdowns, or visitors too
	LastFlush          time.Time // the last time at which all folded records were durable; at first the start
	LastFlushTook      time.Duration
	ClockTrusted       bool          // the wall clock has run evenly since Options.ClockSettles
	ClockJumps         uint64        // of the wall clock, since the start
	ClockJumpAt        time.Time     // the last jump, by the clock after it; zero: there was none in the last seven days of running
	ClockJumpBy        time.Duration // how far it went ahead; negative: back
	FlushInterval      time.Duration // Options.FlushInterval
	FlushSeconds       float64       // summed
}

// Metrics returns the engine's figures.
func (e *Engine) Metrics() Metrics {
	f := &e.flusher
	m := Metrics{
		Figures:         e.index.Figures(),
		JournalReplayed: e.replayed.Records, JournalInvalid: e.replayed.Invalid,
		JournalMissing: uint64(len(e.replayed.Faults)), HitsMissing: e.pending.missing.Load(),
		JournalNameless: e.replayed.nameless, JournalStandby: e.journal.OnStandby(),
		JournalWaits: f.waits.Load(), ReferrersRefused: e.journal.Referrers.Refused(),
		JournalBytes: e.journal.SizeBytes(), JournalFillRatio: e.journal.FillRatio(),
		Flushes: f.count.Load(), FlushErrors: f.failures.Load(), FlushesReduced: f.reduced.Load(),
		ClockTrusted:  f.trusted.Load(),
		FlushInterval: e.options.FlushInterval, LastFlushTook: time.Duration(f.lastNanos.Load()), FlushSeconds: time.Duration(f.sumNanos.Load()).Seconds(),
	}
	m.PendingBytes, m.VisitorsDropped, m.ValuesDropped = e.pending.size()
	m.SketchLists, m.SketchesDense = e.pending.sketches()
	m.LastFlush = f.last()
	for i := range m.Redirects {
		m.Redirects[i] = e.pending.folded[i].Load()
	}
	_, m.JournalUnprotected = e.journal.AtRisk()
	m.ClockJumps = e.clock.jumps.Load()
	m.ClockJumpAt, m.ClockJumpBy = e.clock.lastJump()
	return m
}
