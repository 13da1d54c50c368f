package core

import (
	"context"
	"errors"
	"fmt"
	"time"

	"shunt/cmd/shunt/console"
	"shunt/engine"
)

// OpenEngine opens the engine over the open store as a part of parts. Hits of an earlier process
// that are only in its journal are replayed.
func (c *Core) OpenEngine(parts *Stack, s *Data, o engine.Options) error {
	last, err := s.lastJournal(o.Logger)
	if err != nil {
		return err
	}
	if o.JournalDir, err = s.nextJournal(last); err != nil {
		return err
	}
	if c.Reads {
		o.JournalDir, o.ReadOnly = last, true
	}
	for _, dir := range []string{last, o.JournalDir} {
		if err := s.refuseOpen("journal", dir); err != nil {
			return err
		}
	}
	if c.Reads {
		return c.openReading(parts, s, o)
	}
	if err := c.replayLastJournal(last, o); err != nil {
		return fmt.Errorf("replaying the journal in %s: %w", last, err)
	}
	if c.Engine, err = engine.Open(c.Store, o); err != nil {
		return fmt.Errorf("opening %s: %w", s.Dir, err)
	}
	parts.OnStop("last flush", c.closeEngine)
	return s.rememberJournal(o.JournalDir)
}

// openReading opens an engine that changes nothing and has the hits of the journal in memory.
func (c *Core) openReading(parts *Stack, s *Data, o engine.Options) (err error) {
	if c.Engine, err = engine.Open(c.Store, o); err != nil {
		return fmt.Errorf("opening %s: %w", s.Dir, err)
	}
	parts.OnStop("journal", c.Engine.Close)
	return nil
}

// closeEngine closes the engine, and adds the reason if that fails.
func (c *Core) closeEngine() error {
	err := c.Engine.Close()
	switch {
	case !errors.Is(err, engine.ErrStalled):
		return err
	case c.Engine.ReadOnly():
		return fmt.Errorf("%w (there is no space left)", err)
	}
	return fmt.Errorf("%w (the disk does not answer)", err)
}

// replayLastJournal brings the hits of the last journal into the store if the next one will be
// elsewhere.
func (c *Core) replayLastJournal(last string, o engine.Options) error {
	if last == o.JournalDir {
		return nil
	}
	o.JournalDir = last
	return engine.ReplayJournal(c.Store, o)
}

// Load loads every link and shows the progress.
func (c *Core) Load(ctx context.Context, say *console.Console) error {
	start := time.Now()
	err := c.Engine.Load(ctx, func(loaded uint64) { say.Loading(start, loaded) })
	say.Loaded(c.Engine.Metrics().Links, time.Since(start))
	if err != nil {
		return fmt.Errorf("opening the store: %w", err)
	}
	return nil
}
