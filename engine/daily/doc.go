// Package daily packs the hits by day that an import brings along with a link. It knows nothing of ours, no goroutine
// and no lock.
//
// A day is a number, as in package zone: 0 is 1970-01-01, in the time zone of the store. A number of days is one
// string, so that records with it compare and copy like any others, and so that a link without days costs nothing:
//
//	┌─────────────────────────────┬──────┐ ┌─────┬──────┐
//	│ first day (since 1970-01-01)│ hits │ │ gap │ hits │ …
//	└─────────────────────────────┴──────┘ └─────┴──────┘
//
// All are unsigned varints; a gap is the distance to the day before. Days ascend and have hits, so a set of days has
// one packed form. A day takes 2 bytes up to 127 hits and 3 up to 16,383.
package daily
