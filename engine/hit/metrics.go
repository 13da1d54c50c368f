package hit

import (
	"time"

	"shunt/engine/index"
	"shunt/engine/tally"
)

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
	Rankings           uint64                   // made of all links in memory since start
	LinksRead          uint64                   // for lists of the most-hit links since start: of each, the hits in a window
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

// DomainHits returns how many hits were folded since start, by domain. A domain beyond the end of them has none. It
// costs what Metrics costs.
func (hs *Hits) DomainHits() []uint64 { return hs.pending.domainHits() }

// Metrics returns the engine's figures.
func (hs *Hits) Metrics() Metrics {
	f := &hs.flusher
	m := Metrics{
		Figures:         hs.index.Figures(),
		JournalReplayed: hs.replayed.Records, JournalInvalid: hs.replayed.Invalid,
		JournalMissing: uint64(len(hs.replayed.Faults)), HitsMissing: hs.pending.missing.Load(),
		JournalNameless: hs.replayed.nameless, JournalStandby: hs.journal.OnStandby(),
		JournalWaits: f.waits.Load(), ReferrersRefused: hs.journal.Referrers.Refused(),
		JournalBytes: hs.journal.SizeBytes(), JournalFillRatio: hs.journal.FillRatio(),
		Rankings: hs.rankings.made.Load(), LinksRead: hs.rankings.read.Load(),
		Flushes: f.count.Load(), FlushErrors: f.failures.Load(), FlushesReduced: f.reduced.Load(),
		ClockTrusted:  hs.clock.Trusts(),
		FlushInterval: hs.options.FlushInterval, LastFlushTook: time.Duration(f.lastNanos.Load()), FlushSeconds: time.Duration(f.sumNanos.Load()).Seconds(),
	}
	m.PendingBytes, m.VisitorsDropped, m.ValuesDropped = hs.pending.size()
	m.SketchLists, m.SketchesDense = hs.pending.sketches()
	m.LastFlush = f.last()
	for i := range m.Redirects {
		m.Redirects[i] = hs.pending.folded[i].Load()
	}
	_, m.JournalUnprotected = hs.journal.AtRisk()
	m.ClockJumps = hs.clock.Jumps()
	m.ClockJumpAt, m.ClockJumpBy = hs.clock.LastJump()
	return m
}
