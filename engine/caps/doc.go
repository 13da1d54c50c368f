// Package caps shares out the caps of links among the nodes of a cluster.
//
// A cap is exact: a link with a cap of n is never redirected more than n times, whatever fails. No node
// can ask another one at each redirect, so the leader gives each node a block: a number of hits that it
// may admit by itself. Cap is what all nodes know of the blocks of one link; it is a shared row, and
// only the leader changes it. The invariant of an open Cap is
//
//	Base + sum of Block.Granted <= Limit
//
// where Base is the hits that no block covers, and Granted is how many hits a node may have admitted in
// all since the cap's Generation began. A node admits only what its block grants, so the cap holds
// without anybody knowing what the others have admitted.
//
// What a node does not use goes back in one of three ways. A node lowers its own block first, and then
// says so (Report.Releases): from then on it does not believe rows that the leader wrote before it had
// heard that (Block.Serial). A node that has ended loses its block when it starts again: blocks are of a
// session, and it says what it had used, which is in its store. And a node that is forgotten for ever
// has its block written off, as if it had used all.
//
// Blocks are a part of what is free, so they shrink towards the end. When nothing is free, nodes give
// back what they do not expect to use within a second.
//
// A cap that is set later, or lowered below what is given out, needs to know all earlier hits. So it
// begins a new Generation, which is closed: no node admits anything. Each node flushes its hits and says
// at which position of its outbox they end; when the leader has pulled them all, it knows the sum, and
// opens the cap with it as Base.
package caps
