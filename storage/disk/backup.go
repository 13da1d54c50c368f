package disk

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// WantEmpty refuses a folder that exists and is not empty.
func (f *Folder) WantEmpty() error {
	names, err := f.List(f.Dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if name != "lost+found" { // of a fresh file system
			return fmt.Errorf("%w: %q in %s", ErrNotEmpty, name, f.Dir)
		}
	}
	return nil
}

// MakeFor makes the folder durably, with the file that says which operation is under way in it.
func (f *Folder) MakeFor(name, prefix string, version uint32) error {
	if err := f.MakeDir(f.Dir); err != nil {
		return err
	}
	return f.WriteFormat(name, prefix, version)
}

// RemoveBackup removes the files of a backup. The file that marks the folder as a backup is removed
// last.
func (f *Folder) RemoveBackup() error {
	var errs []error
	for _, name := range []string{FormatName, DBName, formatTmpName, FormatBackupName} {
		if err := f.FS.RemoveAll(f.Path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("removing what was made: %w", err))
		}
	}
	return errors.Join(errs...)
}

// StreamsOf returns the names in a folder of backups on their way to or from a stream. Of an absent folder: none.
func StreamsOf(of *Folder) (names []string, err error) {
	all, err := of.List(of.Dir)
	for _, name := range all {
		if isStream(name) {
			names = append(names, name)
		}
	}
	return names, err
}

func isStream(name string) bool { return name == StreamName || strings.HasPrefix(name, StreamName+".") }

// RemoveStreams removes what StreamsOf returns.
func RemoveStreams(of *Folder) error {
	names, err := StreamsOf(of)
	for _, name := range names {
		err = errors.Join(err, of.FS.RemoveAll(of.Path(name)))
	}
	return err
}

// RemoveStream removes the StreamFolder of a folder, if there is one.
func RemoveStream(of *Folder) error {
	if err := of.FS.RemoveAll(of.Path(StreamName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("storage: removing the copy for a stream: %w", err)
	}
	return nil
}

// StreamFolder is the folder, inside the data folder dir, of a backup that was received as a stream. It is inside so
// that it is on the same file system and needs no other folder that may be written to. Each backup that is sent has a
// folder beside it, with a number after its name. Open removes those that a killed process left.
func StreamFolder(fs vfs.FS, dir string) string {
	return (&Folder{FS: cmp.Or(fs, vfs.Default), Dir: dir}).Path(StreamName)
}

// Apart returns an error if one of two folders is inside the other. It follows symbolic links as
// far as the paths exist.
func Apart(fs vfs.FS, a, b string) error {
	if vfs.Root(fs) == vfs.Default {
		a, b = realPath(a), realPath(b)
	}
	for _, pair := range [][2]string{{a, b}, {b, a}} {
		inner, outer := pair[0], pair[1]
		rel, err := filepath.Rel(outer, inner)
		if err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return fmt.Errorf("%w: %s in %s", ErrInside, inner, outer)
		}
	}
	return nil
}

// realPath returns path as an absolute path without symbolic links.
func realPath(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	for rest := ""; ; {
		real, err := filepath.EvalSymlinks(path)
		if err == nil {
			return filepath.Join(real, rest)
		}
		if path == filepath.Dir(path) {
			return filepath.Join(path, rest)
		}
		path, rest = filepath.Dir(path), filepath.Join(filepath.Base(path), rest)
	}
}

// WantBackup checks that the folder is a whole backup.
func (f *Folder) WantBackup() error {
	state, err := f.Inspect()
	switch {
	case errors.Is(err, ErrBackup):
		return nil
	case err != nil:
		return err
	case state == Stored:
		return fmt.Errorf("%w: %s is a store and not a backup", ErrNotAStore, f.Dir)
	}
	return fmt.Errorf("%w in %s", ErrNoStore, f.Dir)
}

// WantRestorable checks that the folder is empty, or left by an interrupted restore.
func (f *Folder) WantRestorable() error {
	switch _, err := f.Inspect(); {
	case errors.Is(err, ErrUnfinishedRestore):
		return nil
	case err != nil && !errors.Is(err, ErrNotAStore) && !errors.Is(err, ErrOldFormat):
		return err
	}
	names, err := f.List(f.Dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if name == formatTmpName || name == "lost+found" || isStream(name) { // a crash before the renaming; a fresh file system; a stream that was cut off
			continue
		}
		if name == DBName {
			inner, err := f.List(f.Path(DBName))
			if err != nil {
				return err
			}
			if len(inner) == 0 || len(inner) == 1 && inner[0] == LockName {
				continue
			}
		}
		return fmt.Errorf("%w: %q in %s", ErrNotEmpty, name, f.Dir)
	}
	return nil
}
