// Package table gives the rows of one subject one writer at a time. api/account and api/domain lay out their rows, and
// write them through a Writer.
//
// Files, leaves first: table.go, lock.go.
package table
