package clock

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"shunt/engine/internal/settings"
	"shunt/engine/seen"
)

const (
	// clockSaved is how often the time that the store has seen passing is stored: a crash makes things
	// stay that much longer.
	clockSaved = 10 * time.Minute

	// longOff is the time off after which a start says that the clock should be checked.
	longOff = 30 * 24 * time.Hour

	// clockNoted is how long, of the time that the store runs, a jump is shown.
	clockNoted = 7 * 24 * time.Hour
)

// Clock is the engine's clock. Its zero value is not ready: see Start.
type Clock struct {
	now       func() time.Time
	monotonic func() time.Time
	trusted   bool // the wall clock is the monotonic one, too: Options.ClockSettles is negative
	settles   time.Duration
	watch     watch       // of look
	steady    atomic.Bool // at the last Look
	log       *slog.Logger
	jumps     atomic.Uint64 // since the start
	floor     atomic.Int64  // Unix ms: before it, no days are kept

	mu struct {
		sync.Mutex
		seen seen.Clock
		mono time.Time // when last looked
		wall time.Time // what the wall clock showed then

		// The time in use: that of the wall clock, unless that is before floor. Then it is certainly wrong, and the
		// time in use runs on without it.
		used time.Time

		saved  int64 // seen.Ran that the store has
		jumped bool  // since it was saved
	}
}

// Start begins a run of the store's clock. No days before floor are kept.
func (c *Clock) Start(o *settings.Options, kept seen.Clock, floor time.Time) {
	c.now, c.monotonic, c.log, c.trusted, c.settles = o.Now, o.Monotonic, o.Logger, o.ClockSettles < 0, o.ClockSettles
	m := &c.mu
	c.floor.Store(floor.UnixMilli())
	m.seen, m.wall, m.mono = kept, c.now().Round(0), c.monotonic()
	m.used, m.jumped = m.wall, true
	if n := len(kept.Runs); n > 0 {
		last := kept.Runs[n-1].To
		c.sayGap(m.wall.Sub(time.UnixMilli(last)))
		if c.isFarBehind(m.wall) {
			m.used = time.UnixMilli(last)
		}
		if c.trusted { // time that passed while the engine was closed counts, too
			m.seen.Pass(last, m.used.UnixMilli(), max(0, m.used.UnixMilli()-last))
		}
	}
	m.seen.Start(m.used.UnixMilli())
	m.saved = m.seen.Ran
}

// sayGap says what is strange about the time between the last run and this one.
func (c *Clock) sayGap(gap time.Duration) {
	m := &c.mu
	switch {
	case gap < -jumpTolerated:
		c.noteJump(gap)
		c.log.Warn("the computer's clock is behind the time at which this store last ran. "+aboutJumps, "now", m.wall.UTC(), "behind_by", -gap.Round(time.Second))
	case gap > longOff:
		c.log.Warn("this store last ran long ago by the computer's clock; if it did run since, the clock is wrong. "+aboutJumps, "now", m.wall.UTC(), "off_for", gap.Round(time.Second))
	}
}

func (c *Clock) noteJump(by time.Duration) {
	m := &c.mu
	c.jumps.Add(1)
	m.seen.Last = seen.Jump{At: m.wall.UnixMilli(), By: by.Milliseconds(), Ran: m.seen.Ran}
	m.jumped = true
}

const (
	// jumpTolerated is the jump of a clock that time services make without anybody noticing.
	jumpTolerated = time.Minute

	aboutJumps = "Hits count on the days that the clock shows, and nothing is deleted for its age before it was kept for that time while the server ran"
)

// Look notes the time that has passed, and says so if the wall clock has jumped. No days before floor are
// kept. It returns the time in use, and whether the wall clock has run evenly for long enough. One goroutine
// at a time may call it.
func (c *Clock) Look(floor time.Time) (used time.Time, steady bool) {
	c.floor.Store(floor.UnixMilli())
	used, wall, mono := c.note()
	steady = c.watch.steady(wall, mono, c.settles)
	c.steady.Store(steady)
	return used, steady
}

// note is Look without an opinion, for any goroutine.
func (c *Clock) note() (used, wall, mono time.Time) {
	c.mu.Lock()
	jumped := c.lookLocked()
	used, wall, mono = c.mu.used, c.mu.wall, c.mu.mono
	c.mu.Unlock()
	c.sayJump(jumped, wall)
	return used, wall, mono
}

// Trusts reports whether the wall clock had run evenly for long enough at the last Look.
func (c *Clock) Trusts() bool { return c.steady.Load() }

