package link

import (
	"net/netip"
	"reflect"
	"slices"
	"time"
	"unsafe"

	"shunt/engine/daily"
	"shunt/engine/extras"
	"shunt/engine/index"
	"shunt/engine/search"
	"shunt/engine/texts"
)

// State is the state of a link at a moment, in the words of the API.
type State string

const (
	StateActive    State = "active"
	StateScheduled State = "scheduled"
	StateDisabled  State = "disabled"
	StateExpired   State = "expired"
	StateExhausted State = "exhausted"
	StateBlocked   State = "blocked" // for callers that know the block list: the engine does not
)

// States returns every state, in the order in which the API names them.
func States() []State {
	return []State{StateActive, StateScheduled, StateExpired, StateExhausted, StateBlocked, StateDisabled}
}

// Forwarding is what becomes of the query after the code of a link, in the words of the API.
type Forwarding string

const (
	ForwardNone     Forwarding = "none"     // it is not passed on
	ForwardAppend   Forwarding = "append"   // it is put after that of the target
	ForwardOverride Forwarding = "override" // the same, and a parameter of the target goes if the visitor sends one of its name
	ForwardKeep     Forwarding = "keep"     // the same, without the parameters whose names the target has
)

// forwardings has the words of links that pass the query on, by what extras say.
var forwardings = [...]Forwarding{extras.Append: ForwardAppend, extras.Override: ForwardOverride, extras.Keep: ForwardKeep}

// Forwardings returns every Forwarding.
func Forwardings() []Forwarding { return append([]Forwarding{ForwardNone}, forwardings[:]...) }

// Hot is the part of a link that redirects need: the durable hot record. The latest hot record of a
// key is the state of the key; a tombstone is such a record too.
type Hot struct {
	index.Key
	ID          uint64
	Owner       uint32
	Flags       index.Flags
	ExpiresAtMs int64  // with FlagExpires
	MaxHits     uint64 // with FlagCapped
	DeletedAtMs int64  // with FlagTombstone
	Target      string // as stored; AppendASCII makes Location of it; empty on a tombstone
	Extras      string // what few links have beside that, as package extras lays it out; empty on a tombstone
}

// fields returns what the extras say. They are always well-formed: nothing else is written, or read. Only in the course
// of a write targets may lack their numbers, and parts may be wrong, which normalize reports.
func (h *Hot) fields() extras.Fields {
	f, _ := extras.ReadBegun(h.Extras)
	return f
}

// GreatestTarget returns the greatest number of a target that the link has, 0 if it has one target without a number.
func (h *Hot) GreatestTarget() uint8 {
	if h.Extras == "" {
		return 0
	}
	f := h.fields()
	return f.Greatest()
}

// setFields makes the extras of what they are to say.
func (h *Hot) setFields(f extras.Fields) { h.Extras = string(f.Append(nil)) }

// StartsAtMs returns when the link starts, in Unix milliseconds; 0: it has no start.
func (h *Hot) StartsAtMs() int64 {
	if h.Extras == "" {
		return 0
	}
	return h.fields().StartsAtMs
}

// view returns h as the index takes it, which only reads it.
func (h *Hot) view() index.HotView {
	return index.HotView{
		KeyView: h.View(), Target: bytesOf(h.Target), ID: h.ID, ExpiresAtMs: h.ExpiresAtMs, MaxHits: h.MaxHits,
		DeletedAtMs: h.DeletedAtMs, Owner: h.Owner, Flags: h.Flags, Extras: bytesOf(h.Extras),
	}
}

// bytesOf returns the bytes of s, which must not be written: without a copy.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// Cold is every other field of a link: the durable cold record, keyed by id.
type Cold struct {
	index.Key
	Version      uint64 // starts at 1, each edit adds one; hits do not change it
	CreatedAtMs  int64
	UpdatedAtMs  int64
	ImportedHits uint64       // hits that an import brought along; included in the life row
	ImportedAtMs int64        // when that was; 0 without ImportedHits, or if it is not known
	Daily        daily.Packed // the part of ImportedHits whose days are known: they are in day rows, too
	DailyOwner   uint32       // in whose day rows; 0 without Daily
	texts.Texts
	Tags       []string
	Reuse      bool   // it was made with Draft.Reuse or Draft.Reusable, and may be found by creates
	LastTarget uint8  // the greatest number that a target of the link ever had: see extras.Fields.Number
	Password   string // as that of a Draft; in no audit log, in no receipt, and at no edge
	Card       Card   // zero: it has none; the extras say whether it has one, too
	Folder     uint32 // the number of the folder that it is in; 0: in none
	Newer      string // fields that a newer program has stored: nobody reads them, and every copy of the link keeps them
}

