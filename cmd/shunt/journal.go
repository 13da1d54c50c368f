package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"shunt/engine"
)

// Where the hit journal is. The hits of a killed server are only in its journal, so whoever opens the store next must
// find it, whether that is a server with another --journal-dir or a command that knows nothing of the server's
// settings. So the data folder remembers it.

// rememberedJournal is the file in the data folder that names the folder of the journal.
const rememberedJournal = "journal-dir"

// openEngine opens the engine over the open store as a part of parts. Hits of an earlier process that are only in its
// journal are replayed.
func (c *core) openEngine(parts *stack, s *dataSettings, o engine.Options) error {
	last, err := s.lastJournal()
	if err != nil {
		return err
	}
	if o.JournalDir = last; s.journalDir != "" {
		if o.JournalDir, err = filepath.Abs(s.journalDir); err != nil {
			return err
		}
	}
	if err := c.replayLastJournal(last, o); err != nil {
		return fmt.Errorf("replaying the journal in %s: %w", last, err)
	}
	if c.engine, err = engine.Open(c.store, o); err != nil {
		return fmt.Errorf("opening %s: %w", s.dataDir, err)
	}
	parts.onStop("last flush", c.closeEngine)
	if o.JournalDir == last {
		return nil
	}
	return s.rememberJournal(o.JournalDir)
}

// closeEngine closes the engine, and says why if that could not be done.
func (c *core) closeEngine() error {
	err := c.engine.Close()
	switch {
	case !errors.Is(err, engine.ErrStalled):
		return err
	case c.engine.ReadOnly():
		return fmt.Errorf("%w (there is no space left)", err)
	}
	return fmt.Errorf("%w (the disk does not answer)", err)
}

// lastJournal returns the folder of the journal of whoever had the store before.
func (s *dataSettings) lastJournal() (string, error) {
	text, err := os.ReadFile(filepath.Join(s.dataDir, rememberedJournal))
	if errors.Is(err, fs.ErrNotExist) {
		return s.defaultJournal()
	}
	return strings.TrimSpace(string(text)), err
}

func (s *dataSettings) defaultJournal() (string, error) {
	return filepath.Abs(filepath.Join(s.dataDir, "journal"))
}

// replayLastJournal brings the hits of the last journal into the store if the next one will be elsewhere.
func (c *core) replayLastJournal(last string, o engine.Options) error {
	if _, err := os.Stat(last); last == o.JournalDir || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	o.JournalDir, o.Rings, o.RingRecords = last, aloneRings, aloneRingRecords
	e, err := engine.Open(c.store, o)
	if err != nil {
		return err
	}
	return e.Close()
}

// rememberJournal writes no path of the default, so that a data folder can be moved.
func (s *dataSettings) rememberJournal(dir string) error {
	path := filepath.Join(s.dataDir, rememberedJournal)
	if byDefault, err := s.defaultJournal(); err != nil || dir == byDefault {
		return errors.Join(err, os.Remove(path))
	}
	if err := os.WriteFile(path+".new", []byte(dir+"\n"), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
