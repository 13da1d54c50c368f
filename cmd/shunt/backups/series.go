package backups

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"shunt/storage"
)

const (
	// nameLayout is the name of a backup as a layout of package time, in UTC.
	nameLayout = "shunt-20060102T150405Z"
	partSuffix = ".part"
	markPrefix = "shunt backups of store "

	// maxMarkBytes bounds the part of the mark that is read.
	maxMarkBytes = 256

	folderMode = 0o700
	fileMode   = 0o600
)

// MarkName is the file in a series that names its store.
const MarkName = ".shunt-backups"

// MaxKeep is the largest number of backups that a series may keep.
const MaxKeep = 10_000

var (
	// ErrBusy: another process makes a backup in the series.
	ErrBusy = errors.New("another backup is being made in this folder")
	// ErrOtherStore: the folder has the backups of another store.
	ErrOtherStore = errors.New("it has the backups of another store")
)

// A Series is a folder of backups of one store, locked until Close.
type Series struct {
	dir  string
	mark *os.File
}

// Open opens the series in dir for the store of that id, and makes the folder if it does not exist.
// Errors: ErrBusy, ErrOtherStore, *fs.PathError.
func Open(dir string, storeID [16]byte) (*Series, error) {
	if err := os.MkdirAll(dir, folderMode); err != nil {
		return nil, err
	}
	mark, err := os.OpenFile(filepath.Join(dir, MarkName), os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, err
	}
	s := &Series{dir: dir, mark: mark}
	if err := s.claim(storeID); err != nil {
		return nil, errors.Join(err, mark.Close())
	}
	return s, nil
}

// claim locks the mark, and writes the id of the store into a new one. Two servers that share a
// folder by mistake would otherwise remove each other's backups.
func (s *Series) claim(storeID [16]byte) error {
	if err := syscall.Flock(int(s.mark.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return ErrBusy
		}
		return &fs.PathError{Op: "lock", Path: s.mark.Name(), Err: err}
	}
	text, err := io.ReadAll(io.LimitReader(s.mark, maxMarkBytes))
	if err != nil {
		return err
	}
	want := []byte(markPrefix + hex.EncodeToString(storeID[:]) + "\n")
	switch {
	case bytes.Equal(text, want):
		return nil
	case len(text) == len(want) && bytes.HasPrefix(text, []byte(markPrefix)):
		return ErrOtherStore
	}
	if _, err := s.mark.WriteAt(want, 0); err != nil { // new, or cut off by a crash
		return err
	}
	return errors.Join(s.mark.Truncate(int64(len(want))), s.mark.Sync())
}

// Close unlocks the series.
func (s *Series) Close() error { return s.mark.Close() }

// Begin returns the folder for the next backup, which does not exist, and removes what earlier
// backups left unfinished. now is the time for its name. If the newest name is of the same second, or
// up to a minute later, the second after that is used, so that names keep the order of the backups.
func (s *Series) Begin(now time.Time) (part string, err error) {
	names, err := s.names(partSuffix)
	if err != nil {
		return "", err
	}
	for _, name := range names {
		if err := os.RemoveAll(filepath.Join(s.dir, name)); err != nil {
			return "", err
		}
	}
	whole, err := s.Whole()
	if err != nil {
		return "", err
	}
	if n := len(whole); n > 0 {
		newest, _ := time.Parse(nameLayout, whole[n-1]) // names has parsed it
		if after := newest.Add(time.Second); after.After(now) && after.Sub(now) < time.Minute {
			now = after
		}
	}
	for ; ; now = now.Add(time.Second) {
		whole := filepath.Join(s.dir, now.UTC().Format(nameLayout))
		if _, err := os.Lstat(whole); errors.Is(err, fs.ErrNotExist) {
			return whole + partSuffix, nil
		} else if err != nil {
			return "", err
		}
	}
}

// End gives the backup in part its name, durably, and returns its path.
func (s *Series) End(part string) (whole string, err error) {
	whole = strings.TrimSuffix(part, partSuffix)
	if err := os.Rename(part, whole); err != nil {
		return "", err
	}
	return whole, syncDir(s.dir)
}

// Discard removes a backup that is not to be kept.
func (s *Series) Discard(part string) error { return os.RemoveAll(part) }

// Prune removes the oldest backups, by their names, until keep are left, and returns the paths of
// the removed ones. 0 keeps all. made, the path of the latest, is kept also if the clock went back
// and its name is the oldest.
func (s *Series) Prune(ctx context.Context, keep int, made string) (removed []string, err error) {
	names, err := s.Whole()
	if err != nil || keep == 0 {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == filepath.Base(made) })
	for len(names) > keep-1 && ctx.Err() == nil {
		whole := filepath.Join(s.dir, names[0])
		if err := os.Rename(whole, whole+partSuffix); err != nil {
			return removed, err
		}
		if err := os.RemoveAll(whole + partSuffix); err != nil {
			return removed, err
		}
		removed, names = append(removed, whole), names[1:]
	}
	return removed, ctx.Err()
}

// Whole returns the names of the whole backups, the oldest first.
func (s *Series) Whole() ([]string, error) {
	names, err := s.names("")
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(names, func(name string) bool {
		return storage.IsBackup(filepath.Join(s.dir, name)) != nil
	}), nil
}

// names returns the folders of the series with names of ours and the suffix, sorted.
func (s *Series) names(suffix string) (found []string, err error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		text, ended := strings.CutSuffix(entry.Name(), suffix)
		if _, err := time.Parse(nameLayout, text); err == nil && ended && entry.IsDir() {
			found = append(found, entry.Name())
		}
	}
	return found, nil // ReadDir sorts
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("syncing the folder: %w", err)
	}
	return errors.Join(d.Sync(), d.Close())
}
