// Package offsite keeps backups of stores in a bucket of an S3 server, and fetches them from there. It makes no backup
// itself: it is given the folder of one. It knows no server of ours and no command.
//
// Terminology. A place is a bucket and a prefix in it. A backup is a list of files, its manifest, and the content of
// each file that is not empty is an object. Below a place are
//
//	STORE/files/HASH                      the content of a file, by its SHA-256
//	STORE/files/HASH.RECIPIENTS.age       the same, encrypted to recipients of that number
//	STORE/backups/20260102T150405.000Z-SUM.json   a manifest, by the time of its state and the start of its own SHA-256
//	STORE/runs/NAME                       the turn of a run under way
//
// where STORE is the id of the store. Nothing outside STORE/ is touched, so stores can share a place.
//
// # Why by content
//
// A table file of the store never changes, so a later backup sends only tables that are new. Their numbers do not name
// them: after a restore the store gives numbers again that the former one has used. The hash of the content does, and a
// backup of either can use what the other has sent. Recipients are part of the name, since what was encrypted to others
// is of no use to those who are to restore.
//
// # The order of writes
//
// A run (1) takes its turn, (2) lists the objects that are there, (3) hashes the files and sends those that are missing
// or of another size, each with an MD5 that the server checks, and stops if a file is not what was hashed, (4) lists
// the objects again and wants each file of the backup with its size, and only then (5) writes the manifest and reads it
// back. So a manifest never lacks a file, and a run that ends early leaves nothing but objects that no manifest names.
// Then (6) it removes the manifests that are not to be kept, and (7) at times the objects that no manifest names.
//
// Between (2) and (5) a run relies on objects that no manifest may name yet, so no other run may be at (7) then. That
// is what turns are for: a run writes an object in runs/, and waits if there is another one that is younger than
// deadAfter. Two that begin at once both see each other, and both step back for a random time. The age of a turn is the
// difference of two times that the server gave, so clocks of clients do not matter. A turn is renewed each
// beatInterval; a run that could not do so for beatTimeout ends, long before others take it for dead.
//
// # Bounds
//
// Three files are sent at a time, in parts of 16 MiB, so a run takes some 50 MiB whatever the size of a file; lists
// take about 200 bytes an object. A request without an answer ends after a minute without a byte, and is repeated a few
// times. Everything ends with its context.
//
// # What the server of the bucket can do
//
// It can remove backups and refuse requests. Without encryption it reads all of them, and can make others that restore
// believes. With encryption it sees the manifests: the times, the number of links, and names, sizes and hashes of
// files. Whoever knows the recipients can encrypt to them, so encryption does not prove who made a backup.
//
// # Decisions
//
// minio-go is the client: signatures, regions, retries and multipart uploads differ in details between servers, which
// it knows. age encrypts: its files are authenticated streams of chunks, of a known size, and keys are one line.
// Passphrases and SSH keys were left out. Compression was left out, since tables are compressed.
//
// Files, leaves first: sums.go, transport.go, settings.go, sealing.go, place.go, problems.go, manifest.go, bucket.go,
// turn.go, catalogue.go, prune.go, push.go, keeper.go, fetch.go.
package offsite
