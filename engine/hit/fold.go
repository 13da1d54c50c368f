package hit

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"shunt/engine/index"
	"shunt/engine/internal/errs"
	"shunt/engine/journal"
	"shunt/engine/tally"
)

const (
	// foldSlice is the number of records of each ring that are folded between two chances for
	// redirects to run: with eight full rings, 0.5 ms.
	foldSlice = 512

	// foldGroup is the number of records that are fetched together. It divides foldSlice.
	foldGroup = 32

	// stallAfter is the time after which a flush, retries included, is a stall: from then on rings
	// are freed up to folded before they fill up; see pending.freeLocked.
	stallAfter = time.Second
)

// pending is the deltas that were folded out of the journal and are not durable yet.
//
// There are two sets of deltas: the fold adds to gathering, and the running flush commits flushing.
// A flush moves gathering to flushing, with the positions that it covers, and clears flushing when
// it is durable; after an error it commits the same flushing again. So a delta is at any time in
// exactly one of gathering, flushing and the store; flushSeq says in which (see openView).
type pending struct {
	journal *journal.Journal
	index   *index.Index

	mu struct {
		sync.Mutex
		gathering, flushing *pair
		spare               *pair
		inFlight            bool // flushing holds a batch that is not known to be durable
		inFlightSince       time.Time
		flushSeq            uint64 // of the last flush known to be durable
		openHour            uint32 // earlier hours may be rolled up
		hours               countedHours
		elsewhere           []uint64 // hits folded since start, by domain but the default one; a domain beyond it has none
	}
	limit int // of entries, in gathering and flushing together

	folded  [tally.NumClasses]atomic.Uint64 // by class, since start
	missing atomic.Uint64                   // records that found no room; see Metrics.HitsMissing
}

// pair holds the deltas of the same records by link, or target of a link, and by owner.
type pair struct {
	links, owners tally.Deltas // by tally.TargetID; by owner
	limit         int          // of entries
	left          tally.Parts  // parts that the flush has left out already, because it was too large
}

// countedHours says in which hour a record counts: in its own, unless that is before all days that are
// kept. Then the clock is far behind, and the record counts in the hour of the time in use (see clock).
type countedHours struct{ first, instead uint32 }

func (h countedHours) of(hour uint32) uint32 {
	if hour < h.first {
		return max(h.instead, h.first)
	}
	return hour
}

// add counts a record. A hit of a link with several targets counts for its target as well. kept is false if there was
// no room for an entry that it needs.
func (p *pair) add(r *journal.Record, hours countedHours) (kept bool) {
	if r.Void {
		return true
	}
	hour := hours.of(r.Hour)
	full := p.full(r)
	p.links.Closed, p.owners.Closed = full, full
	ofLink := p.links.Add(hour, r.LinkID, r.Class, r.Visitor, r.Values)
	ofOwner := p.owners.Add(hour, uint64(r.Owner), r.Class, r.Visitor, r.Values)
	if !ofTarget(r) {
		return ofLink && ofOwner
	}
	kept = p.links.Add(hour, tally.TargetID(r.LinkID, r.Target), r.Class, r.Visitor, r.Values)
	return ofLink && ofOwner && kept
}

// ofTarget reports whether a record counts for a target, too.
func ofTarget(r *journal.Record) bool { return r.Target != 0 && r.Class == tally.ClassHit }

func (p *pair) entries() int { return p.links.Count() + p.owners.Count() }

// full reports whether there is no room for a record of a new link of a new owner.
func (p *pair) full(r *journal.Record) bool {
	needed := 2
	if ofTarget(r) {
		needed++
	}
	return p.entries()+needed > p.limit
}

func (p *pair) empty() bool { return p.entries() == 0 }

func (p *pair) reset() {
	p.links.Reset()
	p.owners.Reset()
	p.left = 0
}

func newPending(j *journal.Journal, x *index.Index, at Positions, hours countedHours, limit int) *pending {
	p := &pending{journal: j, index: x, limit: limit}
	p.mu.gathering, p.mu.flushing, p.mu.spare = &pair{limit: limit}, new(pair), new(pair)
	p.mu.flushSeq, p.mu.openHour, p.mu.hours = at.FlushSeq, at.OpenHour, hours
	return p
}

