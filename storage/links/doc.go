// Package links keeps the rows of links: their records, indexes, tombstones and receipts, and commits changes of
// them in groups. It must not know HTTP, nor a cluster: only that a batch may have to be shared (kv.Share).
//
// # Group commit
//
// One fsync can make the mutations of many callers durable. So Apply only puts a mutation into a
// bounded queue. One goroutine, Run, takes everything in the queue, writes it into one batch,
// commits that with one fsync, and calls every caller back. Meanwhile the next mutations gather in
// the queue. No caller waits for a timer, a lone writer pays for one fsync, and the more writers
// there are, the more of them share one. Measured (2 cores, shared with other work; see
// BenchmarkApply): 6,100 links/s with 1 writer, 42,000 with 16 (8 per commit), 230,000 with 256 (99
// per commit).
//
// A commit with several mutations is followed by a yield to other goroutines, so that the writers it
// has answered can join the next group. Otherwise those that came meanwhile are committed at once,
// and writers that come again and again form two groups that take turns. A lone writer is never
// delayed by this. Measured through the engine (BenchmarkCreate in bench; medians of four pairs, on
// a busy machine, whose p50 differed by as much between runs as between the two):
//
//	writers   links a commit, without and with   CPU of a create, µs   publication
//	1         1         1                        153     145           1 % of the committer's time
//	16        8.0       11.5                     42.5    32.9          3 to 4 %
//	64        30.7      47.3                     25.0    26.6          10 %
//	256       118       140                      23.0    21.1          11 to 14 %
//
// Links are published on the committer's goroutine. The last column is the time that this takes: too
// little to pay for a goroutine that publishes, a queue between the two, and smaller groups.
//
// Each mutation that the queue accepts is answered exactly once. It is either in the queue or with
// Run. The one that closes the queue (Run when it ends, or Close if there was no Run) answers the
// mutations left in it. Pebble returns no commit errors: it calls Logger.Fatalf, which ends the
// process. So an error of Apply always means that nothing was written.
//
// # Deleted links
//
// A deletion replaces the hot record by a tombstone, removes the rows by owner and by tag, and adds a row of the trash,
// with the hot record as it was, and one of links that leave it. All other rows stay: a restore puts the first three
// back, and removes the other two. A deletion for good, and a new link with the code, leave numbers of the cold record
// alone, so that nothing that people wrote outlives them, and the link's figures until a purge.
//
// An import adds its hits to the life row of the link. Those whose days it brings along are also added to these days,
// of the link and of its owner, in the batch of the creation: so windows of days have them, and a link has them or is
// not there. All others are added to a row of the owner and the hour: windows do not have them, and answers say how
// many there were. A purge deletes no rows of owners.
//
// A purge is a mutation like any other, so it is ordered with creations under the same code. Its
// batch removes all rows of the id and of the link's targets, including the row by deletion, so a purge
// happens whole or not at all. It removes the hot record only if that is the link's own: if the owner has used the code
// again, the record belongs to another link. A reset of figures gives a link another id, with rows
// as a creation writes them but for its times, and adds a row of the old id beside those that leave the trash, which is
// then purged like that of a deleted link whose code was used again. Hour rows that the roll-up has passed are deleted
// later with their hour. Day rows, and targets, are found when the purge is requested, by the only goroutine that
// writes such rows of a link that exists, and are deleted by their keys. If there are more than 64,
// one range deletion is cheaper to write, although every reader must consider it until it is compacted. Rows of owners
// stay.
//
// # Links to reuse
//
// A link that was made to be reused has one more row, of its owner, a hash of its target and its id. The row follows
// from the record, so it is written and removed wherever rows by owner are: an edit of the target, another owner and a
// reset of figures move it, a deletion removes it. The record has only one bit: with the hash in it, an edited link
// would have to be compared with the target that it had first, and check could not tell whether a row is the right one.
//
// # Receipts
//
// A receipt is in the same batch as its link, so a crash leaves both or neither. It holds the whole
// link as it was answered, some 200 bytes, because by the time the request is repeated the link may
// have been edited or deleted, and other rules may check the body.
//
// A sweep reads all receipts, 4,096 per chunk, and deletes the old ones by their keys; an index by
// time would be a second row for each receipt. The sweep works on a snapshot, and a receipt may be
// written again after that. So it locks each key and reads the receipt again before it deletes it.
//
// A request for several links has one receipt: the outcome of each, and the key and id of those
// that exist, at most 78 KB. Whole links could take 10 MB, and each request that finds existing
// links would write them again.
//
// # Listings
//
// A listing is a snapshot that waits until everything in it is durable: the sequence of writes in
// it gives the number of its last batch. Lists of an owner, or of a tag of an owner, read index
// rows. The newest of all owners are read from cold records, with a Get of the hot record each. What is
// searched, filtered or sorted reads index rows in parts, on all cores (part.go), unless memory can answer, and where
// it is sorted by visitors or last hits, the summaries beside them: both are in the order of ids. While a listing is
// open, compactions keep the rows that it sees.
//
// # Decisions
//
// A queue and one committer, not a DB.Set by each writer. Pebble's own commit pipeline shares
// fsyncs too, but each writer pays for its way through it (208,000 against 246,000 links/s at 256
// writers, measured for the design).
//
// Files, leaves first: entry.go, mutation.go, purge.go, commit.go, links.go, ids.go, load.go, part.go, deletions.go,
// apply.go, read.go, list.go, trash.go, reuse.go, check.go, receipts.go.
package links
