// Package kv is Pebble as the rooms of storage use it: reading a row, putting one into a batch, numbering and
// committing batches, scanning on all cores. It must not know what the rows mean.
//
// Every batch that changes the store goes through Writer, which gives it a number. Package storage says what
// the numbers are for ("Lost writes").
//
// Files, leaves first: errors.go, batch.go, histogram.go, scan.go, waits.go, writer.go.
package kv
