// Package audit is the log of who has changed what: entries in the batch of the change that they describe, under
// a stamp that only rises, unless the clock was ahead. It must not know why something changes.
//
// Files, leaves first: stamps.go, check.go, entries.go, log.go.
package audit
