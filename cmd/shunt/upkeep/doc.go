// Package upkeep has the commands with which a server is looked after: backup, restore and check, which work on a whole
// folder and may take long, and health.
//
// Files, leaves first: check.go, health.go, offsite.go, backup.go, restore.go, commands.go.
package upkeep
