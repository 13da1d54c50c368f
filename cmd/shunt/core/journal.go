package core

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"shunt/engine"
	"shunt/storage"
)

// Where the hit journal is. The hits of a killed server are only in its journal, so the next
// process must find it, whether that is a server with another --journal-dir or a command that knows
// nothing of the server's settings. So the data folder remembers it.

// rememberedJournal is the file in the data folder that names the folder of the journal.
const rememberedJournal = "journal-dir"

// The journal of a command that lives for one call: it follows no redirect, so it records no hit.
const (
	AloneRings       = 1
	AloneRingRecords = 256
)

// foldJournal adds the hits of the last journal to a copy of the store.
func (s *Data) foldJournal(copy *storage.Store, log *slog.Logger) error {
	last, err := s.lastJournal(log)
	if err == nil {
		err = s.refuseOpen("journal", last)
	}
	if err != nil {
		return err
	}
	return engine.FoldJournal(copy, engine.Options{
		JournalDir: last, Rings: AloneRings, RingRecords: AloneRingRecords, Logger: log,
	})
}

// ReplayJournal brings the hits that are only in the last journal into the store, for a command without an engine.
func (c *Core) ReplayJournal(s *Data, log *slog.Logger) error {
	last, err := s.lastJournal(log)
	if err == nil {
		err = s.refuseOpen("journal", last)
	}
	if err != nil {
		return err
	}
	if err := engine.ReplayJournal(c.Store, engine.Options{JournalDir: last, Rings: AloneRings, RingRecords: AloneRingRecords, Logger: log}); err != nil {
		return fmt.Errorf("replaying the journal in %s: %w", last, err)
	}
	return nil
}

// lastJournal returns the journal folder of the last process that had the store. Only a folder that
// is not the default is ever written down, so if what was written is gone, it is rather the one
// that is named now.
func (s *Data) lastJournal(log *slog.Logger) (string, error) {
	path := filepath.Join(s.Dir, rememberedJournal)
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
func (s *Data) nextJournal(last string) (string, error) {
	if s.journalDir == "" {
		return last, nil
	}
	return filepath.Abs(s.journalDir)
}

func (s *Data) defaultJournal() (string, error) {
	return filepath.Abs(filepath.Join(s.Dir, "journal"))
}

// rememberJournal writes dir down, unless it is written down. It writes no path of the default, so
// that a data folder can be moved.
func (s *Data) rememberJournal(dir string) error {
	path := filepath.Join(s.Dir, rememberedJournal)
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
	return syncFolder(s.Dir)
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
