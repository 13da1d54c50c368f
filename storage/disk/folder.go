package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/storage/row"
)

// Names in the store's folder. The names that other packages use are here too, because a store may
// be created in a folder that holds nothing else.
const (
	FormatName       = "format"
	FormatNewName    = "format.new"       // becomes format when the store is made
	FormatBackupName = "format.backup"    // becomes format when the backup is whole
	FormatRestName   = "format.restoring" // becomes format when the restored store is whole
	formatTmpName    = "format.tmp"
	DBName           = "db"
	NodeName         = "node"          // see NodeID
	CopiesName       = "copies"        // see NoteCopies
	CopiesNewName    = "copies.new"    // becomes copies when it is whole
	AckedName        = "acked"         // see acked.go
	BallastName      = "ballast"       // see package storage
	ReplacementName  = "replacement"   // see replacement.go
	StreamName       = "backup.stream" // begins the names of backups on their way to or from a stream: see StreamFolder
	LockName         = "LOCK"          // in db

	ReplacementNewName = "replacement.new" // becomes replacement when it is whole

	FormatPrefix = "shunt data, version "
	BackupPrefix = "shunt backup, version "

	// Programs from before the first release wrote these prefixes. Their version numbers differ
	// from ours.
	oldFormatPrefix = "shunt store, format "
	oldBackupPrefix = "shunt backup, format "

	FolderMode = 0o700

	// MaxFormatBytes bounds the part of the format file that is read.
	MaxFormatBytes = 256
)

// harmless are the names that a folder may contain when a store is created in it: files that an
// unfinished creation leaves, files of other parts of this program, and the folder of a fresh file
// system.
var harmless = map[string]bool{
	FormatNewName: true, formatTmpName: true, DBName: true, "journal": true, "shunt.sock": true, "lost+found": true,
	AckedName: true, BallastName: true, NodeName: true, CopiesName: true, CopiesNewName: true,
}

// Folder is the store's folder as seen without Pebble. Its state is one of
//
//	absent      nothing, or only harmless names
//	unfinished  format.new, and whatever Pebble has made in db: nobody has seen this store yet
//	stored      format: a whole store; or a backup, as its format says, which is never opened for writing
//
// or the remains of an interrupted backup or restore: format.backup, format.restoring; or a replacement.
//
// After a power cut, Pebble's own creation may leave a database that Pebble does not open. So a
// creation makes the folders, takes the lock, writes format.new, empties db, lets Pebble make a
// database and the first rows durable, and renames format.new to format. A creation that crashed
// anywhere begins again with an empty db. A folder without a format or format.new of ours is never
// written to.
type Folder struct {
	FS  vfs.FS
	Dir string
}

type folderState int

const (
	absent folderState = iota
	unfinished
	Stored
)

// Path returns the path of a name in the folder.
func (f *Folder) Path(name string) string { return f.FS.PathJoin(f.Dir, name) }

// Inspect returns the state of the folder. It changes nothing. Errors: ErrOldFormat,
// ErrNewerFormat, ErrNotAStore, ErrUnfinishedReplacement.
func (f *Folder) Inspect() (folderState, error) {
	names, err := f.List(f.Dir)
	if err != nil {
		return absent, err
	}
	switch {
	case slices.Contains(names, ReplacementName):
		return absent, fmt.Errorf("%w: %s", ErrUnfinishedReplacement, f.Dir)
	case slices.Contains(names, FormatBackupName):
		return absent, f.interrupted(FormatBackupName, ErrUnfinishedBackup)
	case slices.Contains(names, FormatRestName):
		return absent, f.interrupted(FormatRestName, ErrUnfinishedRestore)
	case slices.Contains(names, FormatName):
		return Stored, f.checkFormat(FormatName)
	}
	for _, name := range names {
		if !harmless[name] {
			return absent, fmt.Errorf("%w: %q in %s", ErrNotAStore, name, f.Dir)
		}
	}
	return f.inspectDB(slices.Contains(names, FormatNewName))
}

// interrupted returns the error of a backup or restore that did not finish, or ErrOldFormat if a
// program from before the first release began it: such data is never written to.
func (f *Folder) interrupted(name string, unfinished error) error {
	if _, _, err := f.ReadFormat(name); errors.Is(err, ErrOldFormat) {
		return err
	}
	return fmt.Errorf("%w: %s", unfinished, f.Dir)
}

// inspectDB distinguishes unfinished from absent. format.new is durable before Pebble writes its
// first file, so without a whole format.new, db may contain nothing but a lock file.
func (f *Folder) inspectDB(announced bool) (folderState, error) {
	names, err := f.List(f.Path(DBName))
	if err != nil {
		return absent, err
	}
	if len(names) == 0 || len(names) == 1 && names[0] == LockName {
		return absent, nil
	}
	if !announced {
		return absent, fmt.Errorf("%w: %s holds a folder %q", ErrNotAStore, f.Dir, DBName)
	}
	return unfinished, f.checkFormat(FormatNewName)
}

// List returns the names in a folder, or none if it does not exist.
func (f *Folder) List(dir string) ([]string, error) {
	names, err := f.FS.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading folder %s: %w", dir, err)
	}
	return names, nil
}

// checkFormat checks that a format file is that of a store, in a version that this program knows.
func (f *Folder) checkFormat(name string) error {
	_, backup, err := f.ReadFormat(name)
	if err == nil && backup {
		err = fmt.Errorf("%w: %s", ErrBackup, f.Dir)
	}
	return err
}

