package audit

import (
	"sync"
	"sync/atomic"
	"time"

	"shunt/engine"
)

// stamps gives the entries of the audit log their places. Changes of links and of accounts are
// committed by different goroutines, so it may be used by any.
type stamps struct {
	last atomic.Uint64 // the highest

	// Of stamps that are lower than the highest, because the clock was ahead.
	behind struct {
		sync.Mutex
		last uint64
		has  func(stamp uint64) bool // reports whether the store has an entry there
	}

	inUse atomic.Pointer[timeInUse]
	floor *atomic.Uint32 // the first day that is kept
}

// timeInUse is the time that the engine goes by, as of some flush: see Engine.Now.
type timeInUse struct {
	ms int64
	at time.Time
}

// credible takes days for those of UTC, as far as a day goes: a clock that is far behind is so by more. It returns
// atMs, or if that is before all days that are kept, because the clock is far behind, the time in use.
func (a *stamps) credible(atMs int64) int64 {
	t := a.inUse.Load()
	if t == nil || atMs >= int64(a.floor.Load())*24*3600*1000 {
		return atMs
	}
	return t.ms + time.Since(t.at).Milliseconds()
}

// A clock that goes back by stampsRiseMs at most leaves the log in the order of commits. After one that was further
// ahead, entries are where the clock puts them, so that each is kept for its time and no longer.
const stampsRiseMs = 3600 * 1000

// next returns a stamp for a change at that time; 0: now. No entry has it, and it is higher than all before
// unless the clock has gone back.
func (a *stamps) next(atMs int64) uint64 {
	if atMs == 0 {
		atMs = time.Now().UnixMilli()
	}
	atMs = a.credible(atMs)
	for {
		last := a.last.Load()
		if last > engine.AuditStamp(atMs+stampsRiseMs) {
			return a.nextBehind(atMs)
		}
		stamp := max(engine.AuditStamp(atMs), last+1)
		if a.last.CompareAndSwap(last, stamp) {
			return stamp
		}
	}
}

func (a *stamps) nextBehind(atMs int64) uint64 {
	b := &a.behind
	b.Lock()
	defer b.Unlock()
	stamp := engine.AuditStamp(atMs)
	if b.last >= stamp && b.last <= engine.AuditStamp(atMs+stampsRiseMs) {
		stamp = b.last + 1
	}
	for b.has(stamp) {
		stamp++
	}
	b.last = stamp
	return stamp
}

// raise makes later stamps higher than stamp.
func (a *stamps) raise(stamp uint64) {
	for last := a.last.Load(); last < stamp && !a.last.CompareAndSwap(last, stamp); {
		last = a.last.Load()
	}
}