// A Card is what chats and posts show of a link, in place of what its target says of itself. The zero Card is none.
type Card struct {
	Title       string // not empty
	Description string // empty: none
	Image       string // an address from a TargetPolicy, http or https; empty: none
}

// Limits of a card, in bytes. They only rise, because stored links must stay valid. Previews cut longer texts anyway.
const (
	MaxCardTitleBytes       = 256
	MaxCardDescriptionBytes = 1000
	MaxCardImageBytes       = 2048
)

// Fits reports whether a card is one that a link can have.
func (c *Card) Fits() bool {
	return (c.Title != "" || *c == Card{}) && len(c.Title) <= MaxCardTitleBytes &&
		len(c.Description) <= MaxCardDescriptionBytes && len(c.Image) <= MaxCardImageBytes
}

// bytes returns the size of the card's texts.
func (c *Card) bytes() int { return len(c.Title) + len(c.Description) + len(c.Image) }

// AppendSearched appends to dst the text in which a search finds the words of a link.
func AppendSearched(dst []byte, h *Hot, c *Cold) []byte {
	var more [texts.Number - 1]string
	for i, text := range texts.All()[1:] {
		more[i] = *c.Text(text.Name)
	}
	return search.Fields{Code: h.Code, Title: c.Title, Tags: c.Tags, Target: h.Target}.AppendText(dst, more[:]...)
}

// UndatedHits returns the imported hits of which no day is known.
func (c *Cold) UndatedHits() uint64 { return c.ImportedHits - min(c.ImportedHits, c.Daily.Sum()) }

// keep takes from old all that no edit may change.
func (c *Cold) keep(old *Cold) {
	c.Key, c.Version, c.CreatedAtMs, c.UpdatedAtMs = old.Key, old.Version, old.CreatedAtMs, old.UpdatedAtMs
	c.ImportedHits, c.ImportedAtMs, c.Reuse = old.ImportedHits, old.ImportedAtMs, old.Reuse
	c.Daily, c.DailyOwner = old.Daily, old.DailyOwner
	c.LastTarget, c.Newer = old.LastTarget, old.Newer
}

// equal reports whether c and other have the same fields; no tags are the same as nil.
func (c *Cold) equal(other *Cold) bool {
	a, b := *c, *other
	a.Tags, b.Tags = nil, nil
	return reflect.DeepEqual(a, b) && slices.Equal(c.Tags, other.Tags)
}

// Detail is a link as its owner sees it.
type Detail struct {
	index.Key
	ID             uint64
	Owner          uint32
	Target         string
	RedirectStatus int
	ForwardQuery   bool // Query is not ForwardNone
	Query          Forwarding
	ForwardPath    bool
	Disabled       bool
	State          State
	StartsAt       time.Time // zero: it has no start
	ExpiresAt      time.Time // zero: never
	ExpiredURL     string    // where visitors are sent once it is expired or used up; empty: nowhere
	MaxHits        uint64    // 0: no cap
	CreatedAt      time.Time
	UpdatedAt      time.Time
	Version        uint64
	ImportedHits   uint64
	texts.Texts
	Tags       []string
	Number     uint8          // of its own target, if it has rules or a split; else 0
	Rules      []extras.Rule  // with the numbers of their targets
	Split      []extras.Share // the same
	Lock       uint64         // changes with the password that visitors must type; 0: none
	Password   string         // its hash; empty in the audit log
	LastTarget uint8          // the greatest number that a target of it ever had; 0: it had one target all along
	Card       Card           // zero: none
	Folder     uint32         // the number of the folder that it is in; 0: in none
	DeletedAt  time.Time      // zero: it is not in the trash
	Hits       uint64
	Unique     uint64 // visitors; never greater than Hits; 0 if they were not read
}

