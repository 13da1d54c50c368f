// Package caps has what the nodes of a cluster know of the caps of links, and the questions that they ask
// about them. On one machine nothing of it is used: there the hit itself raises the counter of its link,
// and never beyond the cap.
//
// A cap is exact: a link with a cap of n is never redirected more than n times, whatever fails. So one node
// decides each redirect of a link with a cap: the one that leads. The node that has the redirect asks it
// (Asks), and waits. All redirects that wait at a node while it asks go together in its next question, so
// one connection and one write to the cluster's log are enough for many.
//
// Cap is a shared row: how many hits of a link are used. Only the leader changes it, and it grants a hit
// only when the log says that it is used. A later leader has applied the whole log before it leads, and the
// log takes no writes from an earlier one. So no history of leaders grants a hit twice.
//
// A hit that was granted is one hit in the figures: the node that has the redirect records it in its
// own journal before it answers the client, like any other. A node that ends in between has used the hit
// up, and nobody was redirected. So Used is at least the hits in the figures.
//
// A leader that writes takes a few hits more than it grants, up to a hundredth of what is left, and grants
// them without a write: a write costs an fsync on every machine, and an entry of the log, which keeps a
// number of entries for nodes that are down. If the leader ends, these hits are used up, too. The last
// hundred hits of a cap are written one by one.
//
// # An edge of a writer
//
// An edge without a cluster asks its writer, which is one machine. There the hit itself raises the counter of its link,
// so a grant is a hit that the writer records, with all that the edge knows of it (Visit); the edge records nothing.
// So the cap is as exact as on one machine, and a grant that nobody gets any more is used up. Rejected: the edge
// records its hit as it does others, and the writer keeps how many it has granted: it would have to know which of the
// hits that come later were granted, and keep for ever what an edge that is lost was granted.
//
// # A cap that is given later
//
// A cap counts the hits from before it, too. At most nodes these were counted without asking, and the
// leader may not have all of them yet. So the row of such a cap is not open, or there is none, and nobody
// is redirected until the leader has opened it. For that it asks every node of the cluster to flush all
// hits that it recorded before it knew of the cap, and pulls them. Then it opens the row with the sum. A
// node that is down keeps the row closed until it is back, or forgotten.
//
// A cap that is taken away closes its row. A grant names the Generation of the row that it is of, and a
// node that knows a later one does not use it any more (Table.Allows). So no grant of an earlier cap is
// missing in the sum with which a later one begins. A cap that is raised or lowered needs none of this.
//
// Rejected: to give each node a part of the cap, which it may use up without asking. It saves a round
// trip, but took 1,500 lines, and links said 503 while the part of a node that was down had what was left.
// To keep the number in the leader's journal: a power cut or a leader that is lost takes it along.
//
// Files, leaves first: asks.go, table.go.
package caps
