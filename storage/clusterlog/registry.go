package clusterlog

import (
	"context"
	"encoding/hex"
)

// Registry is what a cluster knows of its nodes. All methods may be called from any number of
// goroutines at once.
//
// A node claims its name when it first announces itself, and keeps it until it is forgotten, also
// while it is down. So no name is given twice, and the others know how far a dead node had come and
// what it may still hold.
type Registry interface {
	// Announce claims the name of n for the node that keeps claim, unless it has claimed it before, and
	// returns once it is claimed. The others see the node as live while Run of the announcement runs.
	// The error is ErrNameTaken, ErrTooManyNodes, ErrInvalidNode, or ErrUnavailable once ctx ends.
	Announce(ctx context.Context, n Node, claim Claim) (Announcement, error)

	// Nodes returns all nodes by name. It skips rows that no node wrote. A node whose rows are
	// gone although nobody forgot it is returned for a minute, because it claims its name again. The error is
	// ErrUnavailable once ctx ends.
	Nodes(ctx context.Context) ([]Member, error)

	// Members calls fn with the nodes at once, and again whenever one of them has changed, within a
	// second while the servers answer, until ctx ends; it returns its error. It calls fn from the
	// caller's goroutine. While the nodes cannot be read it tries again, and fn is not called.
	Members(ctx context.Context, fn func([]Member)) error

	// Forget removes a node that is not live, so that its name is free, and leaves a mark that tells the node so
	// if it comes back. The error is ErrStillLive or
	// ErrUnknownNode, or ErrUnavailable once ctx ends.
	Forget(ctx context.Context, name string) error
}

// Announcement is what a node says of itself, from Announce until Run returns.
type Announcement interface {
	// Run keeps the node live until ctx ends, and then withdraws it at once. It is called once. It
	// returns before only with ErrNameTaken if another process announces itself by the same claim, or another
	// node has the name, or with ErrForgotten. If its claim is deleted without that, it claims its name again.
	Run(ctx context.Context) error

	// Update changes what the node says. The others learn it within a second: it is sent twice a second
	// at most. The name cannot be changed. The error is ErrInvalidNode; then nothing has changed.
	Update(change func(*Node)) error

	// Applied sets Node.Applied, which never falls.
	Applied(sequence uint64)
}

// MaxNodes is how many nodes a cluster can have.
const MaxNodes = 256

// Node is what a node says of itself.
type Node struct {
	Name      string   `json:"name"`      // 1 to 63 of a–z, 0–9 and -
	Advertise string   `json:"advertise"` // https://host:port of its listener for other nodes
	Role      Role     `json:"role"`
	Outbox    OutboxID `json:"outbox,omitzero"` // of its hits; zero: it has none
	Reads     int      `json:"reads"`           // the newest version of entries that it reads
	Applied   uint64   `json:"applied"`         // the sequence up to which it has applied the log, durably
	SinceMs   int64    `json:"since_ms"`        // start of its process, in Unix ms
	ClockMs   int64    `json:"clock_ms"`        // its clock when it said this, in Unix ms; the announcement sets it

	// LacksHits: its folder was rolled back, so its figures lack hits of the others until it starts from a copy.
	LacksHits bool `json:"lacks_hits,omitempty"`
}

// OutboxID names the outbox of a node.
type OutboxID [16]byte

// AppendText appends the id in hexadecimal.
func (id OutboxID) AppendText(dst []byte) ([]byte, error) { return hex.AppendEncode(dst, id[:]), nil }

// MarshalText is AppendText to nothing.
func (id OutboxID) MarshalText() ([]byte, error) { return id.AppendText(nil) }

// UnmarshalText is the inverse of MarshalText.
func (id *OutboxID) UnmarshalText(text []byte) error { return fromHex(id[:], text) }

// Role is what a node does in its cluster.
type Role string

// The roles of nodes.
const (
	Full Role = "full"
	Edge Role = "edge"
)

// Member is a node that the cluster knows.
type Member struct {
	Node      // what it said last
	Live bool // it says so now, or did a few seconds ago
}

// Claim names a node's folder, which keeps it, and so the node itself, whatever name it takes.
type Claim [16]byte
