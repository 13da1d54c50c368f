package engine

import (
	"time"

	"shunt/engine/index"
)

// State is what a link is at a moment, in the words of the API.
type State string

const (
	StateActive    State = "active"
	StateExpired   State = "expired"
	StateExhausted State = "exhausted"
	StateBlocked   State = "blocked" // for whoever knows the block list: the engine does not
)

// Hot is the part of a link that redirects need: the durable hot record, keyed by code.
// The latest version of a code's hot record decides what the code is; a tombstone is such a version.
type Hot struct {
	Code        string
	ID          uint64
	Owner       uint32
	Flags       index.Flags
	ExpiresAtMs int64  // with FlagExpires
	MaxHits     uint64 // with FlagCapped
	DeletedAtMs int64  // with FlagTombstone
	Target      string // exactly the bytes of Location; empty on a tombstone
}

// Cold is every other field of a link: the durable cold record, keyed by id.
type Cold struct {
	Code         string
	Version      uint64 // starts at 1, each edit adds one; hits do not change it
	CreatedAtMs  int64
	UpdatedAtMs  int64
	ImportedHits uint64 // hits that an import brought along; contained in the life row
	Title        string
	Tags         []string
}

// Record is a link whole.
type Record struct {
	Hot  Hot
	Cold Cold
}

// SetRedirectStatus sets the HTTP status that the link answers with, 302 if status is 0. It returns false, and has
// changed nothing, if a link cannot have that status.
func (r *Record) SetRedirectStatus(status int) bool {
	f, ok := r.Hot.Flags.WithRedirectStatus(status)
	if ok {
		r.Hot.Flags = f
	}
	return ok
}

// SetForwardQuery sets whether the query string after the code is put onto the target.
func (r *Record) SetForwardQuery(forward bool) {
	r.Hot.Flags &^= index.FlagForwardQuery
	if forward {
		r.Hot.Flags |= index.FlagForwardQuery
	}
}

// SetExpiry sets when the link ends; the zero time: never.
func (r *Record) SetExpiry(at time.Time) {
	r.Hot.ExpiresAtMs = 0
	if !at.IsZero() {
		r.Hot.ExpiresAtMs = at.UnixMilli()
	}
}

// Detail is a link as its owner sees it.
type Detail struct {
	Code           string
	ID             uint64
	Owner          uint32
	Target         string
	RedirectStatus int
	ForwardQuery   bool
	State          State
	ExpiresAt      time.Time // zero: never
	MaxHits        uint64    // 0: no cap
	CreatedAt      time.Time
	UpdatedAt      time.Time
	Version        uint64
	ImportedHits   uint64
	Title          string
	Tags           []string
	Hits           uint64
	Unique         uint64 // visitors; never greater than Hits; 0 where it is not read
}

// Draft asks for a new link. Target must come from a TargetPolicy and Alias must have passed ValidateAlias;
// Create checks the rest.
type Draft struct {
	Alias          string // empty: draw a code
	Owner          uint32
	Target         string
	RedirectStatus int // 0: 302
	ForwardQuery   bool
	ExpiresAt      time.Time // zero: never
	MaxHits        uint64    // 0: no cap
	Title          string
	Tags           []string

	// Same, if set, is asked when Alias is taken by a live link of the same Owner. If it answers true, Create returns
	// that link instead of ErrTaken. It runs while the code is locked and must not call the engine.
	Same func(Detail) bool

	Import *Import // if set, the link comes from elsewhere
}

// Import is what a link that comes from elsewhere brings along. Its alias may differ from a taken code only by case, because
// its addresses are out in the world already. Hits have no time: they are in the link's total, and in no window.
type Import struct {
	CreatedAt, UpdatedAt time.Time
	Hits                 uint64
}

// Guard is what must hold of a link for an edit or a delete to happen.
type Guard struct {
	Owner    uint32 // a link of another owner is ErrNotFound
	AnyOwner bool   // an admin: Owner is not looked at
	Version  uint64 // If-Match; 0: any; else ErrVersion if it differs
}

// Class is what kind of request a redirect answered. It is part of the journal's format.
type Class uint8

const (
	ClassHit      Class = iota // a visitor: counts, uses up the cap
	ClassBot                   // a known bot
	ClassPrefetch              // a prefetch or preview header
	ClassHead                  // method HEAD
	numClasses
)

// Visit describes one redirect for the counters and the journal. Hit gets it in registers: the compiler keeps no struct of more
// than four fields there, and amd64 has nine for all arguments.
type Visit struct {
	Visitor uint64 // SipHash-2-4 of address and User-Agent under the store's key; 0 is as good as any
	NowMs   int64  // Unix ms, not before 1970
	Class   Class
	Values
}

// Values are what a hit is broken down by, one of each dimension; 0 is unknown.
type Values struct {
	Agent    Agent
	Country  Country
	Referrer uint16 // see Engine.Referrer
}

// Stats are the two figures of GET /stats/{code}, and the counts that are kept apart.
type Stats struct {
	Hits       uint64
	Unique     uint64 // never greater than Hits
	Bots       uint64
	Prefetches uint64
	Heads      uint64
}
