package kv

import (
	"sync"
	"time"
)

// commitWaits says for how long commits have waited without an answer. The log is written in order, so
// while any commit is answered, the others come nearer to their turn.
type commitWaits struct {
	mu struct {
		sync.Mutex
		under int       // commits that wait
		since time.Time // when the first of them began, or the last answer after that
	}
}

func (c *commitWaits) begin(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.under++; c.mu.under == 1 {
		c.mu.since = now
	}
}

func (c *commitWaits) end(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.under--
	c.mu.since = now
}

// Wait returns the time for which no commit was answered, 0 if none waits.
func (c *commitWaits) Wait(now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.under == 0 {
		return 0
	}
	return max(0, now.Sub(c.mu.since)) // an answer may have come since now
}
