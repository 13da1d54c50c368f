package storage

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"shunt/storage/row"
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

var (
	// ErrCorrupt: a key or a value is not one that this program writes.
	ErrCorrupt = row.ErrCorrupt
	// ErrLostWrites: the store does not contain every acknowledged write: a damaged disk, or a copy
	// of a folder that was in use. Open refuses it unless Options.AcceptLoss.
	ErrLostWrites = errors.New("store has lost writes that were acknowledged")
	// ErrNoIDs: the node has given all of its 2^48 − 1 link ids.
	ErrNoIDs = errors.New("no link ids left")
)

// A pebbleError is an error of Pebble with a text for people. errors.Is and errors.As still find
// its cause, and damage is ErrCorrupt.
type pebbleError struct{ cause error }

func (e pebbleError) Error() string {
	if damage := pebble.ExtractDataCorruptionInfo(e.cause); damage != nil {
		return filepath.Base(damage.Path) + " is damaged"
	}
	return withoutPebble(e.cause)
}

func (e pebbleError) Unwrap() error { return e.cause }

// Is implements the interface of errors.Is.
func (e pebbleError) Is(target error) bool {
	return target == ErrCorrupt && pebble.IsCorruptionError(e.cause)
}

// withoutPebble returns an error's text without the names of Pebble's packages, and without the
// placeholder for a file whose number Pebble does not know.
func withoutPebble(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n") // a mark of Pebble's own
	for _, prefix := range []string{"pebble: ", "pebble/table: ", "file 000000: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return text
}
