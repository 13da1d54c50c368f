// Package check reads every row of a store and verifies it, alone and against the others. Each room of storage
// says how its own rows are checked (Subject); this package reads the files of the database and the rows, and
// knows only what all of them need (Facts). It must not know what a link or a hit is.
//
// First it reads every block of every table file and compares its checksum. Then it reads every row. Last, and
// only offline, it checks the order of levels.
//
// Files, leaves first: report.go, subject.go, rows.go, owners.go, meta.go, files.go, run.go.
package check
