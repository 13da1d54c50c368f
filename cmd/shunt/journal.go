package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"shunt/cmd/shunt/memory"
	"shunt/engine"
	"shunt/storage"
)

// Where the hit journal is. The hits of a killed server are only in its journal, so the next
// process must find it, whether that is a server with another --journal-dir or a command that knows
// nothing of the server's settings. So the data folder remembers it.

// rememberedJournal is the file in the data folder that names the folder of the journal.
const rememberedJournal = "journal-dir"

// openEngine opens the engine over the open store as a part of parts. Hits of an earlier process
// that are only in its journal are replayed.
func (c *core) openEngine(parts *stack, s *dataSettings, o engine.Options) error {
	last, err := s.lastJournal(o.Logger)
	if err != nil {
		return err
	}
	if o.JournalDir, err = s.nextJournal(last); err != nil {
		return err
	}
	if c.reads {
		o.JournalDir, o.ReadOnly = last, true
	}
	for _, dir := range []string{last, o.JournalDir} {
		if err := s.refuseOpen("journal", dir); err != nil {
			return err
		}
	}
	o.StandbyDir = memory.Folder()
	if o.StandbyOf, err = filepath.Abs(s.dataDir); err != nil {
		return err
	}
	if c.reads {
		return c.openReading(parts, s, o)
	}
	if err := c.replayLastJournal(last, o); err != nil {
		return fmt.Errorf("replaying the journal in %s: %w", last, err)
	}
	if c.engine, err = engine.Open(c.store, o); err != nil {
		return fmt.Errorf("opening %s: %w", s.dataDir, err)
	}
	parts.onStop("last flush", c.closeEngine)
	return s.rememberJournal(o.JournalDir)
}

// openReading opens an engine that changes nothing and has the hits of the journal in memory.
func (c *core) openReading(parts *stack, s *dataSettings, o engine.Options) (err error) {
	if c.engine, err = engine.Open(c.store, o); err != nil {
		return fmt.Errorf("opening %s: %w", s.dataDir, err)
	}
	parts.onStop("journal", c.engine.Close)
	return nil
}

// foldJournal adds the hits of the last journal to a copy of the store.
func (s *dataSettings) foldJournal(copy *storage.Store, log *slog.Logger) error {
	last, err := s.lastJournal(log)
	if err == nil {
		err = s.refuseOpen("journal", last)
	}
	if err != nil {
		return err
	}
	return engine.FoldJournal(copy, engine.Options{
		JournalDir: last, StandbyDir: memory.Folder(), Rings: aloneRings, RingRecords: aloneRingRecords, Logger: log,
	})
}

// closeEngine closes the engine, and adds the reason if that fails.
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

// lastJournal returns the journal folder of the last process that had the store. Only a folder that
// is not the default is ever written down, so if what was written is gone, it is rather the one
// that is named now.
func (s *dataSettings) lastJournal(log *slog.Logger) (string, error) {
	path := filepath.Join(s.dataDir, rememberedJournal)
	text, err := os.ReadFile(path)
	byDefault, defaultErr := s.defaultJournal()
	if errors.Is(err, fs.ErrNotExist) {
		return byDefault, defaultErr
	}
	if dir := strings.Trim(string(text), " \t\r\n\x00"); err != nil || dir != "" {
		return dir, err
	}
	dir, err := s.nextJournal(byDefault)
	log.Warn("the file that names the folder of the hit journal is empty, perhaps after a power cut; hits in a journal "+
		"elsewhere will be missing", "file", path, "folder", dir)
	return dir, errors.Join(err, defaultErr)
}

// nextJournal returns the folder of the journal from now on.
func (s *dataSettings) nextJournal(last string) (string, error) {
	if s.journalDir == "" {
		return last, nil
	}
	return filepath.Abs(s.journalDir)
}

func (s *dataSettings) defaultJournal() (string, error) {
	return filepath.Abs(filepath.Join(s.dataDir, "journal"))
}

// replayLastJournal brings the hits of the last journal into the store if the next one will be
// elsewhere.
func (c *core) replayLastJournal(last string, o engine.Options) error {
	if last == o.JournalDir {
		return nil
	}
	o.JournalDir = last
	return engine.ReplayJournal(c.store, o)
}

// rememberJournal writes dir down, unless it is written down. It writes no path of the default, so
// that a data folder can be moved.
func (s *dataSettings) rememberJournal(dir string) error {
	path := filepath.Join(s.dataDir, rememberedJournal)
	byDefault, err := s.defaultJournal()
	if err != nil {
		return err
	}
	written, err := os.ReadFile(path)
	switch isDefault, absent := dir == byDefault, errors.Is(err, fs.ErrNotExist); {
	case isDefault && absent, !isDefault && err == nil && string(written) == dir+"\n":
		return nil
	case isDefault:
		err = os.Remove(path)
	default:
		err = replaceSynced(path, dir+"\n")
	}
	if err != nil {
		return err
	}
	return syncFolder(s.dataDir)
}

// replaceSynced replaces a file by one that is whole on the disk already: a power cut leaves the
// old one or the new one.
func replaceSynced(path, text string) error {
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func syncFolder(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
