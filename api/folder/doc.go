// Package folder keeps the folders of a server: each has a name, an owner, and members who may read or edit the links
// in it.
//
// A folder has a number, by which links know it and which is never given twice. A link is in one folder at most, and
// stays its owner's: the owner keeps all rights. The owner of the folder may edit the links in it, and alone, beside
// admins, change the folder. Names are unique among the folders of one owner, so that no name says what others have.
//
// # Layout of the table
//
// Numbers are big-endian, values are JSON with a format version "v".
//
//	'f' | number (4)   → folder
//	's'                → the last number (4): none is given twice
//
// # Concurrency and durability
//
// Any number of goroutines may call everything at once. Who asks for a right reads one atomic pointer and a map: no
// lock and no allocation. Writes are made one after the other (package table); what is read is changed once they are
// durable. Other nodes learn rows, and call Changed. Each change makes the version of the folder greater by 1, so that
// somebody who has read it can refuse to change another one: members are replaced as a whole.
//
// The number of a user who was deleted is never given again, so a membership that is left opens nothing; DropUser
// removes it.
//
// Files, leaves first: folder.go, rows.go, folders.go, write.go, check.go.
package folder
