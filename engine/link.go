package engine

import (
	"math/bits"
	"runtime"
	"time"
	"unsafe"
)

// Limits of a link's fields. api.md states them; everything that reads bytes from outside checks against them.
const (
	MaxCodeBytes   = 64
	MaxTargetBytes = 8192
	MaxTitleBytes  = 512
	MaxTags        = 32
	MaxTagBytes    = 64

	// MaxImportedHits is how many hits an import may bring along: what every JSON reader can hold exactly.
	MaxImportedHits = 1 << 53

	// TombstoneDays is how long a deleted code stays taken for everybody but its former owner.
	TombstoneDays = 90
)

// Flags are the bits of a link that a redirect needs. The low two bits are the redirect status.
// They are part of the durable hot record: a bit's meaning never changes.
type Flags uint8

const (
	flagStatusMask   Flags = 0b11   // 0: 302, 1: 301, 2: 307, 3: 308
	FlagForwardQuery Flags = 1 << 2 // the query string after the code is put onto the target
	FlagExpires      Flags = 1 << 3 // ExpiresAtMs is set
	FlagCapped       Flags = 1 << 4 // MaxHits is set
	FlagTombstone    Flags = 1 << 5 // deleted: the code stays taken, DeletedAtMs is set, there is no target

	// In memory only: hits raise the counter themselves, as those of capped links do. See Engine.countAtOnce.
	flagCountsAtOnce Flags = 1 << 7
)

var redirectStatuses = [4]int{302, 301, 307, 308}

// StatusFlags returns the flag bits of an HTTP redirect status, or ok == false if a link cannot have that status.
func StatusFlags(status int) (f Flags, ok bool) {
	for i, s := range redirectStatuses {
		if s == status {
			return Flags(i), true
		}
	}
	return 0, false
}

// RedirectStatus returns the HTTP status that the link answers with: 301, 302, 307 or 308.
func (f Flags) RedirectStatus() int { return redirectStatuses[f&flagStatusMask] }

// Link is what a redirect needs of a link: a reference to its record in memory, two words, read on demand.
// The record never changes; an edit makes another one. What Target returns aliases it: read-only, and valid until
// Release. The zero Link is no link; its methods must not be called.
type Link struct {
	record unsafe.Pointer
	arena  *arena // keeps the mapped memory under record alive
}

// Target returns the bytes of Location. They alias the shard's arena: read-only, to be copied before Release.
func (l Link) Target() []byte {
	return unsafe.Slice((*byte)(unsafe.Add(l.record, l.targetAt())), *(*uint16)(l.record))
}

// code returns the link's code, which aliases the shard's arena as Target does.
func (l Link) code() []byte {
	return unsafe.Slice((*byte)(unsafe.Add(l.record, recordHeaderBytes)), *(*uint8)(unsafe.Add(l.record, 2)))
}

// Flags returns the link's flags.
func (l Link) Flags() Flags { return *(*Flags)(unsafe.Add(l.record, 3)) }

// Owner returns the owner's number.
func (l Link) Owner() uint32 { return *(*uint32)(unsafe.Add(l.record, 4)) }

// ID returns the link's id: 16 bits node, 48 bits counter; never reused.
func (l Link) ID() uint64 { return *(*uint64)(unsafe.Add(l.record, 8)) }

// ExpiresAtMs returns the expiry in Unix milliseconds; 0: never.
func (l Link) ExpiresAtMs() int64 {
	if l.Flags()&FlagExpires == 0 {
		return 0
	}
	return *(*int64)(unsafe.Add(l.record, l.optionalAt()))
}

// MaxHits returns the cap; 0: none.
func (l Link) MaxHits() uint64 {
	if l.Flags()&FlagCapped == 0 {
		return 0
	}
	return *(*uint64)(unsafe.Add(l.record, l.targetAt()-8))
}

// Expired tells whether the link's expiry has passed at nowMs (Unix milliseconds).
func (l Link) Expired(nowMs int64) bool {
	return l.Flags()&FlagExpires != 0 && nowMs >= l.ExpiresAtMs()
}

// Release ends the life of what Target returned. It costs nothing: it only tells the compiler that the memory was
// needed until here.
func (l Link) Release() { runtime.KeepAlive(l.arena) }

func (l Link) optionalAt() int { return recordHeaderBytes + int(*(*uint8)(unsafe.Add(l.record, 2))) }

func (l Link) targetAt() int {
	return l.optionalAt() + 8*bits.OnesCount8(uint8(l.Flags()&(FlagExpires|FlagCapped)))
}

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
	Flags       Flags
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
	if status == 0 {
		status = redirectStatuses[0]
	}
	f, ok := StatusFlags(status)
	if ok {
		r.Hot.Flags = r.Hot.Flags&^flagStatusMask | f
	}
	return ok
}

// SetForwardQuery sets whether the query string after the code is put onto the target.
func (r *Record) SetForwardQuery(forward bool) {
	r.Hot.Flags &^= FlagForwardQuery
	if forward {
		r.Hot.Flags |= FlagForwardQuery
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
	// that link instead of ErrTaken. It runs while the code is reserved and must not call the engine.
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

// Stats are the two figures of GET /stats/{code}, and the counts that are kept apart.
type Stats struct {
	Hits       uint64
	Unique     uint64 // never greater than Hits
	Bots       uint64
	Prefetches uint64
	Heads      uint64
}