// fold folds every published record, in slices. It returns when no ring had a whole slice left.
func (p *pending) fold() {
	for p.foldSlice() {
		runtime.Gosched()
	}
}

// foldSlice folds at most foldSlice records of each ring and reports whether there may be more.
func (p *pending) foldSlice() (more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.journal.Rings {
		more = p.foldRingLocked(r) == foldSlice || more
	}
	return more
}

func (p *pending) foldRingLocked(r *journal.Ring) (n int) {
	head := r.Head()
	var group [foldGroup]journal.Record
	for n < foldSlice {
		read := 0
		for read < foldGroup && r.Folded() < head && r.Next(&group[read]) {
			read++
		}
		if read == 0 {
			break
		}
		p.foldGroupLocked(group[:read])
		n += read
	}
	if r.Fill() > r.Size()*3/4 && p.stalledLocked() {
		p.freeLocked(r)
	}
	return n
}

// foldGroupLocked folds a few records. It fetches their counters and entries first: most are not in
// the cache, and come into it at the same time then.
func (p *pending) foldGroupLocked(group []journal.Record) {
	var keys [foldGroup]tally.Key
	for i := range group {
		p.index.FetchHits(group[i].LinkID)
		keys[i] = tally.Key{Hour: p.mu.hours.of(group[i].Hour), ID: group[i].LinkID}
	}
	p.mu.gathering.links.Fetch(keys[:len(group)])
	for i := range group {
		if !p.mu.gathering.add(&group[i], p.mu.hours) {
			p.missing.Add(1)
		}
		p.countLocked(&group[i])
	}
}

func (p *pending) stalledLocked() bool {
	return p.mu.inFlight && time.Since(p.mu.inFlightSince) > stallAfter
}

// stalled reports whether a flush takes longer than stallAfter, failed attempts included.
func (p *pending) stalled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stalledLocked()
}

// countLocked raises the counters that the hit of a record did not raise itself.
func (p *pending) countLocked(r *journal.Record) {
	if r.Void {
		return
	}
	p.folded[r.Class].Add(1)
	if r.Class != tally.ClassHit {
		return
	}
	if d := index.DomainOf(r.Owner); d != index.DefaultDomain {
		p.countElsewhereLocked(d)
	}
	if !r.Counted {
		p.index.AddHits(r.LinkID, 1)
	}
}

// countElsewhereLocked counts a hit in a domain that is not the default one.
func (p *pending) countElsewhereLocked(d index.Domain) {
	if n := int(d) + 1; n > len(p.mu.elsewhere) {
		p.mu.elsewhere = append(p.mu.elsewhere, make([]uint64, n-len(p.mu.elsewhere))...)
	}
	p.mu.elsewhere[d]++
}

// domainHits returns the hits folded since start by domain. A domain beyond them has none.
func (p *pending) domainHits() []uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	hits := append(make([]uint64, 1), p.mu.elsewhere[min(1, len(p.mu.elsewhere)):]...)
	hits[index.DefaultDomain] = p.folded[tally.ClassHit].Load() // counted under the lock, so it has all that follow
	for _, n := range hits[1:] {
		hits[index.DefaultDomain] -= n
	}
	return hits
}

// freeLocked frees the slots of folded records although no flush has made them durable: the store
// stalls, and hits continue. A crash loses the records that are overwritten then; Journal.AtRisk
// counts them.
func (p *pending) freeLocked(r *journal.Ring) { r.Free(r.Folded()) }

// freeFolded folds a slice of the ring and frees its folded slots, for a writer that has waited too
// long for a slot.
func (p *pending) freeFolded(r *journal.Ring) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.foldRingLocked(r)
	p.freeLocked(r)
}

// foldTo returns when every record below heads is folded. Waiting readers share the work. A slot
// that is reserved and not published yet does not block it for long: its writer is about to store
// into it. Errors: ErrOverloaded if ctx reaches its deadline, else that of ctx.
func (p *pending) foldTo(ctx context.Context, heads []uint64) error {
	for !p.foldedTo(heads) {
		switch err := ctx.Err(); {
		case errors.Is(err, context.DeadlineExceeded):
			return errs.ErrOverloaded
		case err != nil:
			return err
		}
		p.foldSlice()
		runtime.Gosched()
	}
	return nil
}

