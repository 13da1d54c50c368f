package clusterlog

import (
	"context"
	"time"
)

// Log is the log of a cluster. All methods may be called from any number of goroutines at once.
type Log interface {
	// Campaign waits until this node leads, or ctx ends. The candidate's name is kept in the log for
	// all nodes to read; it must not be that of another node. The caller must call Run of the
	// leadership at once: nothing else keeps it.
	Campaign(ctx context.Context, candidate string) (Leadership, error)

	// Follow calls fn with the entries after from, in order, without a gap and each once, and does so
	// until ctx ends, fn returns an error, or it returns one of ErrBelowFloor, ErrAhead, ErrDiverged,
	// ErrForeignLog and ErrNewerVersion. It calls fn from the caller's goroutine. If the servers do
	// not answer, or serve corrupt entries, it retries forever: it never skips an entry. An
	// entry that the node's own leadership wrote arrives like any other.
	Follow(ctx context.Context, from Position, fn func(Progress) error) error

	// Status asks all servers. It returns what it got if at least one has answered.
	Status(ctx context.Context) (Status, error)
}

// Leadership is the right to append to the log, from an election until another node is elected.
type Leadership interface {
	// Epoch is the number of the leadership. It is higher than those of all before it.
	Epoch() uint64

	// Head is the position after the last entry of all leaderships before this one. A leader must
	// have applied all entries up to it before it decides anything.
	Head() Position

	// Run keeps the leadership until ctx ends, and then resigns, so that another node can take over
	// at once. If the leadership is lost before, it returns ErrDeposed. It is called once.
	Run(ctx context.Context) error

	// Valid reports whether no other node can lead at this moment. It costs a few nanoseconds. Once
	// false, it stays false.
	Valid() bool

	// Until returns the time, with the monotonic clock, until which Valid is certain at present, or was.
	Until() time.Time

	// Done is closed when Run has found that Valid became false, or has resigned.
	Done() <-chan struct{}

	// Append writes an entry after all others, and returns the position after it once it is durable
	// on most servers. Calls wait for each other: one entry is under way at a time. All nodes read
	// payload, and only full ones read private, which may be empty.
	//
	// The error is ErrDeposed (not written, and never will be), ErrUnavailable or ErrTooLarge or that of
	// ctx (not written), or ErrUnknownOutcome, with ErrNoSpace if the servers are full. After
	// ErrUnknownOutcome the leadership remembers the entry, and the next Append resolves it first. If
	// that is of the same batch, it returns the entry's outcome, and writes nothing else. If it
	// is of another, only Follow shows whether the entry was written.
	//
	// An ErrUnknownOutcome that is also ErrBelowFloor is final: the leadership is over, and the entry's
	// place has been trimmed, so nobody can find out. Every repeat returns it; appends of other batches
	// return ErrDeposed.
	Append(ctx context.Context, batch BatchID, payload, private []byte) (Position, error)

	// Trim deletes the entries up to and including the one with this sequence, which must not be after the
	// head. It may run beside Append. After an error it can be called again.
	Trim(ctx context.Context, through uint64) error
}

// Progress is what a follower learns: entries, or how things stand, or both.
type Progress struct {
	Entries []Entry  // that follow what came before, whole unless the node reads no private parts; both parts may be kept
	After   Position // after these entries
	Head    uint64   // the last sequence that the log is known to have
	Leader  Leader
	// AsOf, unless it is zero: with these entries, the follower has everything that was committed before this
	// time. It is set about twice a second while servers answer.
	AsOf time.Time
}

// Leader is a node that leads, or none.
type Leader struct {
	Candidate string // "" if there is none
	Epoch     uint64
}

// Status is how the log and its servers are.
type Status struct {
	ID      ID
	Head    Position
	Floor   uint64 // the first sequence that the log still has, or the next if it has none
	Leader  Leader
	Servers []Server
}

// Server is one of the log's servers.
type Server struct {
	Endpoint string
	Err      error // if it did not answer; then the rest is zero
	Version  string
	Leads    bool // among the servers
	// SizeBytes is its file, which never shrinks by itself, and UsedBytes the part of the file in
	// use. When SizeBytes reaches QuotaBytes, the servers take no more writes.
	SizeBytes, UsedBytes, QuotaBytes int64
}

// Fullest returns the server that has used most of its quota, or nil if none answered.
func (s *Status) Fullest() (fullest *Server) {
	use := -1.
	for _, server := range s.Servers {
		if server.QuotaBytes <= 0 {
			continue
		}
		if u := float64(server.UsedBytes) / float64(server.QuotaBytes); u > use {
			use, fullest = u, &server
		}
	}
	return fullest
}

// QuotaUse returns the part of the quota that is in use, from 0 to 1, on the fullest server. A free
// part of the file is used again, so it does not count.
func (s *Status) QuotaUse() float64 {
	if fullest := s.Fullest(); fullest != nil {
		return float64(fullest.UsedBytes) / float64(fullest.QuotaBytes)
	}
	return 0
}
