package hit

import (
	"time"

	"shunt/engine/index"
	"shunt/engine/journal"
	"shunt/engine/tally"
)

// Hit counts one redirect of l. Its record is in the journal before Hit returns, so that it
// outlives the process; the fold counts it from there. Hit itself raises only the counter of a link
// that has a cap or is about to get one. It returns false, and has counted nothing, if the link's
// present cap is used up: then the caller must not redirect. It takes no lock and allocates
// nothing, unless the journal's ring is full: then it waits for room, see appendSlow.
func (hs *Hits) Hit(l index.Link, v journal.Visit) bool {
	if v.Kind >= tally.Kind(tally.NumClasses) || l.CountsAtOnce() {
		return hs.hitUnusual(l, v)
	}
	id, owner, class := l.ID(), v.PackOwner(l.Owner()), v.PackClass()
	r := hs.journal.RingOf(id)
	seq, ok := r.Reserve()
	if !ok {
		return hs.hitBusy(l, v)
	}
	if r.LookAgain() {
		return hs.hitUnsure(l, v, r, seq)
	}
	// This is Ring.Put, inlined: see "Decisions" in doc.go.
	r.Store(seq, id, v.Visitor, owner, class|r.Seal(seq, journal.Digest(id, v.Visitor, owner, class)))
	return true
}

// hitUnusual is Hit for a link whose hits raise its counter themselves, and for a visit with the number of a target, so
// that others need not look for one. It panics if the class is unknown.
func (hs *Hits) hitUnusual(l index.Link, v journal.Visit) bool {
	if v.Class() >= tally.NumClasses {
		panic("engine: unknown class of visit") // such a record would be taken for another
	}
	if l.CountsAtOnce() {
		return hs.hitAtOnce(l, v)
	}
	return hs.hitBusy(l, v)
}

// hitBusy is Hit for an uncapped link whose ring is full, or in which another writer was faster, or whose record has
// the number of a target.
func (hs *Hits) hitBusy(l index.Link, v journal.Visit) bool {
	r := hs.journal.RingOf(l.ID())
	for {
		switch seq, ok := r.Reserve(); {
		case ok:
			return hs.hitUnsure(l, v, r, seq)
		case r.Full(seq):
			return hs.hitAtOnce(l, v)
		}
	}
}

// hitUnsure ends the hit of a link that had no cap when it was resolved and may have been given one
// since. The hit already has a slot. So either the fold before the publication of the cap finds the
// record in it, or LookAgain is set here (see link.Links.countAtOnce). A hit that the new cap does not
// admit leaves a void record.
func (hs *Hits) hitUnsure(l index.Link, v journal.Visit, r *journal.Ring, seq uint64) (admitted bool) {
	w := v.Words(l.ID(), l.Owner())
	admitted = true
	if r.LookAgain() && hs.index.CountsAtOnce(l) {
		if admitted = hs.admit(l, v.Class() == tally.ClassHit); admitted {
			w.SetCounted()
		} else {
			w = journal.Void()
		}
	}
	r.Put(seq, &w)
	return admitted
}

// hitAtOnce is Hit for a link whose hits raise its counter themselves.
func (hs *Hits) hitAtOnce(l index.Link, v journal.Visit) bool {
	if hs.caps.Exists {
		return hs.hitShared(l, v)
	}
	id := l.ID()
	if !hs.index.Admit(l, id, v.Class() == tally.ClassHit) {
		return false
	}
	return hs.recordCounted(l, v)
}

// recordCounted records a hit that has raised the counter.
func (hs *Hits) recordCounted(l index.Link, v journal.Visit) bool {
	id := l.ID()
	w := v.Words(id, l.Owner())
	w.SetCounted()
	if !hs.journal.RingOf(id).Append(&w) {
		hs.appendSlow(id, &w)
	}
	return true
}

// appendPause is how long a hit that found its ring full waits before it looks again.
const appendPause = 100 * time.Microsecond

// appendSlow appends to a ring that was found full: more hits came than the last flush made room
// for. It waits for the next flush. If that stalls, the record takes the slot of a record that is
// folded and not durable. It never gives up, because folding always makes progress.
func (hs *Hits) appendSlow(linkID uint64, w *journal.Words) {
	r := hs.journal.RingOf(linkID)
	rested := hs.journal.Resting()
	if !rested {
		hs.flusher.waits.Add(1)
	}
	for start := time.Now(); time.Since(start) < stallAfter; time.Sleep(appendPause) {
		if rested {
			hs.journal.Wake()
		} else {
			hs.flushSoon()
		}
		if hs.pending.mu.TryLock() {
			hs.pending.foldRingLocked(r)
			hs.pending.mu.Unlock()
		}
		if r = hs.journal.RingOf(linkID); r.Append(w) {
			return
		}
	}
	for !r.Append(w) {
		hs.journal.EndRest()
		hs.pending.freeFolded(r)
		r = hs.journal.RingOf(linkID)
	}
}

// Referrer returns the number of a referrer host, as Visit takes it: see journal.Referrers.Number.
func (hs *Hits) Referrer(host []byte) uint16 { return hs.journal.Referrers.Number(host) }
