package hit

import (
	"shunt/engine/caps"
	"shunt/engine/index"
	"shunt/engine/journal"
	"shunt/engine/tally"
)

// admit is index.Admit, or in a cluster what replaces it: a link with a cap admits no hit without the leader.
// Bots and the like use nothing up, and are admitted until the cap is.
func (hs *Hits) admit(l index.Link, raise bool) bool {
	if !hs.caps.Exists {
		return hs.index.Admit(l, l.ID(), raise)
	}
	return hs.index.AdmitUncapped(l, l.ID(), raise) || !raise && !hs.UsedUp(l)
}

// hitShared is hitAtOnce in a cluster.
func (hs *Hits) hitShared(l index.Link, v journal.Visit) bool {
	raise := v.Class() == tally.ClassHit
	if l.Flags()&index.FlagCapped != 0 && (raise || hs.UsedUp(l)) {
		return false // without a void record in the journal
	}
	return hs.hitReserved(l, v, func() bool { return hs.admit(l, raise) })
}

// hitReserved records a hit if admit, which raises the counter, admits it. It reserves the slot of the record
// first: what a node has admitted before it knew of a cap must be in the records that it flushes when the leader
// asks for them (SettleHits). A ring that is full makes an exception, as in countAtOnce.
func (hs *Hits) hitReserved(l index.Link, v journal.Visit, admit func() bool) bool {
	for r := hs.journal.RingOf(l.ID()); ; {
		switch seq, ok := r.Reserve(); {
		case ok:
			w := v.Words(l.ID(), l.Owner())
			admitted := admit()
			if admitted {
				w.SetCounted()
			} else {
				w = journal.Void()
			}
			r.Put(seq, &w)
			return admitted
		case r.Full(seq):
			return admit() && hs.recordCounted(l, v)
		}
	}
}

// CapAsks reports whether Hit has refused a hit of l only because the node that leads must decide it.
func (hs *Hits) CapAsks(l index.Link) bool { return hs.caps.Exists && !hs.UsedUp(l) }

// HitAsked is Hit for a link of which CapAsks is true: it asks the node that leads. It waits for a write to the
// cluster's log, or some seconds at most. decided is false if nobody could say whether the link may be followed.
func (hs *Hits) HitAsked(l index.Link, v journal.Visit) (admitted, decided bool) {
	id := l.ID()
	if hs.caps.Writer {
		answer := hs.caps.Asks.Hit(id, l.Key(nil).Own(), hs.told(v))
		return answer.Granted > 0, answer.Granted > 0 || answer.Spent
	}
	switch answer := hs.caps.Asks.Hit(id, l.Key(nil).Own(), nil); {
	case answer.Granted == 0:
		return false, answer.Spent
	default:
		admitted = hs.hitReserved(l, v, func() bool {
			if !hs.caps.Table.Allows(id, answer.Generation) {
				return false
			}
			hs.index.AddHits(id, 1)
			return true
		})
		return admitted, admitted
	}
}

// told returns a visit as a writer can record it.
func (hs *Hits) told(v journal.Visit) *caps.Visit {
	host, named := hs.journal.Referrers.Name(v.Referrer)
	return &caps.Visit{
		Visitor: v.Visitor, Target: v.Target(), Agent: uint16(v.Agent), Country: uint8(v.Country), Referrer: host, Other: !named,
	}
}

// RecordTold records hits of l at a writer whose edge asks for them, one after the other, until the cap is used up.
// It returns how many it has recorded.
func (hs *Hits) RecordTold(l index.Link, visits []caps.Visit) (recorded uint64) {
	for i := range visits {
		told := &visits[i]
		v := journal.Visit{Visitor: told.Visitor, NowMs: hs.clock.InUse().UnixMilli(), Kind: tally.KindOf(tally.ClassHit, told.Target)}
		v.Agent, v.Country, v.Referrer = tally.Agent(told.Agent)&tally.AgentMask, tally.Country(told.Country), tally.OtherReferrer
		if !told.Other {
			v.Referrer = hs.Referrer([]byte(told.Referrer))
		}
		if !hs.Hit(l, v) {
			break
		}
		recorded++
	}
	return recorded
}

// UsedUp reports whether l is capped and its hits have reached the cap.
func (hs *Hits) UsedUp(l index.Link) bool {
	return l.Flags()&index.FlagCapped != 0 && (hs.index.Hits(l.ID()) >= l.MaxHits() || hs.caps.Exists && hs.caps.Table.Spent(l.ID(), l.MaxHits()))
}
