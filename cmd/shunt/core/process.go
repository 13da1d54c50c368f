package core

import (
	"syscall"

	"shunt/api"
	"shunt/storage"
)

// How the file descriptors of the process are divided. Tables of the store get up to a quarter,
// clients the rest: an excess connection waits in the listener's backlog, and does not take the
// descriptor that a write needs.

const (
	// otherDescriptors are the log and its successor, folders that are synced, tables being
	// written, the journal's rings, listeners, the clients of the socket and some of the admin address.
	otherDescriptors = 128

	defaultDescriptors = 1024 // where the limit is unknown
)

// descriptors returns the process's limit. Go has raised it to the hard one at start.
func descriptors() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return defaultDescriptors
	}
	return int(min(limit.Cur, 1<<30))
}

// openTables is how many tables the store may keep open.
func openTables() int { return max(16, min(storage.DefaultOpenFiles, descriptors()/4)) }

// reservedAdmins are the connections of the admin address that otherDescriptors has.
const reservedAdmins = 32

// connectionsWithin divides the descriptors of the process that are left after those of the store's
// tables: it returns how many clients may be connected at a time, and how many to the admin address.
func connectionsWithin(descriptors, tables int) (clients, admins int) {
	admins = min(api.MaxAdmins, max(reservedAdmins, descriptors/64))
	return max(16, descriptors-tables-otherDescriptors-(admins-reservedAdmins)), admins
}
