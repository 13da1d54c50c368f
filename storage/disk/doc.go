// Package disk is the data folder and the file system below Pebble. It knows which files are ours and which
// operation is under way in a folder, and makes a full disk a wait instead of a failure. It must not know
// what the rows are.
//
// # The folder
//
//	DIR/format       "shunt data, version 2": read before Pebble is opened
//	DIR/db/          Pebble
//	DIR/acked        the number of the last acknowledged write (acked.go)
//	DIR/ballast      space to give up when the disk is full
//	DIR/journal/     the engine's hit journal
//	DIR/shunt.sock   the command line's socket
//
// A folder whose format file is not ours is never written to. A creation begins with format.new and
// ends by renaming it to format, after the first rows are durable. A creation that crashed in
// between begins again with an empty db. Pebble's lock, DIR/db/LOCK, is taken before anything but
// empty folders is written. Format files are written as format.tmp and renamed, so they are whole
// at every moment. If format.new could be torn, a folder that already has a db would look like
// somebody else's.
//
// A backup is such a folder without a journal: db is a checkpoint of Pebble, whose table files are
// hard links where possible, and format says "shunt backup, version 2". Because of that line, Open
// refuses a backup and leaves it unchanged. A backup begins with format.backup and ends by renaming
// it to format. A restore begins with format.restoring, copies db, gives the copy a journal history
// of its own (engine.NewHistory), and ends by renaming it to format. If either crashes, the folder
// is neither a store nor empty: Open reports which it is, and Restore begins again.
//
// The store of a node may be replaced by a copy of another node's: replacement.go.
//
// A store of another layout than this program's is refused and left unchanged. So is a store from
// before the first release, when layouts had other numbers: its format file begins with "shunt
// store, format", or "shunt backup, format" (ErrOldFormat).
//
// Files, leaves first: errors.go, folder.go, backup.go, acked.go, lock.go, readonly.go, patient.go, replacement.go.
package disk
