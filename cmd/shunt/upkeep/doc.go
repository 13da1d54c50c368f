// Package upkeep has the commands with which a server is looked after: backup, restore and check, which work on a whole
// folder and may take long, resolve, which looks up a code in one, and health.
//
// Files, leaves first: check.go, health.go, resolve.go, offsite.go, backup.go, restore.go, commands.go.
package upkeep
