// Package seams has what tests replace in the whole process. Nothing else writes it.
package seams

import "shunt/engine/journal"

// Disk is how the journal's files are made.
var Disk journal.Disk

// MaxScannedLinks is hit.MaxScannedLinks, or less.
var MaxScannedLinks = 10_000