// Draft is a new link that a caller asks for. Target must come from a TargetPolicy, and Alias must
// have passed ValidateAlias; Create checks the other fields.
type Draft struct {
	Domain         index.Domain // in which the link is made: that of the links of Owner
	Alias          string       // empty: draw a code
	Owner          uint32
	Target         string
	RedirectStatus int // 0: 302
	ForwardQuery   bool
	Query          Forwarding // empty: as ForwardQuery says
	ForwardPath    bool
	Disabled       bool
	StartsAt       time.Time // zero: at once
	ExpiresAt      time.Time // zero: never
	ExpiredURL     string    // must come from a TargetPolicy; empty: none
	MaxHits        uint64    // 0: no cap
	texts.Texts
	Tags   []string
	Rules  []extras.Rule  // of which each URL must come from a TargetPolicy; its numbers are not looked at
	Split  []extras.Share // the same
	Card   Card           // whose Image must come from a TargetPolicy; zero: none
	Folder uint32         // the number of the folder that it is put into; 0: into none

	// Password is the hash of the password that visitors must type, in the form of argon2 ($argon2id$v=19$…);
	// empty: none.
	Password string

	LowerCode bool // a code that is drawn has no upper-case letters

	// Reuse asks for the newest active link that was itself made with Reuse or Reusable, has the same Owner and Target,
	// and of which Same, which must be set, returns true; only without one a link is made. Neither Alias nor
	// Import go with it.
	Reuse bool

	// Reusable makes a link that later creates with Reuse may find, although it has an Alias or an Import, or must
	// be made anyway. It waits for none of them: one at the same time may make another link.
	Reusable bool

	// Same, if set, is called when Alias is taken by a live link of the same Owner. If it returns
	// true, Create returns that link instead of ErrTaken. It runs while locks are held and must
	// not call the engine.
	Same func(Detail) bool

	// TakesDeleted makes free what a deleted link of another owner holds: the code, and its variants.
	// Only an admin may ask for it.
	TakesDeleted bool

	Import *Import // if set, the link was made elsewhere and is imported
	By     *By     // who makes it, for the audit log; nil: there is no entry
}

// Import has the fields that only a link from elsewhere has. Its alias may differ from a taken code
// only by case, because its address has already been published. Hits have no time, unless Daily has
// their days: they are in the link's total, and in windows of whole days of the store. Nobody knows their visitors.
type Import struct {
	CreatedAt, UpdatedAt time.Time
	Hits                 uint64
	Daily                daily.Packed // of some of Hits; days that the store does not keep do no harm
}

// Guard is a condition that a link must meet for an edit or a delete.
type Guard struct {
	Owner    uint32 // a link of another owner is ErrNotFound
	AnyOwner bool   // an admin: Owner is not looked at
	Version  uint64 // If-Match; 0: any; else ErrVersion if it differs
	By       *By    // who asks, for the audit log; nil: a change leaves no entry

	// InFolder reports whether a link of another owner is admitted, too, because it is in a folder; nil: none is. It
	// must be fast and call nothing that waits.
	InFolder func(folder uint32) bool
}

// admits reports whether a link is one that g is for, whatever its version.
func (g *Guard) admits(r *Record) bool {
	return g.AnyOwner || r.Hot.Owner == g.Owner || r.Cold.Folder != 0 && g.InFolder != nil && g.InFolder(r.Cold.Folder)
}

// By is who makes a change, for the audit log. A mutation without one leaves no entry.
type By struct {
	AtMs      int64        // when, Unix ms; 0: the store's clock
	User      uint32       // 0: none, as with a setup link
	Name      string       // of the user, at that time
	TokenID   string       // empty: not by token
	SessionID string       // empty: not by session
	Local     bool         // by the socket of local commands, or by the program itself
	RequestID string       // of the X-Request-Id of the answer; empty: none
	Network   netip.Prefix // of the client; zero: not kept
}
