package hit

import (
	"shunt/engine/index"
	"shunt/engine/journal"
	"shunt/engine/tally"
)

// admit is index.Admit, or in a cluster, where a cap is shared out, what replaces it. Bots and the like use
// nothing up, and are admitted until the cap is.
func (hs *Hits) admit(l index.Link, raise bool) bool {
	id := l.ID()
	switch {
	case hs.caps == nil:
		return hs.index.Admit(l, id, raise)
	case hs.index.AdmitUncapped(l, id, raise):
		return true
	case !raise:
		return !hs.UsedUp(l)
	case !hs.caps.Take(id, func() string { return string(l.AppendCode(nil)) }):
		return false
	}
	hs.index.AddHits(id, 1)
	return true
}

// hitShared is hitAtOnce in a cluster. It reserves the slot of the record first: what a node has admitted
// must be in the records that it flushes when it ends a generation of a cap. A ring that is full makes an
// exception, as in countAtOnce.
func (hs *Hits) hitShared(l index.Link, v journal.Visit) bool {
	if l.Flags()&index.FlagCapped != 0 && !hs.mayAdmit(l, v.Class == tally.ClassHit) {
		return false // without a void record in the journal
	}
	for r := hs.journal.RingOf(l.ID()); ; {
		switch seq, ok := r.Reserve(); {
		case ok:
			w := v.Words(l.ID(), l.Owner())
			admitted := hs.admit(l, v.Class == tally.ClassHit)
			if admitted {
				w.SetCounted()
			} else {
				w = journal.Void()
			}
			r.Put(seq, &w)
			return admitted
		case r.Full(seq):
			return hs.admit(l, v.Class == tally.ClassHit) && hs.recordCounted(l, v)
		}
	}
}

// mayAdmit reports whether admit is worth a try for a link that was capped when it was resolved.
func (hs *Hits) mayAdmit(l index.Link, raise bool) bool {
	if !raise {
		return !hs.UsedUp(l)
	}
	return hs.caps.May(l.ID(), func() string { return string(l.AppendCode(nil)) })
}

// CapElsewhere reports whether a hit of l was refused only because this node has no block of its cap.
func (hs *Hits) CapElsewhere(l index.Link) bool { return hs.caps != nil && !hs.UsedUp(l) }

// UsedUp reports whether l is capped and its hits have reached the cap.
func (hs *Hits) UsedUp(l index.Link) bool {
	return l.Flags()&index.FlagCapped != 0 && (hs.index.Hits(l.ID()) >= l.MaxHits() || hs.caps != nil && hs.caps.Spent(l.ID()))
}
