// Package importer imports the lines of a file through a client: it reads them, keeps count, shows
// progress and refused lines, and remembers how far it has come. It knows files, terminals and
// api/client; it knows no flags, and not what a link is, except for its code in messages.
//
// # How lines go
//
//	file ──▶ lines ──▶ batches ──▶ client.ImportAll ══▶ server
//	                      ▲            │
//	                      └── recycle ─┴──▶ counts, refused lines, mark, progress
//
// One goroutine reads ahead: it cuts the file into lines, and lines into batches of 1,000. The
// client keeps eight batches under way, and yields their results in the order of the file. A batch
// is used again when its result has been used, so an import of any length takes the memory of a
// dozen batches and a block of the file.
//
// Exports have the newest link first, so they are imported from the last line to the first: then
// the lists of the new server have the same order. lines reads both ways with one block. Rejected:
// an index of all lines, 8 bytes for each.
//
// # An import that is cut
//
// The server imports a connection's batches one after the other, so after a cut it has the lines up
// to some batch, and none after it. A mark beside the file (FILE.shunt-import) has the last batch
// with an answer. It is written in place after each answer, which costs one system call for 1,000
// lines, so it also survives a kill.
//
// An import that is resumed first sends the last batch of the mark again. If the server makes any
// link of it, it is not in the state that the mark tells of (a backup was restored, say), and the
// import begins at the beginning. The batches that were under way at the cut are sent again, too,
// and the server finds what it has. So each line is imported, and none twice. Rejected: to resume
// without being asked, because a person who runs an import again may do so to bring back what was
// deleted since; to search for the place by asking the server for codes, because a refused or
// deleted link looks like one that was not imported yet; and Idempotency-Keys, which a server keeps
// for a day only.
package importer
