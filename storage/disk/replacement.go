package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// The data of a node may be replaced by a copy of another node's (package replicate, TakeOver). The copy is made a
// whole store in a folder inside the data folder, so that it is on the same file system: ReplacementNewName. When that
// is durable, it is renamed to ReplacementName, and the next Open moves its database and its acked file to where they
// belong. All other files of the data folder stay: the id of the node is one of them.
//
// A crash before the renaming leaves what the next Open removes. After it, every step can be repeated, because no store
// is opened before the replacement is gone, durably.

// BeginReplacement removes what an earlier attempt has left, and returns the folder for the store that is to replace
// this one.
func (f *Folder) BeginReplacement() (dir string, err error) {
	return f.Path(ReplacementNewName), f.removeDir(ReplacementNewName)
}

// EndReplacement has the store in that folder, which is closed, replace this one when it is opened next.
func (f *Folder) EndReplacement() error {
	made := &Folder{FS: f.FS, Dir: f.Path(ReplacementNewName)}
	state, err := made.Inspect()
	if err == nil && state != Stored {
		err = fmt.Errorf("%w in %s", ErrNoStore, made.Dir)
	}
	if err == nil {
		err = errors.Join(made.SyncDir(made.Path(DBName)), made.SyncDir(made.Dir), f.SyncDir(f.Dir))
	}
	if err == nil {
		err = f.FS.Rename(made.Dir, f.Path(ReplacementName))
	}
	if err != nil {
		return fmt.Errorf("replacing the store: %w", err)
	}
	return f.SyncDir(f.Dir)
}

// Replace puts the replacement, if there is one, in the place of the store, which nobody has open.
func (f *Folder) Replace() error {
	names, err := f.List(f.Dir)
	if err != nil || !slices.Contains(names, ReplacementName) {
		return err
	}
	if slices.Contains(names, DBName) {
		lock, err := f.Lock()
		if err != nil {
			return err
		}
		defer lock.Close()
	}
	if err := f.replaceFrom(&Folder{FS: f.FS, Dir: f.Path(ReplacementName)}); err != nil {
		return fmt.Errorf("replacing the store: %w", err)
	}
	return f.removeDir(ReplacementName)
}

// replaceFrom moves what the replacement still has. Its acked file comes first: that of the old store may have a number
// that the new one never reached, and would look like lost writes.
func (f *Folder) replaceFrom(from *Folder) error {
	names, err := from.List(from.Dir)
	if err != nil || !slices.Contains(names, DBName) {
		return err
	}
	if slices.Contains(names, AckedName) {
		if err := f.FS.Rename(from.Path(AckedName), f.Path(AckedName)); err != nil {
			return err
		}
	}
	if err := errors.Join(f.SyncDir(f.Dir), f.FS.RemoveAll(f.Path(DBName))); err != nil {
		return err
	}
	if err := f.FS.Rename(from.Path(DBName), f.Path(DBName)); err != nil {
		return err
	}
	return errors.Join(f.SyncDir(f.Dir), from.SyncDir(from.Dir)) // in this order: a power cut may leave both, and must not leave none
}

// removeDir removes a folder in this one durably, if it is there.
func (f *Folder) removeDir(name string) error {
	if err := f.FS.RemoveAll(f.Path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return f.SyncDir(f.Dir)
}

// RemoveNewReplacement removes what was to become a replacement when the process ended.
func (f *Folder) RemoveNewReplacement() error {
	names, err := f.List(f.Dir)
	if err != nil || !slices.Contains(names, ReplacementNewName) {
		return err
	}
	return f.removeDir(ReplacementNewName)
}
