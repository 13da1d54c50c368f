package storage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"shunt/storage/row"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Names in the store's folder. The names that other packages use are here too, because a store may
// be created in a folder that holds nothing else.
const (
	formatName       = "format"
	formatNewName    = "format.new"       // becomes format when the store is made
	formatBackupName = "format.backup"    // becomes format when the backup is whole
	formatRestName   = "format.restoring" // becomes format when the restored store is whole
	formatTmpName    = "format.tmp"
	dbName           = "db"
	nodeName         = "node"          // see NodeID
	streamName       = "backup.stream" // a backup on its way to or from a stream: see StreamFolder
	lockName         = "LOCK"          // in db

	formatPrefix = "shunt data, version "
	backupPrefix = "shunt backup, version "

	// Programs from before the first release wrote these prefixes. Their version numbers differ
	// from ours.
	oldFormatPrefix = "shunt store, format "
	oldBackupPrefix = "shunt backup, format "

	folderMode = 0o700

	// maxFormatBytes bounds the part of the format file that is read.
	maxFormatBytes = 256
)

// harmless are the names that a folder may contain when a store is created in it: files that an
// unfinished creation leaves, files of other parts of this program, and the folder of a fresh file
// system.
var harmless = map[string]bool{
	formatNewName: true, formatTmpName: true, dbName: true, "journal": true, "shunt.sock": true, "lost+found": true,
	ackedName: true, ballastName: true, nodeName: true, copiesName: true, copiesNewName: true,
}

// folder is the store's folder as seen without Pebble. Its state is one of
//
//	absent      nothing, or only harmless names
//	unfinished  format.new, and whatever Pebble has made in db: nobody has seen this store yet
//	stored      format: a whole store; or a backup, as its format says, which is never opened for writing
//
// or the remains of an interrupted backup or restore: format.backup, format.restoring.
//
// After a power cut, Pebble's own creation may leave a database that Pebble does not open. So a
// creation makes the folders, takes the lock, writes format.new, empties db, lets Pebble make a
// database and the first rows durable, and renames format.new to format. A creation that crashed
// anywhere begins again with an empty db. A folder without a format or format.new of ours is never
// written to.
type folder struct {
	fs  vfs.FS
	dir string
}

type folderState int

const (
	absent folderState = iota
	unfinished
	stored
)

func (f *folder) path(name string) string { return f.fs.PathJoin(f.dir, name) }

// inspect returns the state of the folder. It changes nothing. Errors: ErrOldFormat,
// ErrNewerFormat, ErrNotAStore.
func (f *folder) inspect() (folderState, error) {
	names, err := f.list(f.dir)
	if err != nil {
		return absent, err
	}
	switch {
	case slices.Contains(names, formatBackupName):
		return absent, f.interrupted(formatBackupName, ErrUnfinishedBackup)
	case slices.Contains(names, formatRestName):
		return absent, f.interrupted(formatRestName, ErrUnfinishedRestore)
	case slices.Contains(names, formatName):
		return stored, f.checkFormat(formatName)
	}
	for _, name := range names {
		if !harmless[name] {
			return absent, fmt.Errorf("%w: %q in %s", ErrNotAStore, name, f.dir)
		}
	}
	return f.inspectDB(slices.Contains(names, formatNewName))
}

// interrupted returns the error of a backup or restore that did not finish, or ErrOldFormat if a
// program from before the first release began it: such data is never written to.
func (f *folder) interrupted(name string, unfinished error) error {
	if _, _, err := f.readFormat(name); errors.Is(err, ErrOldFormat) {
		return err
	}
	return fmt.Errorf("%w: %s", unfinished, f.dir)
}

// inspectDB distinguishes unfinished from absent. format.new is durable before Pebble writes its
// first file, so without a whole format.new, db may contain nothing but a lock file.
func (f *folder) inspectDB(announced bool) (folderState, error) {
	names, err := f.list(f.path(dbName))
	if err != nil {
		return absent, err
	}
	if len(names) == 0 || len(names) == 1 && names[0] == lockName {
		return absent, nil
	}
	if !announced {
		return absent, fmt.Errorf("%w: %s holds a folder %q", ErrNotAStore, f.dir, dbName)
	}
	return unfinished, f.checkFormat(formatNewName)
}

// list returns the names in a folder, or none if it does not exist.
func (f *folder) list(dir string) ([]string, error) {
	names, err := f.fs.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading folder %s: %w", dir, err)
	}
	return names, nil
}

// checkFormat checks that a format file is that of a store, in a version that this program knows.
func (f *folder) checkFormat(name string) error {
	_, backup, err := f.readFormat(name)
	if err == nil && backup {
		err = fmt.Errorf("%w: %s", ErrBackup, f.dir)
	}
	return err
}

