package storage

import (
	"errors"

	"shunt/storage/disk"
	"shunt/storage/hits"
	"shunt/storage/kv"
	"shunt/storage/links"
	"shunt/storage/row"
)

// The errors of Open that callers distinguish: see package disk. After any of them, Open has changed nothing.
var (
	ErrNoStore           = disk.ErrNoStore
	ErrLocked            = disk.ErrLocked
	ErrNewerFormat       = disk.ErrNewerFormat
	ErrOldFormat         = disk.ErrOldFormat
	ErrNotAStore         = disk.ErrNotAStore
	ErrBackup            = disk.ErrBackup
	ErrUnfinishedBackup  = disk.ErrUnfinishedBackup
	ErrUnfinishedRestore = disk.ErrUnfinishedRestore
)

// The errors of Backup and Restore that callers distinguish: see package disk.
var (
	ErrNotEmpty   = disk.ErrNotEmpty
	ErrInside     = disk.ErrInside
	ErrBackupRuns = disk.ErrBackupRuns
)

var (
	// ErrCorrupt: a key or a value is not one that this program writes.
	ErrCorrupt = row.ErrCorrupt
	// ErrLostWrites: see package kv.
	ErrLostWrites = kv.ErrLostWrites
	// ErrOtherZone: see package hits.
	ErrOtherZone = hits.ErrOtherZone
	// ErrOfCluster: the store, or the backup, is that of a node of a cluster, and Options.Replicate is not set.
	ErrOfCluster = errors.New("the data is that of a node of a cluster")
	// ErrNoIDs: see package links.
	ErrNoIDs = links.ErrNoIDs
)
