// Package backups keeps several backups in one folder, and makes a backup a tar stream and a stream
// a backup again. It makes no backup itself and knows nothing of servers.
//
// A series is a folder with
//
//	shunt-20260102T150405Z/        a whole backup, named by the UTC time at which it began
//	shunt-20260103T150405Z.part/   one that is being made, or was cut off, or is being removed
//	.shunt-backups                 the id of the store; locked while a backup is made
//
// A backup gets its name when it is whole and verified, and loses it before its first file is
// removed. So a folder with a name is always whole. All else in the folder is left alone.
//
// Table files never change, and each backup has hard links to the store's if it is on the same file
// system. So a second backup takes the space of what was written or compacted since the first, and
// removing one removes nothing from another.
package backups
