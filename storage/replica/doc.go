// Package replica keeps a node's store a copy of the others' in a cluster: it follows the cluster's log
// (clusterlog.Log), applies what other nodes wrote, stands for election, and lets the store and the
// engine write while this node leads. It knows no server that keeps a log, and no HTTP.
//
// # The life of a node
//
//	      ┌────────────── follows ◀──────────────┐
//	      │ elected, and everything before       │ replaced, or resigns;
//	      ▼ the election is applied              │ its last write is settled
//	Lead: the gate of writes opens ──▶ leads ────┘ StopLeading: the gate is closed
//
// A node always follows or leads, never both, so one goroutine (Run) applies everything that is not
// this node's own. The order of the two steps at each change is what makes it safe:
//
//   - A leader first applies what the log had at its election, then waits for its own writes of an
//     earlier leadership to end, and only then writes. So what a write has read cannot have changed
//     since.
//   - A node that was replaced first refuses new writes, then waits until its last entry is committed
//     or certain never to be, and only then follows. So each entry is applied once: by the one who wrote
//     it, or as somebody else's.
//
// An edge of the cluster always follows: it does not stand for election.
//
// Elections do not protect the log, which refuses the entries of a leader that was replaced (see
// clusterlog). They decide who is asked to write.
//
// Files, leaves first: replica.go, catchingup.go, trim.go, run.go.
package replica