// ReadFormat reads the format file of a store or of a backup.
func (f *Folder) ReadFormat(name string) (version uint32, backup bool, err error) {
	file, err := f.FS.Open(f.Path(name))
	if err != nil {
		return 0, false, fmt.Errorf("reading the store's format: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, MaxFormatBytes))
	if err != nil {
		return 0, false, fmt.Errorf("reading the store's format: %w", err)
	}
	line, _, ended := strings.Cut(string(text), "\n")
	if ended && (strings.HasPrefix(line, oldFormatPrefix) || strings.HasPrefix(line, oldBackupPrefix)) {
		return 0, false, fmt.Errorf("%w: %s says %q", ErrOldFormat, f.Path(name), line)
	}
	digits, found := strings.CutPrefix(line, FormatPrefix)
	if !found {
		digits, backup = strings.CutPrefix(line, BackupPrefix)
	}
	number, err := strconv.ParseUint(digits, 10, 32)
	if !ended || !found && !backup || err != nil || digits[0] == '0' {
		return 0, false, fmt.Errorf("%w: %s is not ours", ErrNotAStore, f.Path(name))
	}
	return uint32(number), backup, CheckLayout(uint32(number))
}

// CheckLayout refuses a layout that is not this program's.
func CheckLayout(version uint32) error {
	switch {
	case version > row.LayoutVersion:
		return fmt.Errorf("%w: it has version %d, and this program knows version %d", ErrNewerFormat, version, row.LayoutVersion)
	case version < row.LayoutVersion:
		return fmt.Errorf("%w: it has version %d, and the first release has version %d", ErrOldFormat, version, row.LayoutVersion)
	}
	return nil
}

// Make makes the folder and Pebble's folder in it, and syncs their parents so that they survive a
// crash. It syncs even if the folders exist, since the process that made them may have crashed
// before its sync. A parent without read permission cannot be synced.
func (f *Folder) Make() error { return f.MakeDir(f.Path(DBName)) }

// MakeDir makes the folder and dir; dir is the folder itself or inside it.
func (f *Folder) MakeDir(dir string) error {
	parents := []string{f.Dir, f.FS.PathDir(f.Dir)}
	for above := parents[1]; f.FS.PathDir(above) != above; above = f.FS.PathDir(above) {
		if _, err := f.FS.Stat(above); err == nil {
			break
		}
		parents = append(parents, f.FS.PathDir(above))
	}
	if err := f.FS.MkdirAll(dir, FolderMode); err != nil {
		return fmt.Errorf("making folder %s: %w", dir, err)
	}
	for _, parent := range parents {
		if err := f.SyncDir(parent); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return nil
}

// BeginCreation writes format.new and removes the files of an unfinished creation. The caller must
// hold the lock.
func (f *Folder) BeginCreation() error {
	if err := f.WriteFormat(FormatNewName, FormatPrefix, row.LayoutVersion); err != nil {
		return err
	}
	return f.EmptyDB()
}

// EmptyDB removes everything in db but the lock.
func (f *Folder) EmptyDB() error {
	names, err := f.List(f.Path(DBName))
	if err != nil {
		return err
	}
	for _, name := range names {
		if name == LockName {
			continue
		}
		if err := f.FS.RemoveAll(f.FS.PathJoin(f.Path(DBName), name)); err != nil {
			return fmt.Errorf("removing what an unfinished store has left: %w", err)
		}
	}
	return nil
}

// WriteFormat creates or replaces a format file, durably. The file is whole at every moment: with a
// torn one, a folder with a database in it would look like somebody else's.
func (f *Folder) WriteFormat(name, prefix string, version uint32) error {
	if err := f.WriteSynced(formatTmpName, fmt.Sprintf("%s%d\n", prefix, version)); err != nil {
		return fmt.Errorf("writing the store's format: %w", err)
	}
	if err := f.FS.Rename(f.Path(formatTmpName), f.Path(name)); err != nil {
		return fmt.Errorf("writing the store's format: %w", err)
	}
	return f.SyncDir(f.Dir)
}

// WriteSynced makes or replaces a file, and syncs it, but not its name.
func (f *Folder) WriteSynced(name, text string) error {
	file, err := f.FS.Create(f.Path(name), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	if _, err = io.WriteString(file, text); err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// End turns the folder into a store or a backup by renaming name, the format file of the operation
// under way.
func (f *Folder) End(name string) error {
	if err := f.FS.Rename(f.Path(name), f.Path(FormatName)); err != nil {
		return fmt.Errorf("renaming the store's format: %w", err)
	}
	return f.SyncDir(f.Dir)
}

// SyncDir makes the names in a folder durable.
func (f *Folder) SyncDir(dir string) error {
	d, err := f.FS.OpenDir(dir)
	if err != nil {
		return fmt.Errorf("syncing folder %s: %w", dir, err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("syncing folder %s: %w", dir, err)
	}
	return nil
}

// Lock takes Pebble's lock. It is called before anything is written, because another process with
// the lock may be using the files.
func (f *Folder) Lock() (*pebble.Lock, error) {
	lock, err := pebble.LockDirectory(f.Path(DBName), f.FS)
	switch {
	case err == nil:
		return lock, nil
	case heldElsewhere(err):
		return nil, fmt.Errorf("%w: %s", ErrLocked, f.Dir)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: %s is gone", row.ErrCorrupt, f.Path(DBName))
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

// Read returns a file of the folder, at most maxBytes of it.
func (f *Folder) Read(name string, maxBytes int64) ([]byte, error) {
	file, err := f.FS.Open(f.Path(name))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(file, maxBytes))
	return text, errors.Join(err, file.Close())
}
