// Package clusterlog is the log of a cluster as its users see it: the bytes of an entry, the chain
// that entries form, and the interface Log with its contract. It is a leaf: it knows no server that
// keeps such a log, no store, and nothing of what payloads mean.
//
// # Terminology
//
//   - An entry has a sequence (1, 2, 3 … without a gap) and a payload: the mutations of many callers
//     that one commit makes durable. What only full nodes may read of it is its private part.
//   - The head is the position after the last entry, the floor the sequence of the first entry that
//     has not been trimmed.
//   - An epoch is the number of a leadership. Later leaderships have higher numbers.
//   - A position is (sequence, epoch, hash): a place between two entries. The hash is that of the
//     entry before the place.
//   - A batch id is 16 random bytes that name an entry before it has a sequence.
//   - An ambiguous outcome is an answer that says nothing about whether a write happened: a time-out,
//     a broken connection, "unavailable", "no space".
//
// # An entry
//
// All numbers are big-endian. Everything has one encoding, and a decoder accepts no other.
//
//	┌───────────┬─────────┬────────────┬─────────────┬────────────────┬───────────┬──────────┬─────────┬──────────┐
//	│ version 1 │ epoch 8 │ sequence 8 │ batch id 16 │ hash before 32 │ sealed 32 │ length 4 │ payload │ CRC-32C 4│
//	└───────────┴─────────┴────────────┴─────────────┴────────────────┴───────────┴──────────┴─────────┴──────────┘
//	                                         ▲                            ▲
//	     SHA-256 of the whole entry before, ─┘    of the private part, or 0
//	     or of "shunt log\n" and the cluster's id
//
// The private part lies apart from the entry, where the servers can refuse it to edges: 16 random bytes,
// and the rest of what the entry does. One transaction writes both. The chain needs only entries, so nodes
// of both kinds check the same one and have equal positions; and because an entry has the hash of its private
// part, the chain stands for the private parts, too. The random bytes keep an edge from checking guesses of
// what it may not read. (Encrypting the private part in place would need keys that edges lack and full nodes
// share, and every edge would keep the cipher text forever.)
//
// The checksum covers everything before it, in this and all later versions. So a flipped bit, in the
// version too, is ErrCorrupt, and only an intact entry is ErrNewerVersion.
//
// The checksum finds damage in one entry. The chain finds an entry that is sound but stands in the
// wrong place: one of another cluster, or of a history that a restore undid. It also makes one hash
// stand for the whole log up to it, so two nodes can compare their copies by 32 bytes.
//
// # The protocol
//
// The servers run transactions one after the other (etcd's Txn). The log needs only that, and a key
// that vanishes when its owner stops renewing a lease. The keys are leader, head, floor, and one for
// each entry. The argument, in the order in which each step relies on those before it:
//
//  1. A leadership begins when a transaction creates the key leader, which must not exist. The
//     revision of that creation is the epoch. Revisions only rise, so no two leaderships share an
//     epoch, and once the key is gone or created again, its creation revision is never again E.
//  2. An append is one transaction: if leader was created at E and head is P, then put entry P+1 and
//     head P+1. So entries of epoch E are only written while leadership E lasts in the servers'
//     order, whatever clocks say and however long a request stayed in the network.
//  3. The transaction that elects also reads head. By (2) nothing of an older epoch is written after
//     it. So that head is final: a leader that has applied everything up to it knows all that was
//     ever acknowledged.
//  4. The condition on head makes a repeat harmless. The same bytes are sent again at the same
//     sequence until an answer comes. A copy that arrives after another one finds another head.
//     So after an ambiguous outcome the leader may send as often as it likes.
//  5. If the condition fails, the same transaction reads the entry, head, floor and leader. If the
//     entry has the bytes sent, it is committed. If it is absent and leader is not of epoch E, then by
//     (1) and (2) no copy can ever succeed: it is never. If leader is still of epoch E, absence
//     proves nothing, because a copy may still be under way. An entry that is absent because it was
//     trimmed proves nothing either; floor shows that.
//  6. One entry is under way at a time. With several, a later one whose turn comes first would fail,
//     and an entry that is not acknowledged could be followed by one that is.
//
// The lease does not protect the log; (2) does. It bounds how long a dead leader blocks others, and
// its local end tells a leader when to stop answering from its own state. It is counted from the
// moment at which the last successful renewal was sent, by the monotonic clock, less a margin. So it
// ends on the leader before it ends on the servers.
//
// A follower trusts no server: it checks sequence, checksum and chain of everything that it reads,
// and if they are wrong it reads elsewhere. What it has applied is a position, and its store keeps
// that in the same batch as the entries.
//
// Files, leaves first: errors.go, position.go, entry.go, log.go, chain.go, registry.go, node.go.
package clusterlog