func (p *pending) foldedTo(heads []uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, r := range p.journal.Rings {
		if r.Folded() < heads[i] {
			return false
		}
	}
	return true
}

// begin moves gathering to flushing, sets positions to those that it covers, and returns it. If a
// flush failed and is still in flight, begin returns that batch again. ok is false if there is
// nothing to commit, unless the caller has something to commit itself.
func (p *pending) begin(positions *Positions, always bool) (batch *pair, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.inFlight {
		return p.mu.flushing, true
	}
	if !always && p.mu.gathering.empty() && positions.OpenHour == p.mu.openHour && !p.passedLocked() {
		return nil, false
	}
	p.mu.gathering, p.mu.flushing, p.mu.spare = p.mu.spare, p.mu.gathering, nil
	p.mu.gathering.limit = p.limit - p.mu.flushing.entries()
	p.mu.inFlight, p.mu.inFlightSince = true, time.Now()
	positions.FlushSeq = p.mu.flushSeq + 1
	positions.OpenHour = p.mu.openHour
	for i, r := range p.journal.Rings {
		positions.Rings[i] = r.Folded()
	}
	return p.mu.flushing, true
}

// committed ends the flush in flight: positions are durable, and the slots below them are free.
func (p *pending) committed(positions *Positions) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.flushSeq = positions.FlushSeq
	p.mu.flushing.reset()
	p.mu.flushing, p.mu.spare, p.mu.inFlight = new(pair), p.mu.flushing, false
	p.mu.gathering.limit = p.limit
	for i, r := range p.journal.Rings {
		r.Commit(positions.Rings[i])
	}
}

// waits reports whether there is anything to commit.
func (p *pending) waits() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.inFlight || !p.mu.gathering.empty() || p.passedLocked()
}

// passedLocked reports whether records were folded that the store's positions do not cover: they
// are in gathering or in flight, or none of them found room, so that only the positions are left to
// commit.
func (p *pending) passedLocked() bool {
	for _, r := range p.journal.Rings {
		if r.Folded() > r.Committed() {
			return true
		}
	}
	return false
}

// progress returns how many records were folded in all, and whether there is nothing else to watch: every
// record is folded, and no flush is under way.
func (p *pending) progress() (folded uint64, settled bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	settled = !p.mu.inFlight
	for _, r := range p.journal.Rings {
		folded += r.Folded()
		settled = settled && r.Folded() == r.Head()
	}
	return folded, settled
}

// setOpenHour sets the hour before which hours may be rolled up once the next flush is durable.
func (p *pending) setOpenHour(hour uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.openHour = hour
}

// setHours sets in which hours records count from now on.
func (p *pending) setHours(h countedHours) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.hours = h
}

// readPending calls read for the gathering deltas and for those of the flush in flight, if there is
// one, at one moment, and returns both results and the number of the last flush known to be
// durable.
func readPending[T any](p *pending, read func(*pair) T) (gathering, flushing T, flushSeq uint64, inFlight bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return read(p.mu.gathering), read(p.mu.flushing), p.mu.flushSeq, p.mu.inFlight
}

// sketches returns the numbers of visitor sets that are not in the store yet.
func (p *pending) sketches() (lists, dense uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, x := range []*pair{p.mu.gathering, p.mu.flushing} {
		for _, d := range []*tally.Deltas{&x.links, &x.owners} {
			l, s := d.Sketches()
			lists, dense = lists+uint64(l), dense+uint64(s)
		}
	}
	return lists, dense
}

// size returns the memory that deltas take, and the numbers of visitors and values that were
// dropped because memory was full.
func (p *pending) size() (sizeBytes, droppedVisitors, droppedValues uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, x := range []*pair{p.mu.gathering, p.mu.flushing, p.mu.spare} {
		if x != nil {
			for _, d := range []*tally.Deltas{&x.links, &x.owners} {
				visitors, values := d.Dropped()
				sizeBytes, droppedVisitors, droppedValues = sizeBytes+d.SizeBytes(), droppedVisitors+visitors, droppedValues+values
			}
		}
	}
	return sizeBytes, droppedVisitors, droppedValues
}
