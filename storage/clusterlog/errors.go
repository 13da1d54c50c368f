package clusterlog

import "errors"

// What an operation of a Log can fail with. Each is wrapped with the details; a context that ends
// is returned as its own error unless the contract says otherwise.
var (
	// ErrDeposed: the leadership is over, and what was to be written was not and never will be.
	ErrDeposed = errors.New("this node no longer leads the cluster")
	// ErrUnknownOutcome: an entry may have been committed, or may be committed yet. The leadership
	// remembers it.
	ErrUnknownOutcome = errors.New("the outcome of a write to the cluster's log is unknown")
	// ErrUnavailable: the log's servers did not answer in time. Nothing was written.
	ErrUnavailable = errors.New("the cluster's log is unavailable")
	// ErrNoSpace: the log's servers have reached their quota.
	ErrNoSpace = errors.New("the servers of the cluster's log are out of space")
	// ErrTooLarge: the payload is over MaxPayloadBytes. Nothing was written.
	ErrTooLarge = errors.New("the entry is too large for the cluster's log")

	// ErrBelowFloor: entries that this follower needs have been trimmed. It must take a copy of another
	// node's shared rows.
	ErrBelowFloor = errors.New("entries that this node needs are no longer in the cluster's log")
	// ErrAhead: the follower has applied entries that the log does not have: the log's servers were
	// restored from an older copy.
	ErrAhead = errors.New("this node is ahead of the cluster's log")
	// ErrDiverged: the log has other entries than those the follower has applied: one of the two was
	// restored from an older copy and then went on by itself.
	ErrDiverged = errors.New("this node and the cluster's log have different histories")

	// ErrNameTaken: another node of the cluster has this name, or another process this node's claim.
	ErrNameTaken = errors.New("the name of this node is taken")
	// ErrTooManyNodes: the cluster has MaxNodes.
	ErrTooManyNodes = errors.New("the cluster has no room for another node")
	// ErrInvalidNode: what a node says of itself is not what Node allows.
	ErrInvalidNode = errors.New("not a valid description of a node")
	// ErrForgotten: an operator removed this node from the cluster while it was away.
	ErrForgotten = errors.New("this node was forgotten by the cluster")
	// ErrStillLive: a node that is to be forgotten is running.
	ErrStillLive = errors.New("the node is still live")
	// ErrClock: the clocks of this node and of most others are far apart.
	ErrClock = errors.New("the clock of this node is wrong, or those of most others are")
	// ErrUnknownNode: the cluster has no node of this name.
	ErrUnknownNode = errors.New("the cluster has no such node")

	// ErrCorrupt: bytes that this package did not write.
	ErrCorrupt = errors.New("the cluster's log is corrupt")
	// ErrForeignLog: the prefix holds the log of another cluster, none, or something else.
	ErrForeignLog = errors.New("not the log of this cluster")
	// ErrNewerVersion: a newer program wrote this entry or log.
	ErrNewerVersion = errors.New("the cluster's log was written by a newer version of this program")
	// ErrOldServer: a server of the log is of a version with known faults.
	ErrOldServer = errors.New("the server of the cluster's log is too old")
)