// lookLocked is Look; it returns how far the wall clock has jumped, or 0, and says nothing.
func (c *Clock) lookLocked() (jumped time.Duration) {
	m := &c.mu
	wall, used := m.wall, m.used
	elapsed := c.monotonic().Sub(m.mono).Truncate(time.Millisecond) // the rest counts the next time
	m.wall, m.mono = c.now().Round(0), m.mono.Add(elapsed)
	if c.trusted {
		elapsed = time.Duration(m.wall.UnixMilli()-wall.UnixMilli()) * time.Millisecond
	}
	if m.used = m.wall; c.isFarBehind(m.wall) {
		m.used = used.Add(max(0, elapsed))
	}
	m.seen.Pass(used.UnixMilli(), m.used.UnixMilli(), elapsed.Milliseconds())
	jumped = m.wall.Sub(wall) - elapsed
	if c.trusted || jumped.Abs() <= jumpTolerated {
		return 0
	}
	c.noteJump(jumped)
	return jumped
}

// sayJump is called without the lock, because what takes the line may hang.
func (c *Clock) sayJump(jumped time.Duration, wall time.Time) {
	if jumped == 0 {
		return
	}
	way := "ahead, or the computer slept"
	if jumped < 0 {
		way = "back"
	}
	c.log.Warn("the computer's clock jumped "+way+". "+aboutJumps, "by", jumped.Abs().Round(time.Second), "from", wall.Add(-jumped).UTC(), "to", wall.UTC())
}

// Unsaved returns the store's clock if it is to be stored again, else nil.
func (c *Clock) Unsaved(now bool) *seen.Clock {
	if c.now == nil {
		return nil // not started: a journal is replayed, and nothing else
	}
	_, _, _ = c.note()
	c.mu.Lock()
	defer c.mu.Unlock()
	m := &c.mu
	if !now && !m.jumped && m.seen.Ran-m.saved < clockSaved.Milliseconds() {
		return nil
	}
	copied := m.seen.Copy()
	return &copied
}

// SavedAs notes that the store has c.
func (c *Clock) SavedAs(s *seen.Clock) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.saved, c.mu.jumped = s.Ran, c.mu.jumped && c.mu.seen.Last != s.Last
}

// Kept reports whether what was stamped atMs has been kept for keep, as of the last look. It may be called with
// other locks held.
func (c *Clock) Kept(atMs int64, keep time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.trusted {
		c.lookLocked() // nothing jumps, so this says nothing
	}
	return c.mu.seen.Kept(c.mu.used.UnixMilli(), atMs, keep.Milliseconds())
}

// Cutoff returns the time before which everything has been kept for keep, as of the last look; there is nothing
// before oldest.
func (c *Clock) Cutoff(oldest time.Time, keep time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.trusted {
		c.lookLocked()
	}
	return time.UnixMilli(max(0, c.mu.seen.Cutoff(c.mu.used.UnixMilli(), max(0, oldest.UnixMilli()), keep.Milliseconds())))
}

func (c *Clock) isFarBehind(wall time.Time) bool { return wall.UnixMilli() < c.floor.Load() }

// InUse returns the time in use.
func (c *Clock) InUse() time.Time {
	wall := c.now()
	if !c.isFarBehind(wall) {
		return wall
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.used.Add(max(0, c.monotonic().Sub(c.mu.mono)))
}

// Jumps returns the number of jumps since the start.
func (c *Clock) Jumps() uint64 { return c.jumps.Load() }

// LastJump returns the last jump, unless the store has run for clockNoted since.
func (c *Clock) LastJump() (at time.Time, by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if j := c.mu.seen.Last; j.By != 0 && c.mu.seen.Ran-j.Ran < clockNoted.Milliseconds() {
		return time.UnixMilli(j.At).UTC(), time.Duration(j.By) * time.Millisecond
	}
	return time.Time{}, 0
}

// watch reports whether the wall clock runs evenly. Nothing is closed or deleted until the wall
// clock has run as evenly as the monotonic clock for a while, after a start and after each jump.
type watch struct {
	wall, monotonic time.Time // when last looked
	since           time.Time // monotonic: of the last jump
}

func (c *watch) steady(wall, monotonic time.Time, settles time.Duration) bool {
	wall = wall.Round(0)
	apart := wall.Sub(c.wall) - monotonic.Sub(c.monotonic)
	if c.since.IsZero() || apart.Abs() > jumpTolerated {
		c.since = monotonic
	}
	c.wall, c.monotonic = wall, monotonic
	return settles < 0 || monotonic.Sub(c.since) >= settles
}
