// Package upkeep has the commands with which a server is looked after: backup, restore and check, which work on a whole
// folder and may take long, and health.
//
// Files, leaves first: offsite.go, backup.go, check.go, health.go, restore.go, commands.go.
package upkeep