// readFormat reads the format file of a store or of a backup.
func (f *folder) readFormat(name string) (version uint32, backup bool, err error) {
	file, err := f.fs.Open(f.path(name))
	if err != nil {
		return 0, false, fmt.Errorf("reading the store's format: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFormatBytes))
	if err != nil {
		return 0, false, fmt.Errorf("reading the store's format: %w", err)
	}
	line, _, ended := strings.Cut(string(text), "\n")
	if ended && (strings.HasPrefix(line, oldFormatPrefix) || strings.HasPrefix(line, oldBackupPrefix)) {
		return 0, false, fmt.Errorf("%w: %s says %q", ErrOldFormat, f.path(name), line)
	}
	digits, found := strings.CutPrefix(line, formatPrefix)
	if !found {
		digits, backup = strings.CutPrefix(line, backupPrefix)
	}
	number, err := strconv.ParseUint(digits, 10, 32)
	if !ended || !found && !backup || err != nil || digits[0] == '0' {
		return 0, false, fmt.Errorf("%w: %s is not ours", ErrNotAStore, f.path(name))
	}
	return uint32(number), backup, checkLayout(uint32(number))
}

func checkLayout(version uint32) error {
	if version > row.LayoutVersion {
		return fmt.Errorf("%w: it has version %d, and this program knows version %d", ErrNewerFormat, version, row.LayoutVersion)
	}
	return nil
}

// make makes the folder and Pebble's folder in it, and syncs their parents so that they survive a
// crash. It syncs even if the folders exist, since the process that made them may have crashed
// before its sync. A parent without read permission cannot be synced.
func (f *folder) make() error { return f.makeDir(f.path(dbName)) }

// makeDir makes the folder and dir; dir is the folder itself or inside it.
func (f *folder) makeDir(dir string) error {
	parents := []string{f.dir, f.fs.PathDir(f.dir)}
	for above := parents[1]; f.fs.PathDir(above) != above; above = f.fs.PathDir(above) {
		if _, err := f.fs.Stat(above); err == nil {
			break
		}
		parents = append(parents, f.fs.PathDir(above))
	}
	if err := f.fs.MkdirAll(dir, folderMode); err != nil {
		return fmt.Errorf("making folder %s: %w", dir, err)
	}
	for _, parent := range parents {
		if err := f.syncDir(parent); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return nil
}

// beginCreation writes format.new and removes the files of an unfinished creation. The caller must
// hold the lock.
func (f *folder) beginCreation() error {
	if err := f.writeFormat(formatNewName, formatPrefix, row.LayoutVersion); err != nil {
		return err
	}
	return f.emptyDB()
}

// emptyDB removes everything in db but the lock.
func (f *folder) emptyDB() error {
	names, err := f.list(f.path(dbName))
	if err != nil {
		return err
	}
	for _, name := range names {
		if name == lockName {
			continue
		}
		if err := f.fs.RemoveAll(f.fs.PathJoin(f.path(dbName), name)); err != nil {
			return fmt.Errorf("removing what an unfinished store has left: %w", err)
		}
	}
	return nil
}

// writeFormat creates or replaces a format file, durably. The file is whole at every moment: with a
// torn one, a folder with a database in it would look like somebody else's.
func (f *folder) writeFormat(name, prefix string, version uint32) error {
	if err := f.writeSynced(formatTmpName, fmt.Sprintf("%s%d\n", prefix, version)); err != nil {
		return fmt.Errorf("writing the store's format: %w", err)
	}
	if err := f.fs.Rename(f.path(formatTmpName), f.path(name)); err != nil {
		return fmt.Errorf("writing the store's format: %w", err)
	}
	return f.syncDir(f.dir)
}

func (f *folder) writeSynced(name, text string) error {
	file, err := f.fs.Create(f.path(name), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	if _, err = io.WriteString(file, text); err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// end turns the folder into a store or a backup by renaming name, the format file of the operation
// under way.
func (f *folder) end(name string) error {
	if err := f.fs.Rename(f.path(name), f.path(formatName)); err != nil {
		return fmt.Errorf("renaming the store's format: %w", err)
	}
	return f.syncDir(f.dir)
}

func (f *folder) syncDir(dir string) error {
	d, err := f.fs.OpenDir(dir)
	if err != nil {
		return fmt.Errorf("syncing folder %s: %w", dir, err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("syncing folder %s: %w", dir, err)
	}
	return nil
}

// lock takes Pebble's lock. It is called before anything is written, because another process with
// the lock may be using the files.
func (f *folder) lock() (*pebble.Lock, error) {
	lock, err := pebble.LockDirectory(f.path(dbName), f.fs)
	switch {
	case err == nil:
		return lock, nil
	case heldElsewhere(err):
		return nil, fmt.Errorf("%w: %s", ErrLocked, f.dir)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: %s is gone", ErrCorrupt, f.path(dbName))
	}
	return nil, fmt.Errorf("locking the store: %w", err)
}

// heldElsewhere reports whether an error of vfs.FS.Lock means that the lock is taken. If another
// process has it, the error is a bare EAGAIN or EACCES of fcntl; if this process has it, an error
// of Pebble without an errno. An error of creating the file has a path instead.
func heldElsewhere(err error) bool {
	var pathError *fs.PathError
	var errno syscall.Errno
	switch {
	case errors.As(err, &pathError):
		return false
	case errors.As(err, &errno):
		return errno == syscall.EAGAIN || errno == syscall.EACCES
	}
	return true
}
