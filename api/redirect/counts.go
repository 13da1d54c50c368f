package redirect

import (
	"sync/atomic"

	"shunt/engine"
)

// Statuses are the statuses of redirects, in the order of Counts.Redirects.
var Statuses = [4]int{301, 302, 307, 308}

// Counts are what codes were answered, since start.
type Counts struct {
	Redirects [len(Statuses)]uint64 // by Statuses
	Misses    [NumOutcomes]uint64
}

// Counts returns the counts as they are now.
func (r *Redirector) Counts() (c Counts) {
	for s := range r.counts.shards {
		for i := range c.Redirects {
			c.Redirects[i] += r.counts.shards[s].redirects[i].Load()
		}
	}
	for o := range c.Misses {
		c.Misses[o] = r.counts.misses[o].Load()
	}
	return c
}

// MissesIn returns how many requests in a domain have one of the outcomes with a Reason, since start.
func (r *Redirector) MissesIn(d engine.Domain) uint64 { return r.counts.missesIn[d].Load() }

// CountPath counts a request in a domain for a path that is neither a code nor anything else, as an
// UnknownCode.
func (r *Redirector) CountPath(in engine.Domain) { r.miss(UnknownCode, in) }

// counts spreads redirects over shards by visitor, so that cores do not fight over one cache line;
// misses are rare enough for one. The misses by domain take 32 KiB, of which the kernel gives what is used.
type counts struct {
	shards [8]struct {
		redirects [len(Statuses)]atomic.Uint64
		_         [128 - 4*8]byte // two cache lines: the prefetcher fetches pairs
	}
	misses   [NumOutcomes]atomic.Uint64
	missesIn [engine.MaxDomain + 1]atomic.Uint64 // those with a Reason
}

func (c *counts) redirected(status int, visitor uint64) {
	c.shards[visitor%uint64(len(c.shards))].redirects[placeOf(status)].Add(1)
}

// placeOf returns the place of a status in Statuses.
func placeOf(status int) int {
	if status >= 307 {
		return status - 305 // 307, 308
	}
	return status - 301 // 301, 302
}
