// Package link is what a link is: its fields, the writes that make, change and delete links, and how
// they are loaded and listed. It knows nothing of how hits are counted: see Hits, which is what it needs
// of them.
//
// # The life of a create
//
// A write of a code locks the code (and its case variants) in the index, reads and checks, and
// hands one Mutation to the store. The index knows of every record that the store has, so a create
// reads the store only if the index knows a record of the code or of a variant (claim.go). When that is durable, the
// store's callback publishes it and unlocks the code. So writers of one code have one order and one winner, nothing is
// visible before it is durable, and all this still happens after a caller has stopped waiting (ErrOutcomeUnknown
// after CommitTimeout).
//
// The answer to a write, or to a read of one link, is of one moment: hits and version are read
// while the code is locked. A new link has the hits that it brings along, which are in its counter
// before the store has the link. An edit has the hits of the moment of its publication. Lists lock
// no code: they look hits up by id, later than the rest. An update is never earlier than the
// creation or the update before it, whatever the clock does: then it has the time of that one.
//
// A sender may repeat a create (CreateOnce). Then the key of the request is locked first, and the
// same callback unlocks it. The mutation carries a receipt with the whole link as it is answered,
// so link and receipt are durable together; a repeat is answered from the receipt, and a concurrent
// repeat waits for the key. So a request whose outcome was unknown never makes a second link.
// Memory holds the keys under way and a count of receipts per sender; a scan of the receipts' keys
// restores the counts at start. The flush goroutine sweeps receipts, with their keys locked.
//
// Several links of one request (CreateBulk) are one commit with one receipt. Their aliases are
// locked in the order of the folded codes, so that racing requests do not wait in a circle. A drawn
// code is taken only if it is free, without waiting. The receipt has only codes and ids: a repeat
// shows links that the request made as they were, because it asks for the same ones, and links that
// existed as they are by then.
//
// A create may reuse a link that was made for that (reuse.go): creates of one owner and target then wait for each other
// first, and look for the newest such link in a listing. Others look for none.
//
// A user is deleted only when they own no link, and creates may be under way: RetireOwner waits for
// their commits and admits no more (owners.go). An edit that gives a link away (Give) waits for its
// new owner in the same way. A deleted link is in the trash for 30 days (trash.go), its code stays taken for 90, unless
// an admin takes it; then nothing of it is left (purge.go). A reset of figures gives a link a new id (Reset).
//
// A list is a Listing of the store: one moment, all of it durable. It is in the order of ids, so a
// page continues below the id at which the last page ended, whatever was made, edited or deleted
// since. A caller may select links, by their state for example, sort them, or count them (search.go): rows of all of
// them are then read, and records of those that are shown. If memory alone can answer, because nobody asks for words,
// a tag, a folder or a time, and all owners are asked for or an eighth of all links' rows was not enough, it goes
// over the links in memory instead: among a million, 0.43 of the CPU by state, and 0.6 by hits. Links in memory may
// be newer than the listing: those that it lacks, or that have another owner there, are left out.
//
// # Decisions
//
//   - A receipt holds the link instead of its code: the answer does not depend on the present state
//     of the link, or on whether the body would still be accepted. It costs the bytes of the link
//     once more, for a day. The hits are those of then, too: an old version with the hits of now
//     would be a link that never existed.
//   - A former owner may take a code again although somebody else has a variant of it, live or
//     deleted. Only imports make such neighbours, and each of the owners had their code before;
//     otherwise the owner that comes second, or deletes first, would lose theirs.
//
// To be revisited: tombstones stay in memory for 90 days, about 50 bytes each, and a purge handles
// at most 256 links a flush interval.
//
// Files, leaves first: tag.go, gate.go, link.go, record.go, audit.go, store.go, links.go, owners.go, codelock.go,
// loading.go, ids.go, idempotency.go, caps.go, purge.go, claim.go, learn.go, write.go, list.go, search.go, trash.go,
// edit.go, bulk.go, reuse.go, bulkrepeat.go.
package link
