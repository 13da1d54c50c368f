// Package importer imports the records of a file through a client: it keeps count, shows progress and
// refused records, and remembers how far it has come. It knows files, terminals, api/source and
// api/client; it knows no flags, and not what a link is, except for its code in messages.
//
//	file ──▶ source ──▶ batches ──▶ client.ImportAll ══▶ server
//	                                      │
//	                                      └──▶ counts, refused records, mark, progress
//
// One goroutine reads ahead: it makes batches of up to 1,000 records and 512 KiB, while the server imports those
// before them, one after the other. An import of any length takes the memory of a few batches. Rejected: several
// requests at a time. They have to end in order, which needed HTTP pipelined by hand, and made 52,000 to 57,000 of our
// own lines a second of 38,000 to 41,000 (two cores): the server is busy meanwhile, and 30,000 are enough.
//
// # An import that is cut
//
// After a cut the server has the records up to some batch, and none after it. A mark beside the file
// (FILE.shunt-import) has the number of records up to the last batch with an answer. From the
// tenth batch on it is replaced after each answer, so it also survives a kill.
//
// An import that is resumed first sends the last batch of the mark again. If the server makes any
// link of it, it is not in the state that the mark tells of (a backup was restored, say), and the
// import begins at the beginning. The batch that was under way at the cut is sent again, too, and the
// server finds what it has. So each record is imported, and none twice. Rejected: to resume without
// being asked, because a person who runs an import again may do so to bring back what was deleted
// since; to search for the place by asking the server for codes, because a refused or deleted link
// looks like one that was not imported yet; and Idempotency-Keys, which a server keeps for a day only.
package importer
