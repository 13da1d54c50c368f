package disk

import (
	"errors"
)

// The errors of Open that callers distinguish. After any of them, Open has changed nothing.
var (
	// ErrNoStore: the folder does not exist or is empty, or the creation of a store in it did not
	// finish; and Options.Create is false.
	ErrNoStore = errors.New("no store")
	// ErrLocked: another process, or another Store of this one, has the store open.
	ErrLocked = errors.New("store is in use by another process")
	// ErrNewerFormat: a newer version of shunt wrote the store.
	ErrNewerFormat = errors.New("store was written by a newer version of shunt")
	// ErrOldFormat: a program from before the first release wrote the store or the backup. Those
	// formats had other numbers, and this program does not read them.
	ErrOldFormat = errors.New("written by a version of shunt from before its first release")
	// ErrNotAStore: the folder holds something else.
	ErrNotAStore = errors.New("folder holds other files and no store")
	// ErrBackup: the folder is a backup. Restore makes a store of it; Inspect opens it.
	ErrBackup = errors.New("folder is a backup")
	// ErrUnfinishedBackup: a backup into the folder was interrupted. It cannot be used.
	ErrUnfinishedBackup = errors.New("a backup did not finish here")
	// ErrUnfinishedRestore: a restore into the folder was interrupted. Restore begins it again.
	ErrUnfinishedRestore = errors.New("a restore did not finish here")
	// ErrUnfinishedReplacement: the data was being replaced by that of another node. Open ends it, unless it is
	// ReadOnly.
	ErrUnfinishedReplacement = errors.New("another node's data is about to replace that of this folder; the start of this node ends it")
)

// The errors of Backup and Restore that callers distinguish.
var (
	// ErrNotEmpty: the target exists and is not empty. It is unchanged.
	ErrNotEmpty = errors.New("folder is not empty")
	// ErrInside: one of the two folders is inside the other.
	ErrInside = errors.New("folder lies inside the other one")
	// ErrBackupRuns: another backup of this store is under way.
	ErrBackupRuns = errors.New("another backup is under way")
)
