// Package core is what a server and a command on a data folder share: the settings of the folder (Data), the store, the
// engine and the accounts over it (Core), and the order in which they start and stop (Stack).
//
// data.go has the settings, journal.go where the hit journal is, folder.go what to do if the folder cannot be used.
// core.go opens the store and engine.go the engine; stack.go stops everything in reverse. backup.go and check.go copy
// and check the data, in a server or without one; resolve.go looks up a code in it without one. cluster.go has what a
// store needs of several machines.
//
// Files, leaves first: stack.go, process.go, data.go, journal.go, folder.go, core.go, cluster.go, baseurl.go, check.go,
// resolve.go, metrics.go, engine.go, backup.go, api.go.
package core
