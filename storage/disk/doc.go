// Package disk is the data folder and the file system below Pebble. It knows which files are ours and which
// operation is under way in a folder, and makes a full disk a wait instead of a failure. It must not know
// what the rows are.
//
// Files, leaves first: errors.go, lock.go, readonly.go, folder.go, patient.go, acked.go, backup.go
package disk
