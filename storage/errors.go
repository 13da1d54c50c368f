package storage

import "errors"

// The errors of Open that callers tell apart. Whichever it is, Open has changed nothing.
var (
	// ErrNoStore: the folder does not exist or is empty, or the creation of a store in it did not end; and Options.Create is
	// false.
	ErrNoStore = errors.New("no store")
	// ErrLocked: another process, or another Store of this one, has the store open.
	ErrLocked = errors.New("store is in use by another process")
	// ErrNewerFormat: a newer version of shunt has written the store.
	ErrNewerFormat = errors.New("store was written by a newer version of shunt")
	// ErrNotAStore: the folder holds something else.
	ErrNotAStore = errors.New("folder holds other files and no store")
)

var (
	// ErrCorrupt: a key or a value is not what this package writes.
	ErrCorrupt = errors.New("store is corrupt")
	// ErrLostWrites: the store does not contain every write that was acknowledged: a damaged disk, or a copy of a folder that
	// was in use. Open refuses it unless Options.AcceptLoss.
	ErrLostWrites = errors.New("store has lost writes that were acknowledged")
	// ErrNoIDs: the node has given all of its 2^48 − 1 link ids.
	ErrNoIDs = errors.New("no link ids left")
)
