package replica

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"shunt/storage/clusterlog"
	"shunt/storage/replicate"
)

// Node is the rest of this node: what it knows in memory, and its gate of writes.
type Node interface {
	replicate.Learner

	// Lead admits writes, after those of an earlier leadership have ended and begin was called. An error
	// is that of ctx; then it admits none.
	Lead(ctx context.Context, begin func()) error

	// StopLeading refuses writes from now on.
	StopLeading()
}

// Options are the settings of a replica.
type Options struct {
	Name string // of this node, which no other node has
	// Nodes returns the nodes of the cluster, as clusterlog.Registry does. This node must be among them
	// with what it has applied. nil: the log is not trimmed.
	Nodes      func(context.Context) ([]clusterlog.Member, error)
	NeverLeads bool         // the node only follows, as an edge does
	MaxKept    uint64       // entries that the log keeps for nodes that lag; 0: as many as an eighth of the servers' quota has room for
	Logger     *slog.Logger // default: slog.Default()
}

// Replica keeps a store up to date with a cluster's log. Run must run; the other methods may be called
// from any goroutine.
type Replica struct {
	log     clusterlog.Log
	store   *replicate.Rows
	node    Node
	name    string
	nodes   func(context.Context) ([]clusterlog.Member, error)
	follows bool // and never stands for election
	maxKept uint64
	logger  *slog.Logger

	at    atomic.Uint64             // the last sequence that is applied
	head  atomic.Uint64             // sequence that the log is known to have
	asOf  atomic.Pointer[time.Time] // before it nothing was written that is not applied; nil: unknown
	lead  atomic.Pointer[leadership]
	known atomic.Pointer[clusterlog.Leader]
	full  atomic.Bool                       // writes should be refused; by the trimmer
	most  atomic.Pointer[clusterlog.Server] // the fullest server; nil: unknown; by the trimmer
}

// leadership is one of this node, kept by a goroutine of its own.
type leadership struct {
	clusterlog.Leadership
	resign context.CancelFunc
	ended  chan struct{} // closed when it is resigned, or lost
}

// Leads reports whether this node leads and certainly no other does.
func (r *Replica) Leads() bool {
	lead := r.lead.Load()
	return lead != nil && lead.Valid()
}

// Leader returns the node that leads as far as this node knows.
func (r *Replica) Leader() clusterlog.Leader { return *r.known.Load() }

// Lag returns how far this node is behind: everything that was written longer ago is applied. ok is false if
// that is not known since the start.
func (r *Replica) Lag() (lag time.Duration, ok bool) {
	if r.Leads() {
		return 0, true
	}
	asOf := r.asOf.Load()
	if asOf == nil {
		return 0, false
	}
	return max(0, time.Since(*asOf)), true
}

// Sequences returns the last entry that is applied, and the last that the log is known to have.
func (r *Replica) Sequences() (applied, head uint64) {
	if r.lead.Load() != nil {
		applied = r.store.AppliedSequence()
		return applied, applied
	}
	return r.at.Load(), r.head.Load()
}
