package hit

import (
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"shunt/engine/internal/clock"
	"shunt/engine/internal/seams"
	"shunt/engine/internal/settings"
	"shunt/engine/journal"
	"shunt/engine/seen"
	"shunt/engine/tally"
)

// This file joins journal, fold and store at a start: it replays and commits the records that the
// last run left, and begins a new epoch.

// replayed counts the records that an earlier run left in the journal.
type replayed struct {
	journal.Replayed
	nameless uint64 // records whose referrer has no name in the dictionary, which is damaged
}

// journal returns the positions as the journal knows them.
func (p *Positions) journal() journal.Positions {
	return journal.Positions{Epoch: p.Epoch, Rings: p.Rings}
}

// startEpoch commits the records of the last epoch's journal that the store does not have, together
// with the start of a new epoch, and only then makes the new files. A crash before the commit
// leaves the old epoch as it was; a crash after it leaves an epoch without hits, with some or none
// of its files.
func (hs *Hits) startEpoch() error {
	p, err := hs.lastPositions()
	if err != nil {
		return err
	}
	if err := hs.startClock(); err != nil {
		return err
	}
	if err := hs.commitLast(&p, journal.RingCount(hs.options.Rings, hs.options.RingRecords)); err != nil {
		return err
	}
	hs.removeOldEpochs(p.Epoch) // before the new files: they may need the room
	if err := hs.makeJournal(p.Epoch); err != nil {
		return err
	}
	hs.pending = newPending(hs.journal, hs.index, p, hs.countedHours(), hs.options.PendingEntries)
	hs.flusher.init(p)
	hs.flusher.lastUnixNano.Store(hs.now().UnixNano())
	return nil
}

// lastPositions returns the positions of the last epoch, once its files are known to be nobody else's
// and to be readable.
func (hs *Hits) lastPositions() (Positions, error) {
	p, err := hs.store.Positions()
	if err != nil {
		return p, fmt.Errorf("reading journal positions: %w", err)
	}
	if err := hs.folder.InUse(p.journal()); err != nil {
		return p, fmt.Errorf("the hit journal in %s is also another server's: %w. Its hits are counted there; "+
			"name a folder of this store's own with --journal-dir", hs.options.JournalDir, err)
	}
	return p, hs.mayRead(p)
}

// startClock continues the clock of the store. From then on e.now is its time.
func (hs *Hits) startClock() error {
	kept, err := hs.store.Clock()
	if err != nil {
		return fmt.Errorf("reading the clock: %w", err)
	}
	if err := hs.lowerFloors(&kept); err != nil {
		return fmt.Errorf("lowering what is kept: %w", err)
	}
	hs.clock.Start(&hs.options, kept, clock.HourTime(hs.oldestHour()))
	hs.now = hs.clock.InUse
	return nil
}

// lowerFloors moves back the first hour and day that are kept if they are after any time that the store has
// seen: a clock that was ahead, in a store that had no clock of its own yet, has put them there. The rows
// before are lost; those since the store's first run are kept.
func (hs *Hits) lowerFloors(seen *seen.Clock) error {
	now := hs.options.Now().UnixMilli()
	first, last := now, now
	for i, r := range seen.Runs {
		if i == 0 {
			first = r.From
		}
		first, last = min(first, r.From), max(last, r.To)
	}
	days := hs.store.Zone()
	firstHour, firstDay := hs.store.Kept()
	lastHour, seenHour := clock.HourOf(time.UnixMilli(last)), clock.HourOf(time.UnixMilli(first))
	if firstHour <= lastHour && firstDay <= days.Day(lastHour) {
		return nil
	}
	hs.options.Logger.Warn("a clock that was ahead has deleted figures; those from now on are kept",
		"clock_was_at_least", clock.HourTime(max(firstHour, days.Begin(firstDay))).UTC())
	return hs.store.LowerKept(min(firstHour, seenHour), min(firstDay, days.Day(seenHour)))
}

// startReading folds the records that the store does not have into deltas, which nothing commits. The
// journal of this engine has no files.
func (hs *Hits) startReading() error {
	p, err := hs.readablePositions()
	if err != nil {
		return err
	}
	if err := hs.startClock(); err != nil {
		return err
	}
	hours := hs.countedHours()
	named := map[uint16]uint64{}
	folded := pair{limit: hs.options.PendingEntries}
	missing := uint64(0)
	hs.replayed.Replayed, err = hs.folder.Replay(p.journal(), func(_ []uint64, r *journal.Record) error {
		if !folded.add(r, hours) {
			missing++
		}
		if r.Class != tally.ClassHit || r.Void {
			return nil
		}
		named[r.Referrer]++
		return hs.index.RaiseHits(r.LinkID, 1)
	})
	if err != nil {
		return fmt.Errorf("reading the hit journal: %w", err)
	}
	if !hs.wasUsed(p) {
		hs.replayed.Faults = nil
	}
	hs.sayReplayed(p)
	names := new(journal.Referrers)
	if !folded.empty() {
		names = hs.oldReferrers(p)
	}
	hs.countNameless(names, named)
	hs.journal = journal.InMemory(names)
	hs.pending = newPending(hs.journal, hs.index, p, hours, hs.options.PendingEntries)
	hs.pending.mu.gathering = &folded
	hs.pending.missing.Store(missing)
	if missing > 0 {
		hs.log.Warn("there are more hits in the journal than fit into memory: windows and breakdowns lack some; start the server to count them all", "lacking", missing)
	}
	hs.flusher.init(p)
	hs.flusher.lastUnixNano.Store(hs.now().UnixNano())
	return nil
}

