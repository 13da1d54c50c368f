package main

import (
	"os"
	"runtime"
	"syscall"

	"shunt/api"
	"shunt/engine"
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

// psFor is how many Ps serve has. An event loop that wakes up needs a P at once. If every P runs something
// else, such as a flush, a compaction or the garbage collector, the loop waits until Go's scheduler
// takes one away, which can last 10 ms. With spare Ps its thread runs at once: then the kernel shares
// the cores, and it prefers the loop's thread (api/wire). There are no more, because the collector uses a
// quarter of the Ps: with 8 cores that is half of the cores.
func psFor(cores int) int { return max(cores+3, 2*cores+1) }

// addSparePs adds the spare Ps, unless the operator has chosen a number.
func addSparePs() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(psFor(engine.Cores()))
	}
}
