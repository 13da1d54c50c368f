package seen

import (
	"math"
	"slices"
)

const (
	// A step of the wall clock that is more than jumpMs away from the monotonic clock's is a jump.
	jumpMs = 60 * 1000

	// A run ends once its clocks have come apart by driftMs in small steps.
	driftMs = 3600 * 1000

	// MaxRuns bounds the runs of a Clock: the two oldest become one. A computer that is switched off
	// each night has that many in five years.
	MaxRuns = 2048
)

// Clock is the time that a store has seen passing. All times are Unix ms of the wall clock, or ms for
// which the store ran. The zero Clock is that of a new store.
type Clock struct {
	Ran  int64 // for how long the store ran
	Runs []Run // in the order in which they were; never empty after Start
	Last Jump  // the last jump, as its user notes it; zero: there was none
}

// Run is a stretch in which the wall clock ran evenly.
type Run struct {
	From, To int64 // the earliest and the latest time that the wall clock showed
	Until    int64 // Ran at its end
	Ahead    int64 // the most by which Ran was ahead of the wall clock, so a stamp t is of Ran t+Ahead at the latest
}

// Jump is a jump of the wall clock.
type Jump struct {
	At  int64 // what the wall clock showed after it
	By  int64 // how far it jumped; negative: back
	Ran int64 // when
}

// Copy returns a copy that shares no memory with c.
func (c *Clock) Copy() Clock {
	copied := *c
	copied.Runs = slices.Clone(c.Runs)
	return copied
}

// at returns the latest Ran at which the wall clock showed t, which the run covers.
func (r *Run) at(t int64) int64 { return min(r.Until, t+r.Ahead) }

// began returns Ran at the beginning of the run, or later if the clocks have drifted.
func (r *Run) began() int64 { return min(r.Until, r.From+r.Ahead) }

// Start begins a run, for a store that begins to run while the wall clock shows wall. It returns by
// how much that is after the last time that it showed; negative: the clock went back.
func (c *Clock) Start(wall int64) (gap int64) {
	if n := len(c.Runs); n > 0 {
		gap = wall - c.Runs[n-1].To
	}
	c.begin(wall)
	return gap
}

// Pass adds elapsed, the monotonic time since the last call of Start or Pass; the wall clock shows wall
// now, and showed before then. It returns how far the wall clock is from where it would be if it had run
// evenly; more than a minute is a jump.
func (c *Clock) Pass(before, wall, elapsed int64) (jumped int64) {
	elapsed = max(elapsed, 0)
	c.Ran += elapsed
	r := c.last()
	jumped = wall - before - elapsed
	if jumped < -jumpMs || jumped > jumpMs {
		// The jump may have been at any moment since the last call, so both runs cover all of it.
		r.To, r.Until = max(r.To, before+elapsed), c.Ran
		c.begin(wall - elapsed)
		c.last().extend(wall, c.Ran)
		return jumped
	}
	if apart := c.Ran - wall - r.Ahead; apart < -driftMs || apart > driftMs {
		r.To, r.Until = max(r.To, wall), c.Ran
		c.begin(wall)
		return jumped
	}
	r.extend(wall, c.Ran)
	return jumped
}

func (c *Clock) last() *Run { return &c.Runs[len(c.Runs)-1] }

func (r *Run) extend(wall, ran int64) {
	r.From, r.To = min(r.From, wall), max(r.To, wall)
	r.Until, r.Ahead = ran, max(r.Ahead, ran-wall)
}

func (c *Clock) begin(wall int64) {
	c.Runs = append(c.Runs, Run{From: wall, To: wall, Until: c.Ran, Ahead: c.Ran - wall})
	if len(c.Runs) > MaxRuns {
		c.Runs = slices.Replace(c.Runs, 0, 2, join(c.Runs[0], c.Runs[1]))
	}
}

// join returns a run that makes no stamp of a or b, or between them, older than they do. b follows a.
func join(a, b Run) Run {
	return Run{From: min(a.From, b.From), To: max(a.To, b.To), Until: max(a.Until, b.Until), Ahead: max(a.Ahead, b.Ahead)}
}

// Age returns for how long the store ran since a thing was made that the wall clock stamped t.
func (c *Clock) Age(t int64) int64 {
	made, next, covered := int64(0), int64(math.MaxInt64), false
	for i := range c.Runs {
		switch r := &c.Runs[i]; {
		case t >= r.From && t <= r.To:
			made, covered = max(made, r.at(t)), true
		case t < r.From:
			next = min(next, r.From)
		}
	}
	switch {
	case covered:
		return c.Ran - made
	case next == math.MaxInt64:
		return 0 // after all runs
	}
	for i := range c.Runs { // the run that begins next by the wall clock
		if r := &c.Runs[i]; r.From == next {
			made = max(made, r.began())
		}
	}
	return c.Ran - made
}

// Kept reports whether a thing that was stamped t has been kept for keep, by the wall clock, which shows
// wall, and by the time that the store ran since. A stamp of the future comes from a clock that was
// wrong, and only the time that the store ran since counts.
func (c *Clock) Kept(wall, t, keep int64) bool {
	return (wall-t >= keep || t-wall > driftMs) && c.Age(t) >= keep
}

// Cutoff returns the latest time such that everything that is stamped before it has been kept for keep. There
// is nothing before oldest.
func (c *Clock) Cutoff(wall, oldest, keep int64) int64 {
	cutoff := wall - keep
	young := int64(math.MaxInt64) // the earliest beginning of a run of which nothing was kept for keep
	for i := range c.Runs {
		r := &c.Runs[i]
		if r.To < oldest || c.Ran-r.Until >= keep {
			continue
		}
		if first := c.Ran - keep - r.Ahead + 1; first > r.From { // the first stamp of the run that was not kept for keep
			cutoff = min(cutoff, first)
		} else {
			young = min(young, r.From)
		}
	}
	if young != math.MaxInt64 {
		cutoff = min(cutoff, c.before(young, oldest)) // before never falls with from
	}
	return max(cutoff, min(oldest, wall-keep))
}

// before returns the time from which on nothing is covered until from, where a run begins.
func (c *Clock) before(from, oldest int64) int64 {
	at := oldest
	for i := range c.Runs {
		if r := &c.Runs[i]; r.From < from {
			at = max(at, min(r.To+1, from))
		}
	}
	return at
}