// countedHours returns in which hours records count now.
func (hs *Hits) countedHours() countedHours {
	return countedHours{first: hs.oldestHour(), instead: clock.HourOf(hs.now())}
}

// mayRead refuses a start if the journal exists and cannot be opened for a reason that an operator
// can fix: to continue would lose its hits.
func (hs *Hits) mayRead(p Positions) error {
	if err := hs.folder.Readable(p.journal()); err != nil {
		return fmt.Errorf("the hit journal cannot be read, and has hits that are nowhere else: %w; make its files readable for "+
			"this user (or give them up with another --journal-dir)", err)
	}
	return nil
}

// commitLast commits the records of p's epoch that are beyond p. The same batch begins the next
// epoch, with rings rings in all; commitLast sets p to its start.
func (hs *Hits) commitLast(p *Positions, rings int) (err error) {
	left, hours := pair{limit: hs.options.PendingEntries}, hs.countedHours()
	names := sync.OnceValue(func() *journal.Referrers { return hs.oldReferrers(*p) })
	named := map[uint16]uint64{} // hits by the number of their referrer
	seq := p.FlushSeq
	hs.replayed.Replayed, err = hs.folder.Replay(p.journal(), func(passed []uint64, r *journal.Record) error {
		if left.full(r) { // an earlier run may have had larger rings
			seq++
			if err := hs.commitPair(&left, Positions{Epoch: p.Epoch, FlushSeq: seq, OpenHour: p.OpenHour, Rings: passed}, names(), nil); err != nil {
				return err
			}
			left.reset()
		}
		left.add(r, hours)
		if r.Class == tally.ClassHit && !r.Void {
			named[r.Referrer]++
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("replaying the hit journal: %w", err)
	}
	if !hs.wasUsed(*p) {
		hs.replayed.Faults = nil
	}
	hs.sayReplayed(*p)
	old := new(journal.Referrers)
	if !left.empty() {
		old = names()
	}
	hs.countNameless(old, named)
	p.Epoch, p.FlushSeq, p.Rings = journal.NextEpoch(p.Epoch), seq+1, make([]uint64, rings)
	if err := hs.commitPair(&left, *p, old, hs.clock.Unsaved(true)); err != nil {
		return fmt.Errorf("committing the replayed hits: %w", err)
	}
	return nil
}

// NewHistory returns the positions of a store that is restored from a backup with positions p. The
// original continues from p too, so each gets journal files of its own: files of another history
// are neither replayed nor removed, although both stores have the same id and may share a journal
// folder. The new positions have no rings, so nothing of the backup's journal is replayed. A new
// store has history 0.
func NewHistory(p Positions) Positions {
	p.Epoch, p.Rings = journal.OtherHistory(p.Epoch), nil
	return p
}

// sayReplayed logs how many records were replayed, and which slots and files could not be.
func (hs *Hits) sayReplayed(p Positions) {
	r := &hs.replayed
	if r.Records > 0 {
		hs.log.Info("hit journal replayed", "records", r.Records)
	}
	slots := []any{"slots", r.Invalid, "overwritten", r.Lost}
	switch {
	case len(r.Faults) > 0:
		hs.log.Warn("the hit journal cannot be replayed whole: the hits that these files recorded since the last flush before the stop "+
			"are missing; at most one flush interval's, unless the store had stalled. No action needed here; check the disk",
			append(slots, "folder", hs.options.JournalDir, "files", len(r.Faults), "of", p.journal().OnDisk(),
				"flush_interval", hs.options.FlushInterval, "first_error", r.Faults[0])...)
	case r.Invalid+r.Lost > 0:
		hs.log.Warn("some slots of the hit journal have no valid record: their redirects were not answered, or hits are missing", slots...)
	}
}

// wasUsed reports whether an epoch took hits: some of its records were committed, or all its files
// were made. If not, its files may be missing or half made, because a start crashed or failed
// before it had made them.
func (hs *Hits) wasUsed(p Positions) bool {
	for _, position := range p.Rings {
		if position > 0 {
			return true
		}
	}
	return hs.replayed.Records > 0 || hs.folder.HasDictionary(p.Epoch) // it is made last
}

// oldReferrers returns the names of the replayed referrers. If the file cannot be read, they show
// under "other".
func (hs *Hits) oldReferrers(p Positions) *journal.Referrers {
	names, err := hs.folder.ReadReferrers(p.Epoch)
	if err != nil {
		hs.log.Warn("the dictionary of referrers cannot be read; referrers of the replayed hits are shown as \"other\"", "error", err)
		return new(journal.Referrers)
	}
	return names
}

// countNameless counts the replayed hits whose referrer has a number but no name any more: it shows
// under "other".
func (hs *Hits) countNameless(names *journal.Referrers, named map[uint16]uint64) {
	for number, hits := range named {
		if _, ok := names.Name(number); !ok && number != tally.OtherReferrer {
			hs.replayed.nameless += hits
		}
	}
	if hs.replayed.nameless > 0 {
		hs.log.Warn("names are missing in the dictionary of referrers; referrers of these replayed hits are shown as \"other\"", "hits", hs.replayed.nameless)
	}
}

// removeOldEpochs removes the files of earlier epochs of this history: the store has their records.
func (hs *Hits) removeOldEpochs(epoch uint64) {
	err := hs.folder.RemoveBefore(epoch)
	switch {
	case errors.Is(err, journal.ErrInUse):
		hs.log.Warn("another server, on a copy of this store, has its hit journal in the same folder; name another folder for one of "+
			"them with --journal-dir, or hits may be lost", "error", err)
	case err != nil:
		hs.log.Warn("old journal files could not be removed; they are not needed any more: remove them by hand", "error", err)
	}
}

// readablePositions is lastPositions for those who only read: a journal that is another server's has
// nothing for them.
func (hs *Hits) readablePositions() (Positions, error) {
	p, err := hs.lastPositions()
	if errors.Is(err, journal.ErrInUse) {
		hs.log.Warn("the hit journal is also another server's: its hits are counted there, and not here", "cause", err)
		p.Rings, err = nil, nil
	}
	return p, err
}

// FoldJournal commits the records of the journal in o.JournalDir to store, a copy of the store whose
// journal it is, and changes none of its files. It refuses a journal that cannot be read.
func FoldJournal(store Store, id settings.Identity, o settings.Options) error {
	if err := o.SetDefaults(); err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	hs := new(Hits).of(store, id, &o, new(clock.Clock))
	p, err := hs.readablePositions()
	if err != nil {
		return err
	}
	return hs.commitLast(&p, 0)
}

// ReplayJournal commits the records of the journal in o.JournalDir that store does not have, and
// removes the journal's files, for an engine that is to be opened with another journal folder. It
// makes no file in the folder, so the folder may be read-only. If the folder cannot be read, or is
// gone, ReplayJournal logs that, and the store continues without those hits. It does the same if
// the journal belongs to a running server on another copy of the store, which counts them.
func ReplayJournal(store Store, id settings.Identity, o settings.Options) error {
	if err := o.SetDefaults(); err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	hs := new(Hits).of(store, id, &o, new(clock.Clock))
	p, err := store.Positions()
	if err != nil {
		return fmt.Errorf("reading journal positions: %w", err)
	}
	if len(p.Rings) == 0 { // no journal yet, or it was replayed by an earlier call
		return nil
	}
	if err := hs.folder.InUse(p.journal()); err != nil {
		hs.log.Warn("the last hit journal is also another server's: its hits are counted there, and not here", "error", err)
		return hs.leaveEpoch(&p)
	}
	files := p.journal().OnDisk()
	if err := hs.commitLast(&p, 0); err != nil {
		return err
	}
	if len(hs.replayed.Faults) < files { // else there is nothing to remove, and the log says why
		hs.removeOldEpochs(p.Epoch)
	}
	return nil
}

// leaveEpoch commits the start of an epoch without rings, and no records of the last epoch.
func (hs *Hits) leaveEpoch(p *Positions) error {
	p.Epoch, p.FlushSeq, p.Rings = journal.NextEpoch(p.Epoch), p.FlushSeq+1, nil
	if err := hs.commitPair(new(pair), *p, new(journal.Referrers), nil); err != nil {
		return fmt.Errorf("committing the start of an epoch: %w", err)
	}
	return nil
}

// makeJournal makes the files of an epoch, all or none.
func (hs *Hits) makeJournal(epoch uint64) error {
	o := &hs.options
	n := journal.Spec{Epoch: epoch, Rings: o.Rings, Records: o.RingRecords, Now: hs.now, Disk: seams.Disk}
	j, err := journal.Create(hs.folder, n)
	if err != nil {
		return hs.journalError(err)
	}
	hs.journal, hs.keeper = j, journal.NewKeeper(j, hs.log, hs.flushSoon)
	return nil
}

// journalError wraps an error of making the journal's files and says what to do about it.
func (hs *Hits) journalError(err error) error {
	o := &hs.options
	hint := "it needs a folder that this process may write to"
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		mib := (journal.FileBytes(o.Rings, o.RingRecords) + 1<<20 - 1) >> 20
		hint = fmt.Sprintf("it needs %d MiB: make room", mib)
	case errors.Is(err, journal.ErrNoMapping):
		hint = "its file system must be able to map files (mmap)"
	}
	return fmt.Errorf("making the hit journal in %s: %w (%s, or name another folder with --journal-dir)", o.JournalDir, err, hint)
}
