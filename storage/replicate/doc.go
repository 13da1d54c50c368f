// Package replicate is what a store has of a cluster. It plugs into a store (storage.Options.Replicate): it makes a
// batch of shared rows an entry of the cluster's log before the store commits it, applies the entries of others, and
// gives hits away and takes those of others. It must not know etcd: the log is an interface (package clusterlog).
// Only storage/replica and cmd import it.
//
// # Shared rows
//
// In a cluster, all nodes have the same shared rows: links, their indexes, receipts, accounts, the
// audit log and the bound of ids (row.Shared). The leader makes a batch of them the next entry of the
// cluster's log before it commits the batch; the other nodes read the entry and commit the same bytes.
// Each commits the position after the entry in the same batch, so a node has applied exactly the
// entries up to its position, whatever interrupts it. Rows rather than calls are replicated, because
// then nothing has to be decided twice, and equal positions mean equal bytes.
//
// All other rows are a node's own, and are committed without the log: they need no leader, so hits
// are flushed whatever the cluster does.
//
// An edge (Rows.Edge) reads the same entries and keeps only the rows that redirects need (row.KeptByEdge): hot
// records, a part of cold ones, caps, domains, certificates, and the bound of ids. The others are in the private
// parts of entries, which its role at etcd may not read: see splitRows. It has no account, receipt or audit entry,
// and no figures, of others or its own: whoever takes its machine finds links and the visitor key. So what it counts
// is only in its outbox, until all full nodes have it. Tally rows of its own would do no harm, but nobody can ask for
// them, because full nodes answer the API. They would cost a second copy of each row and its roll-up: a flush of
// 50,000 rows wrote 19 MB with them, and 5 MB without (BenchmarkFlushOfAnEdge has the rest). A counter in an edge's
// memory has what this process has counted: a cap needs more than that, and must not rely on it.
//
// # The outbox
//
// In a cluster each node counts its own redirects, and all are to show the same figures. So each flush
// leaves its rows in the outbox as well, in the same batch. Other nodes pull them, each at
// its own pace, by positions that have no gap. The invariants:
//
//  1. A record is in the outbox if and only if its rows are in this store's tallies, except in that of
//     an edge, which has no tallies.
//  2. A record is given away only when it is durable. Otherwise a crash could take it back, and the
//     flush after the restart would put other rows at its position.
//  3. A position has one record for ever, in one outbox. So a copy of a store has another outbox: see
//     RenewOutbox. Two nodes see by the hash of a record that a folder was rolled back or copied.
//
// Rows of owners come before those of links. So a node that has applied only a part of a flush never
// has more hits of links than of owners in an hour, which a check relies on.
//
// Rejected: to give away hour rows as they are, which has no exact answer to what was merged before;
// and hits through the cluster's log, whose leader would take the writes of all nodes, and without
// which no node could flush.
//
// # Hits of other nodes
//
// Records of other nodes' outboxes are applied in order, each in the batch that moves the position in
// that outbox past it. So each is applied exactly once, whatever is repeated, lost or interrupted.
//
// Another node may close its hours later than this one, or be cut off for a day. So a row may be of an
// hour that the roll-up here has passed. Then days and lives get it at once, as the roll-up would have
// done, and the hour row too, if it is still kept. All other rows are for the roll-up to come. This is
// exact because nothing moves the mark meanwhile: see hits.Turn.
//
// A row may be of a link that this store does not have, for one of two reasons, which must not be
// confused. Either this node has not read the log so far: then the hits must not be lost. Or the link is
// purged: then its rows would stay for ever. So each record says how far its node had read the log when
// it was made, and every link in it was made before that point. A record from beyond this node's own
// point waits (ErrOutboxEarly). Hence a link that is not here is purged, and its rows are dropped; its
// owner keeps the hits, as after any purge. A look for each link would cost a read of a random cold
// record. But only a purge that came after the point of the record can have removed its links, so links
// are looked for only in such records: those that were under way while a purge was applied, or whose
// node was cut off, or those made before this start.
//
// Rejected: to keep rows of unknown links apart until the link comes, which needs a table, and a rule for
// when to give up; and to compare hours with those of deletions, since a node that is cut off redirects
// deleted links.
//
// # A node that was away
//
// The log may be trimmed past a node. It takes a copy of the shared rows of another one, at a position, and writes what
// differs: mirrorshared.go.
//
// # A node that was rolled back
//
// It takes a copy of all data of another one, in which its own hits go on: takeover.go.
//
// # A server of its own with edges
//
// Such a server is of no cluster, and keeps the log of its changes in its own store, for edges that follow it without
// etcd: edgelog.go, edges.go (their hits) and copyout.go (copies) are of that server, mirror.go of its edges.
// DESIGN.md describes them. The lock of that log (edgeLog.sharing) comes before hits.Turn.
//
// Files, leaves first: split.go, learned.go, rows.go, check.go, copyout.go, edgelog.go, post.go, outbox.go, renew.go,
// pulled.go, nodeid.go, metrics.go, links.go, edges.go, copies.go, caps.go, join.go, share.go, plug.go, learn.go,
// mirror.go, mirrorshared.go, state.go, takeover.go.
package replicate
